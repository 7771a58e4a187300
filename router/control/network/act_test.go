package network

import (
	"slices"
	"testing"

	"sluice/amqp"
	"sluice/router/control/mesh"
)

// News are in force here before others hear of them; what others hear, and
// refusals among it, keeps its order: a HELLO that shows a duplicate id goes out
// before the connection is closed.
func TestAct_NewsBeforeMessages(t *testing.T) {
	routes := &mesh.Routes{}
	add, remove := mesh.RemoteAdd{Router: "B", Key: "M0q"}, mesh.RemoteRemove{Router: "C", Key: "M0q"}
	hello, flood := mesh.Send{Link: 1}, mesh.Send{Link: 2}
	refuse := mesh.Refuse{Link: 1, Error: amqp.Errorf(amqp.CondNotAllowed, "no")}
	notice := mesh.Notice{Kind: mesh.NoticeDuplicate}
	known, told := sorted([]mesh.Output{hello, flood, add, notice, refuse, routes, remove})
	if want := []mesh.Output{add, routes, remove}; !slices.Equal(known, want) {
		t.Errorf("known first: %v", known)
	}
	if want := []mesh.Output{hello, flood, notice, refuse}; !slices.Equal(told, want) {
		t.Errorf("told then: %v", told)
	}
}
