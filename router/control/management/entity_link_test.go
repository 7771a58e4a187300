package management

import "testing"

// Tools add up the delays of every link that they show, and fail where one is
// null.
func TestDelaysAreNumbers(t *testing.T) {
	for _, l := range []Link{{Type: "router-control"}, {Type: "endpoint", Counted: true, Delayed: 3, VeryDelayed: 4}} {
		v := linkValues(&l)
		if v["deliveriesDelayed1Sec"] != l.Delayed || v["deliveriesDelayed10Sec"] != l.VeryDelayed {
			t.Errorf("%s: %v, %v", l.Type, v["deliveriesDelayed1Sec"], v["deliveriesDelayed10Sec"])
		}
	}
}
