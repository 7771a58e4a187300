package links

import (
	"errors"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
	"sluice/buffers"
)

// open looks at the sections in front of the body: the header's priority and
// ttl, annotations of routers and, for an anonymous terminus, the address. It
// returns ready = false while the envelope is incomplete and more frames come.
// The content is not changed: what has to be different going out is composed
// beside it.
func (d *Delivery) open(l *Limits, needsTo, more bool) (ready bool, refusal *amqp.Error) {
	if d.format != 0 {
		// §2.8.11: the sections of other formats are not known. A router of this
		// family puts what it has to say in front, as a section.
		if l.Sure && l.TrustIn {
			if err := d.openForeign(l); err != nil {
				return true, asError(err)
			}
		}
		if needsTo && !d.notes.hasTo {
			return true, amqp.Errorf(amqp.CondNotImplemented, "a message of format 0x%x has no address that is understood here", d.format)
		}
		return true, nil
	}
	var b []byte
	if s, ok := d.Content.Whole(); ok {
		b = s.Bytes()
		if d.from.fronts.apply(d, b) {
			d.heed()
			return true, nil
		}
	} else {
		// The first frame has the whole envelope of nearly every message.
		first, _ := d.Content.Next(new(buffers.Cursor), l.envelope())
		b = first.Bytes()
	}
	through := messaging.SectionMessageAnnotations
	if needsTo && l.StripIn {
		through = messaging.SectionProperties
	} else if s := sectionOf(b); !needsTo && s > through && s <= messaging.SectionFooter {
		return true, nil
	}
	b, env, ready, refusal := d.scan(b, l, through, more)
	if !ready || refusal != nil {
		return ready, refusal
	}
	if env.Header.Len() > 0 {
		dec := encoding.NewDecoder(env.Header.Of(b))
		h, err := messaging.DecodeHeader(&dec)
		if err != nil {
			return true, asError(err)
		}
		d.header, d.headLen = h, env.Header.End
		d.heed()
	}
	if ma := env.MessageAnnotations; ma.Len() > 0 {
		d.notes = notes{section: span{ma.Start, ma.End}}
		if err := d.notes.read(d, b, l); err != nil {
			return true, asError(err)
		}
	} else {
		at := max(env.Header.End, env.DeliveryAnnotations.End)
		d.notes.section = span{at, at}
	}
	if d.notes.hasTo && d.whole && l.Sure && l.TrustIn {
		d.from.fronts = d.from.fronts.remember(d, b)
	}
	if !needsTo || d.notes.hasTo {
		return true, nil
	}
	if through != messaging.SectionProperties {
		if b, env, ready, refusal = d.scan(b, l, messaging.SectionProperties, more); !ready || refusal != nil {
			d.notes = notes{}
			return ready, refusal
		}
	}
	var to []byte
	if env.Properties.Len() > 0 {
		var err error
		if to, _, err = messaging.PropertiesTo(env.Properties.Of(b)); err != nil {
			return true, asError(err)
		}
	}
	if len(to) == 0 {
		return true, amqp.Errorf(amqp.CondPreconditionFailed, "Routing failure: no address present")
	}
	d.to = append(d.to[:0], to...)
	return true, nil
}

// heed does what the header says.
func (d *Delivery) heed() {
	if d.header.HasPriority {
		d.Priority = min(d.header.Priority, 9)
	}
	if d.header.HasTTL {
		d.Deadline = d.Arrived + int64(d.header.TTL)*1e6
	}
}

// openForeign reads what a router has put in front of a message of an unknown
// format.
func (d *Delivery) openForeign(l *Limits) error {
	b := d.beginning(int(min(d.Size(), int64(l.envelope()))))
	env, err := messaging.Scan(b, messaging.SectionMessageAnnotations)
	if err != nil || env.MessageAnnotations.Start != 0 || env.MessageAnnotations.Len() == 0 {
		return nil
	}
	d.notes = notes{section: span{0, env.MessageAnnotations.End}}
	return d.notes.read(d, b, l)
}

// scan finds the sections through one, in b or, if that is not enough, in more
// of the message.
func (d *Delivery) scan(b []byte, l *Limits, through messaging.Section, more bool) (_ []byte, env messaging.Envelope, ready bool, refusal *amqp.Error) {
	env, err := messaging.Scan(b, through)
	if errors.Is(err, messaging.ErrIncomplete) && int64(len(b)) < d.Size() {
		b = d.Content.Prefix(nil, l.envelope())
		env, err = messaging.Scan(b, through)
	}
	if errors.Is(err, messaging.ErrIncomplete) {
		switch {
		case more && len(b) < l.envelope():
			return b, env, false, nil
		case more || env.Rest != len(b):
			return b, env, true, amqp.Errorf(amqp.CondDecodeError, "the sections in front of the message body are incomplete or longer than %d bytes", l.envelope())
		}
	} else if err != nil {
		return b, env, true, asError(err)
	}
	return b, env, true, nil
}

func asError(err error) *amqp.Error {
	var ae *amqp.Error
	if errors.As(err, &ae) {
		return ae
	}
	return amqp.Errorf(amqp.CondDecodeError, "%v", err)
}

// changes tells whether the message may begin differently going out on s.
func (d *Delivery) changes(s *Sender) bool {
	return d.headLen > 0 || d.notes.routers || s.limits.Annotate != AnnotateNone || d.Failures > 0
}

// compose returns what replaces the first skip bytes of the message on its way
// out on s: nothing for most messages. The prefix is valid until the next
// message of the link.
func (d *Delivery) compose(s *Sender, now int64) (prefix []byte, skip int) {
	waited := int64(0)
	if d.header.HasTTL {
		waited = (now - d.Arrived) / 1e6
	}
	again := waited > 0 || d.Failures > 0
	annotate := d.notes.routers || s.limits.Annotate != AnnotateNone && (d.format == 0 || s.limits.Sure)
	if !again && !annotate {
		return nil, 0
	}
	out := s.prefix[:0]
	at := 0
	if again {
		h := d.header
		h.DeliveryCount += d.Failures
		if h.HasTTL {
			h.TTL -= uint32(min(int64(h.TTL), max(waited, 0)))
		}
		out = h.Append(out)
		at = d.headLen
	}
	if annotate {
		section := d.notes.section
		b := d.beginning(section.to)
		out = append(out, b[at:section.from]...)
		out, at = d.annotate(out, b, &s.limits)
	}
	if s.prefix = out; cap(out) > maxEnvelope/8 {
		s.prefix = nil
	}
	return out, at
}

// To is the address in the message's properties, or that which a router has
// given it instead; for an anonymous terminus.
func (d *Delivery) To() []byte { return d.to }
