package management

import (
	"fmt"
	"strings"
	"testing"

	"sluice/router/control/config"
)

// However many entities there are, a QUERY takes a list of them once, and what is
// about one of them takes none.
func TestManyEntities(t *testing.T) {
	const n = 3000
	f := newFake(t)
	f.listeners, f.connectors = nil, nil
	for i := range n {
		port := fmt.Sprint(10000 + i)
		f.listeners = append(f.listeners, config.Listener{Name: "l" + port, Host: "::1", Port: port})
		f.connectors = append(f.connectors, config.Connector{Host: "127.0.0.1", Port: port})
		f.profiles = append(f.profiles, config.SSLProfile{})
		f.profiles[i].Name = "p" + port
	}
	d := NewDesk(f)
	for _, typ := range []string{"listener", "connector", "sslProfile"} {
		f.lists = 0
		_, _, answer := ask(t, d, properties("operation=QUERY, entityType="+typ), m("attributeNames", []any{"type"}))
		if got := strings.Count(show(answer), `"...`+typ+`"`); got != n || f.lists != 1 {
			t.Errorf("%s: %d rows, from %d lists", typ, got, f.lists)
		}
	}
	f.lists = 0
	for _, request := range []string{
		"operation=READ, type=listener, identity=listener/[::1]:12999:l12999",
		"operation=READ, type=connector, identity=connector/127.0.0.1:12999",
		"operation=READ, type=sslProfile, identity=sslProfile/p12999",
		"operation=READ, type=listener, name=l12999",
		"operation=READ, type=connector, name=connector/127.0.0.1:12999",
		"operation=READ, type=sslProfile, name=p12999",
	} {
		if status, text, _ := ask(t, d, properties(request), nil); status != 200 {
			t.Errorf("%s: %d %s", request, status, text)
		}
	}
	for _, request := range []string{"listener, name=more", "connector, name=more", "sslProfile, name=more"} {
		body := m("port", "22999", "host", "127.0.0.1")
		if strings.HasPrefix(request, "ssl") {
			body = m("protocols", "TLSv1.3")
		}
		if status, text, _ := ask(t, d, properties("operation=CREATE, type="+request), body); status != 201 {
			t.Errorf("%s: %d %s", request, status, text)
		}
	}
	if f.lists != 0 {
		t.Errorf("%d lists for what is about one entity each", f.lists)
	}
}

// Identities are compared as they are made.
func TestIdentified(t *testing.T) {
	for _, e := range []struct{ host, port, name string }{
		{"a", "1", ""}, {"a", "1", "n"}, {"a", "1", "n:2"}, {"::1", "amqp", ""}, {"::1", "amqp", "[x]"}, {"", "1", ""}, {"", "", ""}, {":", ":", ":"}, {"a", "12", ""}, {"/", "1", "/"},
	} {
		id := identities{}.of("listener", e.host, e.port, e.name)
		if !identified("listener", e.host, e.port, e.name, id) {
			t.Errorf("%+v is not %s", e, id)
		}
		for _, other := range []string{"", "x", id + "x", id + ":2", id[:len(id)-1], "connector" + strings.TrimPrefix(id, "listener")} {
			if identified("listener", e.host, e.port, e.name, other) {
				t.Errorf("%+v is %s", e, other)
			}
		}
	}
}

// Management makes so many entities of a type and no more. Those of files do not
// count, nor those that have gone, by management or without it.
func TestNumberOfEntities(t *testing.T) {
	f := newFake(t)
	d := NewDesk(f)
	create := func(i int) (int32, string) {
		status, text, _ := ask(t, d, properties("operation=CREATE, type=connector, name=c"+fmt.Sprint(i)), m("port", "1"))
		return status, text
	}
	k := d.byName["connector"]
	d.made[k] = map[string]bool{}
	for i := range maxMade - 1 { // as if each had been made
		name := fmt.Sprint("b", i)
		f.connectors = append(f.connectors, config.Connector{Name: name, Host: "127.0.0.1", Port: "1"})
		d.made[k]["connector/127.0.0.1:1:"+name] = true
	}
	if status, text := create(1); status != 201 {
		t.Fatal(status, text)
	}
	if status, text := create(2); status != 400 || !strings.Contains(text, "management has made 10000 entities of type connector, and makes no more: delete some") {
		t.Errorf("one too many: %d %s", status, text)
	}
	if status, text, _ := ask(t, d, properties("operation=DELETE, type=connector, name=c1"), nil); status != 204 {
		t.Error(status, text)
	}
	if status, text := create(3); status != 201 {
		t.Errorf("after one was deleted: %d %s", status, text)
	}
	f.connectors = f.connectors[1:] // of the file: it does not count
	if status, _ := create(4); status != 400 {
		t.Errorf("after one of the file has gone: %d", status)
	}
	f.connectors = f.connectors[1:]
	if status, text := create(5); status != 201 {
		t.Errorf("after one has gone: %d %s", status, text)
	}
	if status, text, _ := ask(t, d, properties("operation=CREATE, type=listener, name=l"), m("host", "127.0.0.1", "port", "1")); status != 201 {
		t.Errorf("of another type: %d %s", status, text)
	}
}
