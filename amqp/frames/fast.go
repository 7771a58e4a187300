package frames

import (
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
)

// Transfer, Disposition and Flow are decoded twice over: first by decodeFast, which knows only the encodings that peers
// send and says nothing about what is wrong, then, if that gives up, by decodeSlow, which is built like the other
// performatives and finds the error or the unusual encoding. Both must agree wherever decodeFast succeeds;
// FuzzFastDecode compares them.

// cursor reads the fields of a list. After anything unexpected bad is set and the values mean nothing.
type cursor struct {
	b   []byte
	n   int // fields left
	bad bool
}

// fastList opens the list of the performative with the given descriptor and returns what follows the list.
func fastList(body []byte, descriptor byte) (c cursor, rest []byte) {
	if len(body) < 6 || body[0] != 0x00 || body[1] != 0x53 || body[2] != descriptor {
		return cursor{bad: true}, nil
	}
	start, size, n := 6, int(body[4])-1, int(body[5])
	if body[3] != 0xc0 {
		if body[3] != 0xd0 || len(body) < 12 {
			return cursor{bad: true}, nil
		}
		// Larger sizes than fit in 3 bytes, and counts than fit in 1, are left to decodeSlow.
		if body[4]|body[8]|body[9]|body[10] != 0 {
			return cursor{bad: true}, nil
		}
		start, n = 12, int(body[11])
		size = (int(body[5])<<16 | int(body[6])<<8 | int(body[7])) - 4
	}
	if size < 0 || size > len(body)-start || n > size {
		return cursor{bad: true}, nil
	}
	return cursor{b: body[start : start+size], n: n}, body[start+size:]
}

// done reports whether all fields were read and nothing was unexpected.
func (c *cursor) done() bool { return !c.bad && c.n == 0 && len(c.b) == 0 }

func (c *cursor) uint() (v uint32, has bool) {
	if c.n == 0 {
		return 0, false
	}
	c.n--
	if b := c.b; len(b) > 0 {
		switch b[0] {
		case 0x52:
			if len(b) >= 2 {
				c.b = b[2:]
				return uint32(b[1]), true
			}
		case 0x70:
			if len(b) >= 5 {
				c.b = b[5:]
				return uint32(b[1])<<24 | uint32(b[2])<<16 | uint32(b[3])<<8 | uint32(b[4]), true
			}
		case 0x43:
			c.b = b[1:]
			return 0, true
		case 0x40:
			c.b = b[1:]
			return 0, false
		}
	}
	c.bad = true
	return 0, false
}

func (c *cursor) bool() (v, has bool) {
	if c.n == 0 {
		return false, false
	}
	c.n--
	if b := c.b; len(b) > 0 {
		switch b[0] {
		case 0x41:
			c.b = b[1:]
			return true, true
		case 0x42:
			c.b = b[1:]
			return false, true
		case 0x40:
			c.b = b[1:]
			return false, false
		case 0x56:
			if len(b) >= 2 && b[1] <= 1 {
				c.b = b[2:]
				return b[1] == 1, true
			}
		}
	}
	c.bad = true
	return false, false
}

// tag reads a delivery-tag in the only encoding that can hold a legal one.
func (c *cursor) tag() (v []byte, has bool) {
	if c.n == 0 {
		return nil, false
	}
	c.n--
	if b := c.b; len(b) > 0 {
		switch b[0] {
		case 0xa0:
			if len(b) >= 2 {
				if n := int(b[1]); n <= MaxDeliveryTag && n <= len(b)-2 {
					c.b = b[2+n:]
					return b[2 : 2+n : 2+n], true
				}
			}
		case 0x40:
			c.b = b[1:]
			return nil, false
		}
	}
	c.bad = true
	return nil, false
}

func (c *cursor) state() messaging.DeliveryState {
	if c.n == 0 {
		return messaging.DeliveryState{}
	}
	c.n--
	if len(c.b) > 0 && c.b[0] == 0x40 {
		c.b = c.b[1:]
		return messaging.DeliveryState{}
	}
	if b := c.b; len(b) >= 4 && b[0] == 0x00 && b[1] == 0x53 && b[3] == 0x45 {
		switch b[2] {
		case encoding.DescAccepted:
			c.b = b[4:]
			return messaging.Accepted
		case encoding.DescReleased:
			c.b = b[4:]
			return messaging.Released
		}
	}
	// One level is the list that the state is in.
	d := encoding.NewLimitedDecoder(c.b, encoding.Limits{Depth: encoding.DefaultLimits.Depth - 1})
	s, err := messaging.DecodeDeliveryState(&d)
	if err != nil {
		c.bad = true
		return messaging.DeliveryState{}
	}
	c.b = d.Rest()
	return s
}

// appendFlag appends a boolean whose default is false, with null for the default: as long, and plainer in traces.
func appendFlag(b []byte, v bool) []byte {
	if v {
		return append(b, 0x41)
	}
	return append(b, 0x40)
}

// appendOptional appends a uint or null.
func appendOptional(b []byte, v uint32, has bool) []byte {
	if !has {
		return append(b, 0x40)
	}
	return encoding.AppendUint(b, v)
}
