package management

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
	"sluice/router/address"
	"sluice/router/control/config"
	"sluice/router/control/logging"
)

// A fake is a Router that is only what a test says.
type fake struct {
	self        config.Router
	connections map[uint64]Connection
	links       map[uint64]Link
	addresses   map[string]Address
	nodes       []Node
	listeners   []config.Listener
	connectors  []config.Connector
	profiles    []config.SSLProfile
	configured  map[uint64]config.Address
	next        uint64
	closed      []uint64
	refuse      error // what CreateListener and DeleteSSLProfile answer
	logs        *logging.Logs
	lists       int // lists of all listeners, connectors or profiles that were made
	looked      int // rows of links and addresses that were looked at
}

func newFake(t testing.TB) *fake {
	pattern := func(text string) address.Pattern {
		p, err := address.ParsePrefix(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	mc := config.DefaultAddress()
	mc.Name, mc.Prefix, mc.Distribution, mc.Match = "mc", "multicast", config.Multicast, pattern("multicast")
	f := &fake{
		self: config.Router{ID: "A", Mode: config.Interior, Metadata: "test router", WorkerThreads: 4},
		connections: map[uint64]Connection{5: {
			ID: 5, Host: "127.0.0.1:36690", Container: "B", Role: config.RoleInterRouter, In: true, Active: true, Opened: true, Authenticated: true,
			User: "anonymous", SASL: "ANONYMOUS", Started: time.Now().Add(-25500 * time.Millisecond), LastDelivery: time.Now().Add(-1500 * time.Millisecond),
			Properties: encoding.Map{{Key: "product", Value: "qpid-dispatch-router"}, {Key: "qd.conn-id", Value: int32(2)}, {Key: "list", Value: []any{}}},
		}},
		links: map[uint64]Link{10: {
			ID: 10, Connection: 5, Name: "qdlink.q", Type: "endpoint", In: true, Counted: true, Capacity: 250, Priority: -1, Credit: 250, Deliveries: 3,
		}},
		addresses: map[string]Address{
			"M0$management": {Key: "M0$management", Distribution: "closest", Priority: -1, InProcess: 1, Gate: "open"},
			"Lqdhello":      {Key: "Lqdhello", Distribution: "multicast", Priority: -1, InProcess: 1, Gate: "open"},
		},
		nodes: []Node{
			{ID: "A", Self: true, Instance: 1796011658, Neighbors: []string{"B"}, ValidOrigins: []string{}, Link: -1, Changed: time.Unix(1796011666, 0)},
			{ID: "B", Cost: 3, Link: 0, Index: 1, ValidOrigins: []string{}},
		},
		listeners:  []config.Listener{{Name: "amqp-in", Host: "127.0.0.1", Port: "22010", Role: config.RoleNormal}, {Name: "web", Host: "127.0.0.1", Port: "22011", HTTP: true}},
		connectors: []config.Connector{{Name: "brk", Host: "127.0.0.1", Port: "22090", Role: config.RoleRouteContainer, SASLUsername: "fred", SASLPassword: "secret"}},
		configured: map[uint64]config.Address{1: mc},
		next:       1,
		logs:       logging.Discard(),
	}
	t.Cleanup(f.logs.Close)
	return f
}

func (f *fake) Self() config.Router { return f.self }
func (f *fake) Overview() Overview {
	return Overview{Version: "1", Started: time.Now(), Addresses: 99, Links: 99, Connections: len(f.connections), Accepted: 6}
}

func keysOf[K interface{ ~uint64 | ~string }, V any](m map[K]V) []K {
	var list []K
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

func (f *fake) Connections() []uint64 { return keysOf(f.connections) }
func (f *fake) Connection(id uint64) (Connection, bool) {
	c, ok := f.connections[id]
	return c, ok
}
func (f *fake) CloseConnection(id uint64) error {
	c, ok := f.connections[id]
	if !ok {
		return badRequest("there is no connection %d", id)
	}
	if c.Role == config.RoleInterRouter {
		return ErrForbidden
	}
	c.Closing = true
	f.connections[id] = c
	f.closed = append(f.closed, id)
	return nil
}
func (f *fake) TraceConnection(id uint64, on bool) error {
	c, ok := f.connections[id]
	if !ok {
		return badRequest("there is no connection %d", id)
	}
	c.Traced = on
	f.connections[id] = c
	return nil
}
func (f *fake) LogsChanged()    {}
func (f *fake) Pools() []Pool   { return []Pool{{256, 8, 3}, {262144, 2, 0}} }
func (f *fake) Links() []uint64 { return keysOf(f.links) }
func (f *fake) Link(id uint64) (Link, bool) {
	f.looked++
	l, ok := f.links[id]
	return l, ok
}
func (f *fake) DetachLink(id uint64) error { delete(f.links, id); return nil }
func (f *fake) Addresses() []string        { return keysOf(f.addresses) }
func (f *fake) Address(key string) (Address, bool) {
	f.looked++
	a, ok := f.addresses[key]
	return a, ok
}
func (f *fake) Nodes() []Node { return f.nodes }
func (f *fake) Listeners() (list []Listener) {
	f.lists++
	for _, l := range f.listeners {
		list = append(list, Listener{l})
	}
	return list
}
func (f *fake) ListenerWhere(match func(*config.Listener) bool) (Listener, bool) {
	for i := range f.listeners {
		if match(&f.listeners[i]) {
			return Listener{f.listeners[i]}, true
		}
	}
	return Listener{}, false
}
func (f *fake) CreateListener(l config.Listener) error {
	if f.refuse == nil {
		f.listeners = append(f.listeners, l)
	}
	return f.refuse
}
func (f *fake) DeleteListener(l config.Listener) error {
	f.listeners = slices.DeleteFunc(f.listeners, func(o config.Listener) bool { return o.Name == l.Name && o.Address() == l.Address() })
	return nil
}
func (f *fake) ConnectorWhere(match func(*config.Connector) bool) (Connector, bool) {
	for i, c := range f.connectors {
		if match(&f.connectors[i]) {
			return Connector{Connector: c, Status: "CONNECTING", Message: "refused", FailoverURLs: []string{"amqp://127.0.0.1:22090"}}, true
		}
	}
	return Connector{}, false
}
func (f *fake) Connectors() (list []Connector) {
	f.lists++
	for _, c := range f.connectors {
		list = append(list, Connector{Connector: c, Status: "CONNECTING", Message: "refused", FailoverURLs: []string{"amqp://127.0.0.1:22090"}})
	}
	return list
}
func (f *fake) CreateConnector(c config.Connector) error {
	f.connectors = append(f.connectors, c)
	return nil
}
func (f *fake) DeleteConnector(c config.Connector) error {
	f.connectors = slices.DeleteFunc(f.connectors, func(o config.Connector) bool { return o.Name == c.Name })
	return nil
}
func (f *fake) SSLProfiles() []config.SSLProfile { f.lists++; return f.profiles }
func (f *fake) SSLProfile(name string) (config.SSLProfile, bool) {
	for _, p := range f.profiles {
		if p.Name == name {
			return p, true
		}
	}
	return config.SSLProfile{}, false
}
func (f *fake) CreateSSLProfile(p config.SSLProfile) error {
	f.profiles = append(f.profiles, p)
	return nil
}
func (f *fake) DeleteSSLProfile(name string) error {
	if f.refuse == nil {
		f.profiles = slices.DeleteFunc(f.profiles, func(p config.SSLProfile) bool { return p.Name == name })
	}
	return f.refuse
}
func (f *fake) ConfigAddresses() []uint64 { return keysOf(f.configured) }
func (f *fake) ConfigAddress(id uint64) (config.Address, bool) {
	a, ok := f.configured[id]
	return a, ok
}
func (f *fake) ConfigAddressNamed(name string) (uint64, bool) {
	for id, a := range f.configured {
		if a.Name == name {
			return id, true
		}
	}
	return 0, false
}
func (f *fake) CreateAddress(a config.Address) (uint64, error) {
	for _, o := range f.configured {
		if o.Match == a.Match {
			return 0, badRequest("Already exists")
		}
	}
	f.next++
	f.configured[f.next] = a
	return f.next, nil
}
func (f *fake) DeleteAddress(id uint64) error { delete(f.configured, id); return nil }
func (f *fake) Logs() *logging.Logs           { return f.logs }

// m makes a map of names and values.
func m(kv ...any) encoding.Map {
	out := encoding.Map{}
	for i := 0; i < len(kv); i += 2 {
		out = append(out, encoding.MapEntry{Key: kv[i], Value: kv[i+1]})
	}
	return out
}

// properties makes application properties of "name=value, name=value".
func properties(text string) encoding.Map {
	out := encoding.Map{}
	for _, item := range strings.Split(text, ", ") {
		k, v, _ := strings.Cut(item, "=")
		out = append(out, encoding.MapEntry{Key: k, Value: strings.ReplaceAll(v, "...", "org.apache.qpid.dispatch.")})
	}
	return out
}

// message encodes a request.
func message(t testing.TB, ap encoding.Map, body any) []byte {
	t.Helper()
	b, err := (&messaging.Message{
		Properties: &messaging.Properties{ReplyTo: "amqp:/_topo/0/A/temp.1", CorrelationID: uint64(7)}, ApplicationProperties: ap, Body: body,
	}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ask has a desk answer a request.
func ask(t testing.TB, d *Desk, ap encoding.Map, body any) (status int32, text string, answer any) {
	t.Helper()
	q, err := decode(message(t, ap, body))
	if err != nil {
		t.Fatal(err)
	}
	got, err := messaging.DecodeMessage(d.answer(q).message(q))
	if err != nil {
		t.Fatal(err)
	}
	if p := got.Properties; p.To != "amqp:/_topo/0/A/temp.1" || p.CorrelationID != uint64(7) || p.MessageID != nil {
		t.Errorf("the reply's properties are %+v", p)
	}
	if got.Header == nil || got.Header.Durable {
		t.Errorf("the reply's header is %+v", got.Header)
	}
	for _, e := range got.ApplicationProperties {
		switch e.Key {
		case "statusCode":
			status = e.Value.(int32)
		case "statusDescription":
			text = e.Value.(string)
		case "warnings":
		default:
			t.Errorf("the reply's application properties are %v", got.ApplicationProperties)
		}
	}
	return status, text, got.Body
}

// show writes a value with the types of its integers, as examples have them.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("%q", strings.ReplaceAll(v, "org.apache.qpid.dispatch.", "..."))
	case int32:
		return fmt.Sprintf("int(%d)", v)
	case int64:
		return fmt.Sprintf("long(%d)", v)
	case uint32:
		return fmt.Sprintf("uint(%d)", v)
	case uint64:
		return fmt.Sprintf("ulong(%d)", v)
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, show(e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case encoding.Map:
		var parts []string
		for _, e := range v {
			parts = append(parts, fmt.Sprintf("%v:%s", strings.ReplaceAll(fmt.Sprint(e.Key), "org.apache.qpid.dispatch.", "..."), show(e.Value)))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return fmt.Sprint(v)
}

// loggedOnce returns logs with one line in them.
func loggedOnce(t testing.TB) *logging.Logs {
	l := logging.New(logging.Options{Stderr: io.Discard, Stdout: io.Discard})
	t.Cleanup(l.Close)
	log := l.Logger(logging.Agent)
	log.Info().Int("n", 1).Msg("something")
	return l
}
