package trunk

import (
	"sluice/amqp/encoding"
	"sluice/amqp/frames"
)

// SettlesLate tells from its open that a router forgets the settlement of a
// message of which it has not sent all (links.Limits.SettleLate).
func SettlesLate(peer *frames.Open) bool {
	product, _ := property(peer.Properties, "product")
	name, err := product.String()
	return err == nil && string(name) == "qpid-dispatch-router"
}

// costOf is the cost that the peer gives the connection, which counts if it is an
// int; 1 otherwise.
func costOf(properties []byte) int {
	if v, ok := property(properties, "qd.inter-router-cost"); ok {
		if cost, err := v.Int(); err == nil {
			return int(cost)
		}
	}
	return 1
}

// property finds the value of a key in the properties of open, up to the first
// key that is no symbol.
func property(properties []byte, name string) (v encoding.Decoder, ok bool) {
	if properties == nil {
		return v, false
	}
	d := encoding.NewDecoder(properties)
	n, body, err := d.Map()
	for i := 0; err == nil && i+1 < n; i += 2 {
		key, err := body.Symbol()
		if err != nil {
			break
		}
		if string(key) == name {
			return body, true
		}
		if body.Skip() != nil {
			break
		}
	}
	return v, false
}
