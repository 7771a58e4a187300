package messaging

import (
	"sluice/amqp"
	"sluice/amqp/encoding"
)

// decodeAddress reads the address field of a terminus. §3.5.3 leaves its type open ("type *"); address-string (§2.8.13)
// is the only one that the standard defines and the only one that a router can look up.
func decodeAddress(f *encoding.Fields) (address string, has bool) {
	d, ok := f.Next()
	if !ok {
		return "", false
	}
	look := *d
	s, err := look.String()
	if err == nil {
		*d = look
		return string(s), true
	}
	if raw, err := d.Raw(); err != nil {
		f.Fail("address", err)
	} else if raw[0] == 0xa1 || raw[0] == 0xb1 {
		f.Reject("address", amqp.CondDecodeError, "string is not UTF-8")
	} else {
		f.Reject("address", amqp.CondInvalidField, "string expected, found format code 0x%x", raw[0])
	}
	return "", false
}

// decodeTerminus reads a descriptor, which must be want, and opens the list.
func decodeTerminus(d *encoding.Decoder, name string, want uint64, most int) (encoding.Fields, error) {
	code, err := d.Descriptor()
	if err != nil {
		return encoding.Fields{}, err
	}
	if code != want {
		return encoding.Fields{}, amqp.Errorf(amqp.CondDecodeError, "at offset %d: %s expected, found descriptor 0x%x",
			d.Offset(), name, code)
	}
	return d.Fields(name, most), nil
}
