package management

import (
	"bytes"
	"strings"
	"testing"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
)

func encode(t testing.TB, m *messaging.Message) []byte {
	t.Helper()
	b, err := m.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A request without a reply-to, or one in which none can be found, cannot be
// answered.
func TestRequestsWithoutReplyTo(t *testing.T) {
	for name, b := range map[string][]byte{
		"empty":         nil,
		"no properties": encode(t, &messaging.Message{ApplicationProperties: m("operation", "QUERY")}),
		"no reply-to":   encode(t, &messaging.Message{Properties: &messaging.Properties{CorrelationID: "x"}, ApplicationProperties: m("operation", "QUERY")}),
		"garbage":       []byte("GET / HTTP/1.1\r\n"),
		"cut":           message(t, m("operation", "QUERY"), nil)[:12],
	} {
		if q, err := decode(b); err == nil {
			t.Errorf("%s: %+v", name, q)
		}
	}
}

// What is wrong behind the properties is the answer to the request.
func TestRequestsThatAreWrong(t *testing.T) {
	good := message(t, m("operation", "QUERY"), m("attributeNames", []any{}))
	p := &messaging.Properties{ReplyTo: "r", MessageID: "id"}
	for name, e := range map[string]struct {
		b    []byte
		text string
	}{
		"cut":     {good[:len(good)-3], "The request cannot be decoded"},
		"data":    {encode(t, &messaging.Message{Properties: p, ApplicationProperties: m("operation", "QUERY"), Data: [][]byte{{1}}}), "Body of request must be an amqp-value"},
		"no op":   {encode(t, &messaging.Message{Properties: p}), "No 'operation' property"},
		"op":      {encode(t, &messaging.Message{Properties: p, ApplicationProperties: m("operation", []byte("QUERY"))}), "'operation' must be a string"},
		"keys":    {encode(t, &messaging.Message{Properties: p, ApplicationProperties: m(true, "QUERY")}), "Keys of application properties must be strings"},
		"body":    {encode(t, &messaging.Message{Properties: p, ApplicationProperties: m("operation", "QUERY"), Body: "x"}), "Body of request must be a map"},
		"names":   {encode(t, &messaging.Message{Properties: p, ApplicationProperties: m("operation", "QUERY"), Body: m("attributeNames", []any{int32(1)})}), "'attributeNames' must be a list of strings"},
		"limit":   {encode(t, &messaging.Message{Properties: p, ApplicationProperties: m("operation", "GET-LOG", "limit", true)}), "'limit' must be an integer"},
		"create":  {encode(t, &messaging.Message{Properties: p, ApplicationProperties: m("operation", "CREATE", "type", "listener"), Body: []any{}}), "Body of request must be a map"},
		"keys in": {encode(t, &messaging.Message{Properties: p, ApplicationProperties: m("operation", "CREATE", "type", "listener"), Body: m(int32(1), "x")}), "Keys of attributes must be strings"},
	} {
		q, err := decode(e.b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r := NewDesk(newFake(t)).answer(q)
		if r.status != 400 || !strings.HasPrefix(r.text, e.text) {
			t.Errorf("%s: %d %s", name, r.status, r.text)
		}
	}
}

// The reply has the request's correlation-id, whatever its type, or else its
// message-id.
func TestCorrelation(t *testing.T) {
	for _, id := range []any{uint64(1 << 40), encoding.UUID{1, 2}, []byte{0, 1}, "text", nil} {
		for _, p := range []messaging.Properties{{CorrelationID: id, MessageID: "other"}, {MessageID: id}} {
			if id == nil && p.MessageID != nil {
				continue
			}
			p.ReplyTo = "r"
			q, err := decode(encode(t, &messaging.Message{Properties: &p, ApplicationProperties: m("operation", "READ")}))
			if err != nil {
				t.Fatal(err)
			}
			got, err := messaging.DecodeMessage(NewDesk(newFake(t)).answer(q).message(q))
			if err != nil || got.Properties.To != "r" {
				t.Fatal(got, err)
			}
			if b, isBytes := id.([]byte); isBytes && bytes.Equal(b, got.Properties.CorrelationID.([]byte)) {
				continue
			}
			if got.Properties.CorrelationID != id {
				t.Errorf("got %v, want %v", got.Properties.CorrelationID, id)
			}
		}
	}
}

// Clients may write symbols for strings, and numbers for text that is one.
func TestLenientTypes(t *testing.T) {
	q, err := decode(message(t, m(amqp.Symbol("operation"), amqp.Symbol("read"), "type", amqp.Symbol("org.apache.qpid.dispatch.connection"), "identity", uint32(5), "locales", "en"), nil))
	if err != nil {
		t.Fatal(err)
	}
	if r := NewDesk(newFake(t)).answer(q); r.status != 200 {
		t.Errorf("%d %s", r.status, r.text)
	}
}

// Whatever a request is, it has no answer or one that can be decoded, and
// nothing is changed by one that fails.
func FuzzRequest(f *testing.F) {
	for _, e := range []struct {
		ap   string
		body any
	}{
		{"operation=QUERY, entityType=...router.link, offset=1, count=2", m("attributeNames", []any{"name", "identity"})},
		{"operation=QUERY", nil},
		{"operation=READ, identity=router.node/B", nil},
		{"operation=CREATE, type=...listener, name=n", m("port", int32(1), "openProperties", m("a", []any{true, nil, 1.5}))},
		{"operation=CREATE, type=...router.config.address", m("prefix", "a", "priority", uint64(3))},
		{"operation=UPDATE, type=log, name=log/HTTP", m("enable", "debug+", "includeSource", true)},
		{"operation=DELETE, type=connector, name=brk", nil},
		{"operation=GET-JSON-SCHEMA, indent=4", nil},
		{"operation=GET-LOG, limit=10", nil},
		{"operation=GET-MGMT-NODES", nil},
	} {
		f.Add(message(f, properties(e.ap), e.body))
	}
	fk := newFake(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 4096 {
			return
		}
		q, err := decode(b)
		if err != nil {
			return
		}
		if strings.Contains(string(b), "outputFile") {
			return // it would be opened
		}
		r := NewDesk(fk).answer(q)
		got, err := messaging.DecodeMessage(r.message(q))
		if err != nil {
			t.Fatalf("the answer cannot be decoded: %v", err)
		}
		if got.Properties.To != q.replyTo || len(got.ApplicationProperties) < 2 {
			t.Fatalf("answer %+v", got)
		}
		fk.listeners, fk.connectors = fk.listeners[:min(len(fk.listeners), 2)], fk.connectors[:min(len(fk.connectors), 1)]
	})
}
