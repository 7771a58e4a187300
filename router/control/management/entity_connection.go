package management

import (
	"net"
	"strconv"

	"sluice/amqp/encoding"
	"sluice/router/control/schema"
)

func (d *Desk) connectionKind() *kind {
	k := &kind{schema: schema.ByName("connection"), numbered: true}
	k.columns = order(k.schema, served)
	k.list = func() []string { return numbers(d.router.Connections()) }
	k.row = func(identity string, to []any) ([]any, bool) {
		id, err := strconv.ParseUint(identity, 10, 64)
		if err != nil {
			return nil, false
		}
		c, ok := d.router.Connection(id)
		if !ok {
			return nil, false
		}
		return fill(k, to, connectionValues(&c)), true
	}
	k.update = func(identity string, a attributes) error { return d.updateConnection(identity, a) }
	return k
}

// updateConnection closes a connection, or has its frames logged.
func (d *Desk) updateConnection(identity string, a attributes) error {
	id, err := strconv.ParseUint(identity, 10, 64)
	if err != nil {
		return badRequest("'%s' is no identity of a connection", brief(identity))
	}
	if a["adminStatus"] == "deleted" {
		return d.router.CloseConnection(id)
	}
	if on, given := a["enableProtocolTrace"].(bool); given {
		return d.router.TraceConnection(id, on)
	}
	if _, ok := d.router.Connection(id); !ok {
		return badRequest("there is no connection %d", id)
	}
	return nil
}

func connectionValues(c *Connection) map[string]any {
	v := map[string]any{
		"name": "connection/" + c.Host, "identity": strconv.FormatUint(c.ID, 10), "type": schema.Prefix + "connection",
		"host": unbracketed(c.Host), "role": string(c.Role), "protocol": "amqp", "dir": direction(c.In), "container": c.Container,
		"sasl": orNil(c.SASL), "isAuthenticated": c.Authenticated, "user": c.User, "isEncrypted": c.TLS,
		"sslProto": orNil(c.TLSProto), "sslCipher": orNil(c.TLSCipher), "sslSsf": int64(0), "ssl": c.TLS,
		"opened": c.Opened, "active": c.Active, "adminStatus": "enabled", "operStatus": "up", "enableProtocolTrace": c.Traced,
		"uptimeSeconds": uint32(seconds(c.Started)),
		"linkCount":     uint32(c.Links), "framesIn": c.FramesIn, "framesOut": c.FramesOut, "bytesIn": c.BytesIn, "bytesOut": c.BytesOut, "blocked": c.Blocked,
	}
	v["properties"] = shown(c.Properties)
	if c.Closing {
		v["adminStatus"], v["operStatus"] = "deleted", "closing"
	}
	if !c.LastDelivery.IsZero() {
		v["lastDlvSeconds"] = uint32(seconds(c.LastDelivery))
	}
	return v
}

// shown returns the properties of a peer's open that are text or integers.
func shown(m encoding.Map) encoding.Map {
	out := make(encoding.Map, 0, len(m))
	for _, e := range m {
		key, ok := text(e.Key)
		if !ok {
			continue
		}
		if s, isText := text(e.Value); isText {
			out = append(out, encoding.MapEntry{Key: key, Value: s})
		} else if n, isNumber := encoding.Integer(e.Value); isNumber {
			out = append(out, encoding.MapEntry{Key: key, Value: small(n)})
		}
	}
	return out
}

func direction(in bool) string {
	if in {
		return "in"
	}
	return "out"
}

func numbers(ids []uint64) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = strconv.FormatUint(id, 10)
	}
	return list
}

// unbracketed writes an IPv6 address and its port as the existing family does:
// "::1:5672".
func unbracketed(host string) string {
	if host, port, err := net.SplitHostPort(host); err == nil {
		return host + ":" + port
	}
	return host
}
