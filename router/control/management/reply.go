package management

import (
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
)

// A reply is what comes of a request. Its body is an encoded value.
type reply struct {
	status int32
	text   string // empty: the words of the status
	body   []byte

	warnings   string       // about what was made; an application property of its own
	properties encoding.Map // more of them
}

// value is a reply with a value of one of the types of encoding.AppendAny.
func value(status int32, v any) (*reply, error) {
	b, err := encoding.AppendAny(nil, v)
	if err != nil {
		return nil, &Status{statusInternalError, err.Error()}
	}
	return &reply{status: status, body: b}, nil
}

// failed is the reply to a request that failed. The body is an empty map, or
// null for the types that one agent of the existing family answers so.
func failed(err error, null bool) *reply {
	s := statusOf(err)
	r := &reply{status: s.Code, text: s.Error()}
	if null {
		r.body = encoding.AppendNull(nil)
	} else {
		r.body, _ = encoding.AppendAny(nil, encoding.Map{})
	}
	return r
}

// message encodes the reply to q.
func (r *reply) message(q *request) []byte {
	text := r.text
	if text == "" {
		text = statusWords[r.status]
	}
	b := make([]byte, 0, len(r.body)+len(q.replyTo)+len(text)+len(r.warnings)+256)
	b = (&messaging.Header{}).Append(b)
	b = (&messaging.Properties{To: q.replyTo, HasTo: true, CorrelationID: q.correlation}).Append(b)
	properties := encoding.Map{
		{Key: "statusCode", Value: r.status},
		{Key: "statusDescription", Value: text},
	}
	properties = append(properties, r.properties...)
	if r.warnings != "" {
		properties = append(properties, encoding.MapEntry{Key: "warnings", Value: r.warnings})
	}
	b, _ = encoding.AppendAny(encoding.AppendDescriptor(b, encoding.DescApplicationProperties), properties)
	return append(encoding.AppendDescriptor(b, encoding.DescAMQPValue), r.body...)
}
