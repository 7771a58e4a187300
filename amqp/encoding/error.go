package encoding

import (
	"sluice/amqp"
)

// AppendError appends an error as the composite type of §2.8.14, or null when e is nil.
func AppendError(b []byte, e *amqp.Error) []byte {
	if e == nil {
		return append(b, codeNull)
	}
	b = AppendDescriptor(b, DescError)
	b, m := BeginList(b)
	b = AppendSymbol(b, string(e.Condition))
	count := 1
	if e.Description != "" || e.Info != nil {
		if e.Description != "" {
			b = AppendString(b, e.Description)
		} else {
			b = AppendNull(b)
		}
		count = 2
	}
	if e.Info != nil {
		b = append(b, e.Info...)
		count = 3
	}
	return EndList(b, m, count)
}

// AMQPError reads an error, the composite type of §2.8.14. Null is nil. All of it is copied.
func (d *Decoder) AMQPError() (*amqp.Error, error) {
	if d.IsNull() {
		return nil, nil
	}
	start := *d
	e, err := d.amqpError()
	if err != nil {
		*d = start
	}
	return e, err
}

func (d *Decoder) amqpError() (*amqp.Error, error) {
	code, err := d.Descriptor()
	if err != nil {
		return nil, err
	}
	if code != DescError {
		return nil, d.errorf("error expected, found descriptor 0x%x", code)
	}
	count, body, err := d.List()
	if err != nil {
		return nil, err
	}
	if count == 0 {
		return nil, d.errorf("error without condition")
	}
	if count > 3 {
		return nil, d.errorf("error with %d fields", count)
	}
	condition, err := body.Symbol()
	if err != nil {
		return nil, err
	}
	e := &amqp.Error{Condition: amqp.Condition(condition)}
	if count > 1 && !body.IsNull() {
		s, err := body.String()
		if err != nil {
			return nil, err
		}
		e.Description = string(s)
	}
	if count > 2 && !body.IsNull() {
		if e.Info, err = body.RawMap(); err != nil {
			return nil, err
		}
		e.Info = append([]byte(nil), e.Info...)
	}
	return e, body.End()
}

// RawMap is Raw for a value that must be a map.
func (d *Decoder) RawMap() ([]byte, error) {
	if c, _ := d.peek(); c != codeMap8 && c != codeMap32 {
		return nil, d.mismatch("map", c)
	}
	return d.Raw()
}
