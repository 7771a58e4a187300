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

// What routers say to each other in open is theirs alone.
func TestOpenPropertiesBetweenRouters(t *testing.T) {
	for _, role := range []string{"inter-router", "edge"} {
		_, problems := LoadText("x.conf", "router {\nid: R\nmode: interior\n}\nlistener {\nhost: ::1\nport: 1\nrole: "+role+"\nopenProperties: {\n\"a\": 1,\n}\n}\n", Options{})
		if problems == nil || !strings.Contains(problems.Error(), "openProperties are not allowed for role "+role) {
			t.Errorf("%s: %v", role, problems)
		}
	}
}
