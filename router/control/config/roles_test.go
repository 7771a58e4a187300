package config

import (
	"strings"
	"testing"
)

// Which roles a router may have depends on its mode.
func TestRoles(t *testing.T) {
	const (
		listens  = "listener {\nhost: ::1\nport: 1\nrole: "
		connects = "connector {\nhost: ::1\nport: 2\nrole: "
	)
	for _, test := range []struct{ mode, entity, role, mistake string }{
		{"standalone", listens, "normal", ""},
		{"standalone", listens, "inter-router", "needs a router of mode interior"},
		{"standalone", connects, "inter-router", "needs a router of mode interior"},
		{"standalone", listens, "edge", "needs a router of mode interior"},
		{"standalone", connects, "edge", "needs a router of mode edge"},
		{"interior", listens, "inter-router", ""},
		{"interior", connects, "inter-router", ""},
		{"interior", listens, "edge", ""},
		{"interior", connects, "edge", "needs a router of mode edge"},
		{"edge", listens, "normal", ""},
		{"edge", connects, "edge", ""},
		{"edge", listens, "edge", "it has connectors of that role"},
		{"edge", listens, "inter-router", "needs a router of mode interior"},
		{"edge", connects, "inter-router", "needs a router of mode interior"},
	} {
		c, problems := LoadText("x.conf", "router {\nid: R\nmode: "+test.mode+"\n}\n"+test.entity+test.role+"\n}\n", Options{})
		var got string
		if problems != nil {
			got = problems.Error()
		}
		if test.mistake == "" && (problems != nil || c == nil) || test.mistake != "" && !strings.Contains(got, test.mistake) {
			t.Errorf("%s router with %q%s: %s", test.mode, test.entity, test.role, got)
		}
	}
}

// What is expected in place of a role that cannot be is what can.
func TestRolesThatAreExpected(t *testing.T) {
	for _, test := range []struct{ mode, entity, want string }{
		{"", "connector {\nrole: inter-router", `x.conf:3:7: error: a connector of role inter-router needs a router of mode interior, and this one is standalone, because its mode is not given; expected role: normal or route-container; or mode: interior of the router`},
		{"mode: edge\n", "connector {\nrole: inter-router", "and this one is edge; expected role: edge, normal or route-container; or mode: interior of the router"},
		{"mode: interior\n", "connector {\nrole: edge", "and this one is interior; expected role: inter-router, normal or route-container; or mode: edge of the router"},
		{"mode: edge\n", "listener {\nrole: inter-router", "and this one is edge; expected role: normal or route-container; or mode: interior of the router"},
		// A mode that is none says nothing about roles.
		{"mode: interor\n", "connector {\nrole: inter-router", `x.conf:8:7: error: "interor" is no valid mode; expected one of standalone, interior, edge; did you mean interior?`},
		{"mode: egde\n", "connector {\nrole: edge", `did you mean edge?`},
	} {
		text := test.entity + "\nhost: r.example\nport: 2\n}\n"
		text = strings.Replace(text, "\nrole", "\n\nrole", 1)
		_, problems := LoadText("x.conf", text+"router {\n"+test.mode+"id: R\n}\n", Options{})
		var mistakes []string
		for _, p := range problems {
			if !p.Warning {
				mistakes = append(mistakes, p.String())
			}
		}
		if len(mistakes) != 1 || !strings.Contains(mistakes[0], test.want) {
			t.Errorf("%q %q: %q", test.mode, test.entity, mistakes)
		}
	}
}

// A connector that leads back to the same router is a mistake of files that were
// put together.
func TestConnectorsToTheSameRouter(t *testing.T) {
	for _, test := range []struct{ listener, connector, want string }{
		{"host: 127.0.0.1\nport: 55672\nrole: inter-router", "host: 127.0.0.1\nport: 55672", "with role normal to one of role inter-router"},
		{"host: 127.0.0.1\nport: 55672\nrole: inter-router", "host: localhost\nport: 55672\nrole: inter-router", "the router would connect to itself;"},
		{"host: 0.0.0.0\nport: 8080\nhttp: yes\nwebsockets: no", "host: 127.0.0.1\nport: 8080\nrole: inter-router", "x.conf:11:1: warning: connector to 127.0.0.1:8080 leads to the listener on line 5 of the same router: that speaks HTTP, not AMQP; the other router has a configuration of its own"},
		{"host: 127.0.0.1\nport: 55672", "host: 127.0.0.1\nport: 55673", ""},
		{"host: 127.0.0.1\nport: 55672", "host: r.example\nport: 55672", ""},
	} {
		got := warningsOf("x.conf", "router {\nid: R\nmode: interior\n}\nlistener {\n"+test.listener+"\n}\nconnector {\n"+test.connector+"\n}\n")
		if test.want == "" && got != "" || !strings.Contains(got, test.want) || strings.Count(got, "\n") > 0 {
			t.Errorf("%q and %q: %s", test.listener, test.connector, got)
		}
	}
}

// An interior router that has another id after each start is another router.
func TestInteriorRoutersNeedAnID(t *testing.T) {
	for _, test := range []struct {
		text   string
		over   Overrides
		warned bool
	}{
		{"mode: interior", Overrides{}, true},
		{"mode: interior\nid: \"\"", Overrides{}, true},
		{"mode: interior\nid: R", Overrides{}, false},
		{"mode: interior", Overrides{ID: "R"}, false},
		{"mode: standalone", Overrides{}, false},
		{"mode: edge", Overrides{}, false},
	} {
		c, problems := LoadText("x.conf", "router {\n"+test.text+"\n}\nlistener {\nhost: ::1\n}\n", Options{Overrides: test.over})
		if problems != nil {
			t.Fatal(problems)
		}
		if got := strings.Contains(c.Warnings.Error(), "x.conf:1:1: warning: router has no id"); got != test.warned {
			t.Errorf("%+v: %v", test, c.Warnings)
		}
	}
}

// What routers say to each other in open is theirs alone.
func TestOpenPropertiesBetweenRouters(t *testing.T) {
	for _, role := range []string{"inter-router", "edge"} {
		_, problems := LoadText("x.conf", "router {\nid: R\nmode: interior\n}\nlistener {\nhost: ::1\nport: 1\nrole: "+role+"\nopenProperties: {\n\"a\": 1,\n}\n}\n", Options{})
		if problems == nil || !strings.Contains(problems.Error(), "openProperties are not allowed for role "+role) {
			t.Errorf("%s: %v", role, problems)
		}
	}
}
