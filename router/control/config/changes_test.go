package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestChanges(t *testing.T) {
	old := load(t, "x.conf", "router {\nid: R\n}\nlistener {\nhost: ::1\n}\nlistener {\nname: two\nhost: ::1\nport: 1\n}\naddress {\nprefix: a\n}\naddress {\nprefix: b\n}\nlog {\nmodule: DEFAULT\nenable: info+\n}\n")
	now := load(t, "x.conf", "\nrouter {\nid: R\nshutdownTimeoutSeconds: 3\n}\nlistener {\nhost: ::1\nmaxFrameSize: 1024\nidleTimeoutSeconds: 5\n}\nlistener {\nname: three\nhost: ::1\nport: 1\n}\naddress {\npattern: a.#\nredeliver: yes\n}\nlog {\nmodule: DEFAULT\nenable: debug+\n}\n")
	want := []string{
		"router: shutdownTimeoutSeconds",
		"listener [::1]:5672: maxFrameSize, idleTimeoutSeconds",
		"listener two: removed",
		"listener three: added",
		"address a/#: prefix, pattern, redeliver",
		"address b/#: removed",
		"log DEFAULT: enable",
	}
	var got []string
	for _, c := range Changes(old, now) {
		got = append(got, c.String())
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if same := Changes(old, old); same != nil {
		t.Errorf("%v", same)
	}
}

// Every field of an entity is some attribute.
func TestEveryFieldIsAnAttribute(t *testing.T) {
	for section, v := range map[string]any{"router": Router{}, "listener": Listener{}, "connector": Connector{}, "sslProfile": SSLProfile{}, "address": Address{}, "log": Log{}} {
		seen := map[string]bool{}
		var all func(reflect.Type)
		all = func(s reflect.Type) {
			for i := range s.NumField() {
				switch f := s.Field(i); {
				case f.Name == "Pos" || f.Name == "Match":
				case f.Anonymous:
					all(f.Type)
				default:
					name := attributeOf(section, f.Name) // panics
					if seen[name] {
						t.Errorf("%s of %s twice", name, section)
					}
					seen[name] = true
				}
			}
		}
		all(reflect.TypeOf(v))
		if len(seen) == 0 {
			t.Error(fmt.Sprint("no attributes of ", section))
		}
	}
}
