package management

import (
	"fmt"
	"testing"

	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
)

// since asks for what has changed since a version.
func since(t *testing.T, d *Desk, typ, version string, names ...any) (next string, complete bool, results, removed string) {
	t.Helper()
	q, err := decode(message(t, m("operation", "QUERY", "entityType", "org.apache.qpid.dispatch."+typ, "since", version), m("attributeNames", names)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := messaging.DecodeMessage(d.answer(q).message(q))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range got.ApplicationProperties {
		switch e.Key {
		case "statusDescription":
			if e.Value != "OK" {
				t.Fatal(e.Value)
			}
		case "version":
			next = e.Value.(string)
		case "complete":
			complete = e.Value.(bool)
		}
	}
	for _, e := range got.Body.(encoding.Map) {
		switch e.Key {
		case "results":
			results = show(e.Value)
		case "removed":
			removed = show(e.Value)
		}
	}
	return next, complete, results, removed
}

// A QUERY with a version is answered with what differs from that one's answer.
func TestSince(t *testing.T) {
	d := NewDesk(newFake(t))
	create := func(prefix, distribution string) {
		t.Helper()
		if status, text, _ := ask(t, d, properties("operation=CREATE, type=...router.config.address, name="+prefix), m("prefix", prefix, "distribution", distribution)); status != 201 {
			t.Fatal(text)
		}
	}
	ask1 := func(version, complete, results, removed string) string {
		t.Helper()
		next, c, r, gone := since(t, d, "router.config.address", version, "identity", "prefix")
		if fmt.Sprint(c) != complete || r != results || gone != removed {
			t.Errorf("complete=%v %s, removed %s; want complete=%s %s, removed %s", c, r, gone, complete, results, removed)
		}
		return next
	}
	first := ask1("", "true", `[["1","multicast"]]`, "[]")
	if again := ask1(first, "false", "[]", "[]"); again != first {
		t.Errorf("nothing has changed, and %q is %q", first, again)
	}
	create("a", "closest")
	second := ask1(first, "false", `[["2","a"]]`, "[]")
	if status, text, _ := ask(t, d, properties("operation=DELETE, type=...router.config.address, name=mc"), nil); status != 204 {
		t.Fatal(text)
	}
	create("b", "closest")
	third := ask1(second, "false", `[["3","b"]]`, `["1"]`)
	ask1(first, "false", `[["2","a"],["3","b"]]`, `["1"]`)
	if second == first || third == second {
		t.Errorf("versions %q, %q, %q", first, second, third)
	}
	ask1("unheard", "true", `[["2","a"],["3","b"]]`, "[]")
	// The version is one of these columns of this type.
	if _, complete, results, _ := since(t, d, "router.config.address", third, "identity"); !complete || results != `[["2"],["3"]]` {
		t.Errorf("%v %s", complete, results)
	}
	if _, complete, _, _ := since(t, d, "listener", third, "identity"); !complete {
		t.Error("a version of another type is known")
	}
}

func TestSince_Refused(t *testing.T) {
	d := NewDesk(newFake(t))
	for _, e := range []struct {
		ap   encoding.Map
		body encoding.Map
		text string
	}{
		{m("entityType", "listener", "since", "", "offset", int32(1)), nil, "'since' goes without 'offset' and 'count'"},
		{m("entityType", "listener", "since", "", "count", int32(1)), nil, "'since' goes without 'offset' and 'count'"},
		{m("entityType", "listener", "since", ""), m("attributeNames", []any{"name"}), "'since' needs 'identity' among 'attributeNames'"},
		{m("since", ""), nil, "'since' needs an 'entityType' that has entities of its own"},
		{m("entityType", "entity", "since", ""), nil, "'since' needs an 'entityType' that has entities of its own"},
		{m("entityType", "listener", "since", true), nil, "'since' must be a string"},
	} {
		status, text, _ := ask(t, d, append(m("operation", "QUERY"), e.ap...), e.body)
		if status != 400 || text != e.text {
			t.Errorf("%v: %d %s", e.ap, status, text)
		}
	}
}

// What is known of old answers has a bound.
func TestSince_Bounded(t *testing.T) {
	d := NewDesk(newFake(t))
	first, _, _, _ := since(t, d, "listener", "", "identity")
	for range 2 * maxVersions {
		since(t, d, "listener", "", "identity")
	}
	if n := len(d.versions.known); n != maxVersions {
		t.Errorf("%d answers are known", n)
	}
	if _, complete, _, _ := since(t, d, "listener", first, "identity"); !complete {
		t.Error("the oldest is still known")
	}
	v := &d.versions
	v.keep(&snapshot{rows: make(map[string]uint64)})
	large := &snapshot{rows: map[string]uint64{}}
	for i := range maxVersionRows + 1 {
		large.rows[fmt.Sprint(i)] = 1
	}
	if v.keep(large); large.version != "" {
		t.Error("a large answer has a version")
	}
	delete(large.rows, "0")
	if v.keep(large); large.version == "" || len(v.known) > 2 || v.rows != maxVersionRows {
		t.Errorf("%d answers with %d rows", len(v.known), v.rows)
	}
}
