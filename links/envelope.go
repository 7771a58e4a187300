package links

import (
	"bytes"
	"errors"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
	"sluice/buffers"
)

// routerKeys is the prefix of the annotations that belong to routers. What a
// client sends under it is not believed and, as configured, not passed on.
const routerKeys = "x-opt-qd."

// open looks at the sections in front of the body: the header's priority and
// ttl, annotations that must not pass and, for an anonymous terminus, the
// address. It returns ready = false while the envelope is incomplete and more
// frames come. The content is not changed: what has to be different going out
// is composed beside it.
func (d *Delivery) open(l *Limits, needsTo, more bool) (ready bool, refusal *amqp.Error) {
	if d.format != 0 {
		// §2.8.11: the sections of other formats are not known.
		if needsTo {
			return true, amqp.Errorf(amqp.CondNotImplemented, "a message of format 0x%x has no address that is understood here", d.format)
		}
		return true, nil
	}
	var b []byte
	if s, ok := d.Content.Whole(); ok {
		b = s.Bytes()
	} else {
		// The first frame has the whole envelope of nearly every message.
		first, _ := d.Content.Next(new(buffers.Cursor), maxEnvelope)
		b = first.Bytes()
	}
	through := messaging.SectionMessageAnnotations
	if needsTo {
		through = messaging.SectionProperties
	} else if len(b) > 2 && b[0] == 0 && b[1] == 0x53 && b[2] > byte(through) && b[2] <= byte(messaging.SectionFooter) {
		return true, nil
	}
	env, err := messaging.Scan(b, through)
	if errors.Is(err, messaging.ErrIncomplete) && int64(len(b)) < d.Size() {
		b = d.Content.Prefix(nil, maxEnvelope)
		env, err = messaging.Scan(b, through)
	}
	if errors.Is(err, messaging.ErrIncomplete) {
		switch {
		case more && len(b) < maxEnvelope:
			return false, nil
		case more || env.Rest != len(b):
			return true, amqp.Errorf(amqp.CondDecodeError, "the sections in front of the message body are incomplete or longer than %d bytes", maxEnvelope)
		}
	} else if err != nil {
		return true, asError(err)
	}
	if env.Header.Len() > 0 {
		dec := encoding.NewDecoder(env.Header.Of(b))
		h, err := messaging.DecodeHeader(&dec)
		if err != nil {
			return true, asError(err)
		}
		d.header, d.headLen = h, env.Header.End
		if h.HasPriority {
			d.Priority = min(h.Priority, 9)
		}
		if h.HasTTL {
			d.Deadline = d.Arrived + int64(h.TTL)*1e6
		}
	}
	if ma := env.MessageAnnotations.Of(b); len(ma) > 0 && bytes.Contains(ma, []byte(routerKeys)) {
		stripped, err := stripRouterKeys(ma)
		if err != nil {
			return true, asError(err)
		}
		d.strip = l.StripIn
		d.skip = env.MessageAnnotations.End
		// Not nil, even if nothing is left.
		d.head = append(append([]byte{}, b[:env.MessageAnnotations.Start]...), stripped...)
	}
	if needsTo {
		var to []byte
		if env.Properties.Len() > 0 {
			if to, _, err = messaging.PropertiesTo(env.Properties.Of(b)); err != nil {
				return true, asError(err)
			}
		}
		if len(to) == 0 {
			return true, amqp.Errorf(amqp.CondPreconditionFailed, "Routing failure: no address present")
		}
		d.to = append(d.to[:0], to...)
	}
	return true, nil
}

func asError(err error) *amqp.Error {
	var ae *amqp.Error
	if errors.As(err, &ae) {
		return ae
	}
	return amqp.Errorf(amqp.CondDecodeError, "%v", err)
}

// stripRouterKeys returns the message-annotations section without the entries
// of routers; empty if none is left. The others are kept byte for byte.
func stripRouterKeys(section []byte) ([]byte, error) {
	d := encoding.NewDecoder(section)
	if _, err := d.Descriptor(); err != nil {
		return nil, err
	}
	n, body, err := d.Map()
	if err != nil {
		return nil, err
	}
	out := encoding.AppendDescriptor(nil, uint64(messaging.SectionMessageAnnotations))
	out, mark := encoding.BeginMap(out)
	kept := 0
	for i := 0; i+1 < n; i += 2 {
		key, err := body.Raw()
		if err != nil {
			return nil, err
		}
		value, err := body.Raw()
		if err != nil {
			return nil, err
		}
		if isRouterKey(key) {
			continue
		}
		out = append(append(out, key...), value...)
		kept += 2
	}
	if kept == 0 {
		return nil, nil
	}
	return encoding.EndMap(out, mark, kept), nil
}

func isRouterKey(key []byte) bool {
	d := encoding.NewDecoder(key)
	s, err := d.Symbol()
	if err != nil {
		d = encoding.NewDecoder(key)
		if s, err = d.String(); err != nil {
			return false
		}
	}
	return bytes.HasPrefix(s, []byte(routerKeys))
}

// compose returns what replaces the first skip bytes of the message on its way
// out: nothing for most messages.
func (d *Delivery) compose(stripOut bool, now int64) (prefix []byte, skip int) {
	if d.head != nil && (d.strip || stripOut) {
		prefix, skip = d.head, d.skip
	}
	waited := int64(0)
	if d.header.HasTTL {
		waited = (now - d.Arrived) / 1e6
	}
	if waited <= 0 && d.Failures == 0 {
		return prefix, skip
	}
	h := d.header
	h.DeliveryCount += d.Failures
	if h.HasTTL {
		h.TTL -= uint32(min(int64(h.TTL), max(waited, 0)))
	}
	out := h.Append(nil)
	if prefix != nil {
		return append(out, prefix[d.headLen:]...), skip
	}
	return out, d.headLen
}

// To is the address in the message's properties, for an anonymous terminus.
func (d *Delivery) To() []byte { return d.to }
