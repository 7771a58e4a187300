package listen

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"sluice/amqp"
	"sluice/amqp/encoding"
)

// A Place is where a connector may connect to.
type Place struct {
	Scheme  string // as the peer says it; TLS is what the connector is configured for
	Host    string
	Address string // host:port
}

// String returns scheme://host:port.
func (p Place) String() string { return p.Scheme + "://" + p.Address }

func stringers(list []Place) []fmt.Stringer {
	all := make([]fmt.Stringer, len(list))
	for i, p := range list {
		all[i] = p
	}
	return all
}

// maxPlaces is the most places that a connector keeps, its own among them. A peer
// that names more has the rest disregarded: each costs a dial in every round.
const maxPlaces = 32

// maxHost is the most bytes of a host's name (RFC 1035).
const maxHost = 255

// places are where a connector connects to, in turn: the first is what it is
// configured with, the others are what the last peer has said that named any.
type places struct {
	list []Place
	at   int // of the present attempt or connection
}

// next moves on to the next place. It tells whether that begins another round.
func (p *places) next() (again bool) {
	p.at = (p.at + 1) % len(p.list)
	return p.at == 0
}

// offer takes what a peer has named: it replaces what others have named, and the
// configured and the present place stay.
func (p *places) offer(named []Place) {
	list := []Place{p.list[0]}
	if p.at != 0 {
		list = append(list, p.list[p.at])
	}
	p.at = len(list) - 1
	for _, n := range named {
		if len(list) < maxPlaces && !slices.ContainsFunc(list, func(o Place) bool { return o.Address == n.Address }) {
			list = append(list, n)
		}
	}
	p.list = list
}

// order returns the places in the order in which they are tried, from the present
// one on.
func (p *places) order() []Place {
	return append(slices.Clone(p.list[p.at:]), p.list[:p.at]...)
}

// Failover reads the failover-server-list of the properties of open: a list of
// maps with network-host, port and scheme. It returns false if there is none.
// Entries without a usable host are left out.
func Failover(properties []byte) (named []Place, ok bool) {
	if properties == nil {
		return nil, false
	}
	d := encoding.NewDecoder(properties)
	v, err := d.Any()
	m, isMap := v.(encoding.Map)
	if err != nil || !isMap {
		return nil, false
	}
	v, ok = m.Get("failover-server-list")
	list, isList := v.([]any)
	if !ok || !isList {
		return nil, false
	}
	for _, item := range list {
		if m, ok := item.(encoding.Map); ok {
			if p, ok := placeOf(m); ok {
				named = append(named, p)
			}
		}
	}
	return named, true
}

// placeOf reads one entry; without port it is 5672, without scheme amqp.
func placeOf(m encoding.Map) (p Place, ok bool) {
	text := func(key, otherwise string) string {
		switch v, _ := m.Get(key); v := v.(type) {
		case string:
			return v
		case amqp.Symbol:
			return string(v)
		case nil:
			return otherwise
		default:
			if n, ok := encoding.Integer(v); ok {
				return strconv.FormatInt(n, 10)
			}
			return ""
		}
	}
	host, port := text("network-host", ""), text("port", "5672")
	if host == "" || len(host) > maxHost || strings.ContainsFunc(host, unfit) || !fits(port) {
		return Place{}, false
	}
	p = Place{Scheme: text("scheme", "amqp"), Host: host, Address: net.JoinHostPort(host, port)}
	if p.Scheme != "amqps" {
		p.Scheme = "amqp"
	}
	return p, true
}

// fits tells whether port is a number from 1 to 65535 or may be the name of a
// service (RFC 6335).
func fits(port string) bool {
	if n, err := strconv.ParseUint(port, 10, 16); err == nil {
		return n != 0
	}
	letter := false
	for _, r := range port {
		switch {
		case r >= 'a' && r <= 'z':
			letter = true
		case r >= '0' && r <= '9', r == '-':
		default:
			return false
		}
	}
	return letter && len(port) <= 15
}

// unfit tells whether r is in no host's name or address.
func unfit(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`/@?#,"[]`, r) }
