package messaging

import (
	"sluice/amqp"
	"sluice/amqp/encoding"
)

// Properties is the properties section (§3.2.4), for the control plane. Optional strings are empty when absent, except
// those for which the difference may matter.
type Properties struct {
	MessageID             any // uint64, encoding.UUID, []byte or string; nil when absent
	UserID                []byte
	To                    string
	HasTo                 bool
	Subject               string
	ReplyTo               string
	CorrelationID         any // as MessageID
	ContentType           amqp.Symbol
	ContentEncoding       amqp.Symbol
	AbsoluteExpiryTime    int64 // milliseconds since the Unix epoch
	HasAbsoluteExpiryTime bool
	CreationTime          int64 // milliseconds since the Unix epoch
	HasCreationTime       bool
	GroupID               string
	GroupSequence         uint32
	HasGroupSequence      bool
	ReplyToGroupID        string
}

const propertiesFields = 13

// Append appends p as a section. A message-id or correlation-id of another type than those listed is left out.
func (p *Properties) Append(b []byte) []byte {
	w := encoding.BeginComposite(b, encoding.DescProperties)
	appendID(&w, p.MessageID)
	w.Binary(p.UserID)
	w.String(p.To, p.HasTo || p.To != "")
	w.String(p.Subject, p.Subject != "")
	w.String(p.ReplyTo, p.ReplyTo != "")
	appendID(&w, p.CorrelationID)
	w.Symbol(p.ContentType)
	w.Symbol(p.ContentEncoding)
	w.Timestamp(p.AbsoluteExpiryTime, p.HasAbsoluteExpiryTime)
	w.Timestamp(p.CreationTime, p.HasCreationTime)
	w.String(p.GroupID, p.GroupID != "")
	w.Uint(p.GroupSequence, p.HasGroupSequence)
	w.String(p.ReplyToGroupID, p.ReplyToGroupID != "")
	return w.End()
}

// DecodeProperties reads a properties section.
func DecodeProperties(d *encoding.Decoder) (*Properties, error) {
	f, err := decodeTerminus(d, "properties", encoding.DescProperties, propertiesFields)
	if err != nil {
		return nil, err
	}
	p := new(Properties)
	p.MessageID = decodeID(&f, "message-id")
	p.UserID = f.Binary("user-id")
	p.To, p.HasTo = f.String("to")
	p.Subject, _ = f.String("subject")
	p.ReplyTo, _ = f.String("reply-to")
	p.CorrelationID = decodeID(&f, "correlation-id")
	p.ContentType = f.Symbol("content-type")
	p.ContentEncoding = f.Symbol("content-encoding")
	p.AbsoluteExpiryTime, p.HasAbsoluteExpiryTime = f.Timestamp("absolute-expiry-time")
	p.CreationTime, p.HasCreationTime = f.Timestamp("creation-time")
	p.GroupID, _ = f.String("group-id")
	p.GroupSequence, p.HasGroupSequence = f.Uint("group-sequence")
	p.ReplyToGroupID, _ = f.String("reply-to-group-id")
	if err := f.Finish(); err != nil {
		return nil, err
	}
	return p, nil
}

// appendID writes a message-id (§3.2.11 to §3.2.14).
func appendID(w *encoding.Composite, id any) {
	switch id := id.(type) {
	case uint64:
		w.Ulong(id, true)
	case encoding.UUID:
		w.Value(func(b []byte) []byte { return encoding.AppendUUID(b, id) })
	case []byte:
		w.Binary(id)
	case string:
		w.String(id, true)
	default:
		w.Raw(nil)
	}
}

func decodeID(f *encoding.Fields, field string) any {
	d, ok := f.Next()
	if !ok {
		return nil
	}
	v, err := d.Any()
	if err != nil {
		f.Fail(field, err)
		return nil
	}
	switch v.(type) {
	case uint64, encoding.UUID, []byte, string:
		return v
	}
	f.Reject(field, amqp.CondDecodeError, "ulong, uuid, binary or string expected, found %T", v)
	return nil
}
