package manage

import (
	"fmt"
	"slices"
	"testing"

	"sluice/tests/harness"
	"sluice/tests/raw"
)

// Each router of a network is managed from any other, and knows all of them.
func TestMesh(t *testing.T) {
	m := harness.StartMesh(t, harness.Line(3))
	names := m.Names()
	wait(t, "they know each other", func() bool {
		for _, name := range names {
			if len(dial(t, "amqp://"+m.Addr(name), "$management").query("router.node", "id")) != 3 {
				return false
			}
		}
		return true
	})
	for _, from := range names {
		for _, to := range names {
			a := dial(t, "amqp://"+m.Addr(from), "_topo/0/"+to+"/$management")
			if r := a.query("router", "id", "nodeCount"); len(r) != 1 || r[0]["id"] != to || r[0]["nodeCount"] != uint64(2) {
				t.Errorf("%s asks %s and gets %v", from, to, r)
			}
			a.fails("operation=READ, type=...listener, name=nobody", nil, 404, "No entity with name=nobody")
			// A change in one is one in that alone.
			name := "made-by-" + from
			a.must("operation=CREATE, type=...router.config.address, name="+name, map[string]any{"prefix": name})
		}
	}
	for _, name := range names {
		a := dial(t, "amqp://"+m.Addr(name), "$management")
		var nodes []string
		for _, n := range a.must("operation=GET-MGMT-NODES", nil).([]any) {
			nodes = append(nodes, n.(string))
		}
		slices.Sort(nodes)
		if want := "[amqp:/_topo/0/A/$management amqp:/_topo/0/B/$management amqp:/_topo/0/C/$management]"; fmt.Sprint(nodes) != want {
			t.Errorf("got %v", nodes)
		}
		if rows := a.query("router.config.address"); len(rows) != 3 {
			t.Errorf("%s has %d addresses", name, len(rows))
		}
		if rows := a.find("router.address", "name", "M0$management"); len(rows) != 1 || rows[0]["remoteCount"] != uint32(0) {
			t.Errorf("%s: others know of its agent: %v", name, rows)
		}
	}
	a := dial(t, "amqp://"+m.Addr("A"), "$management")
	byID := map[any]map[string]any{}
	for _, n := range a.query("router.node") {
		byID[n["id"]] = n
	}
	if n := byID["A"]; n["nextHop"] != "(self)" || n["cost"] != nil || len(n["linkState"].([]any)) != 1 || n["lastTopoChange"] == nil {
		t.Errorf("got %v", n)
	}
	if n := byID["B"]; n["nextHop"] != nil || n["routerLink"] == nil || n["cost"] != int32(1) {
		t.Errorf("got %v", n)
	}
	if n := byID["C"]; n["nextHop"] != "B" || n["routerLink"] != nil || n["cost"] != int32(2) || n["address"] != "amqp:/_topo/0/C" {
		t.Errorf("got %v", n)
	}
	// What routers have told of their neighbours is shown, too.
	wait(t, "A knows who is whose neighbour", func() bool {
		got := map[any]string{}
		for _, n := range a.query("router.node") {
			got[n["id"]] = fmt.Sprint(n["linkState"])
		}
		return got["A"] == "[B]" && got["B"] == "[A C]" && got["C"] == "[B]"
	})
	// An address knows the routers that have receivers, not only the next ones on the
	// way to them.
	for _, at := range []string{"B", "C"} {
		s, err := dial(t, "amqp://"+m.Addr(at), "$management").conn.NewSession(t.Context(), nil)
		must(t, err)
		_, err = s.NewReceiver(t.Context(), "at.two", nil)
		must(t, err)
	}
	wait(t, "A knows of both routers", func() bool {
		rows := a.find("router.address", "name", "M0at.two")
		return len(rows) == 1 && rows[0]["remoteCount"] == uint32(2) && fmt.Sprint(rows[0]["remoteHostRouters"]) == "[B C]"
	})
	// Neighbours are connected by links of their kinds, which are not for management
	// to cut.
	types := map[any]int{}
	for _, l := range a.query("router.link", "linkType") {
		types[l["linkType"]]++
	}
	if types["router-control"] != 2 || types["inter-router"] != 20 {
		t.Errorf("links %v", types)
	}
	trunk := a.find("connection", "role", "inter-router")
	if len(trunk) != 1 || trunk[0]["container"] != "B" {
		t.Fatalf("got %v", trunk)
	}
	a.fails("operation=UPDATE, type=...connection, identity="+trunk[0]["identity"].(string), map[string]any{"adminStatus": "deleted"}, 403,
		"router B ends with its connector: delete ")
}

// A connector to another router that is deleted takes the other out of the
// network, and one that is created brings it back.
func TestMesh_Connector(t *testing.T) {
	m := harness.StartMesh(t, harness.Pair())
	names := m.Names()
	for _, name := range names {
		a := dial(t, "amqp://"+m.Addr(name), "$management")
		wait(t, "they are neighbours", func() bool { return len(a.query("router.node", "id")) == 2 })
		c := a.query("connector")
		if len(c) == 0 {
			continue
		}
		a.must("operation=DELETE, type=...connector, identity="+c[0]["identity"].(string), nil)
		wait(t, "it is alone", func() bool { return len(a.query("router.node", "id")) == 1 })
		a.must("operation=CREATE, type=...connector, name=again", map[string]any{"host": c[0]["host"], "port": c[0]["port"], "role": "inter-router"})
		wait(t, "they are neighbours again", func() bool { return len(a.query("router.node", "id")) == 2 })
	}
}

// An edge router is managed from itself and from the interior.
func TestMesh_Edge(t *testing.T) {
	m := harness.StartMesh(t, harness.Pair().WithEdge("E", "A"))
	a := dial(t, "amqp://"+m.Addr("A"), "$management")
	wait(t, "the edge router is there", func() bool { return len(a.find("connection", "role", "edge")) == 1 })
	at := dial(t, "amqp://"+m.Addr("E"), "$management")
	if r := at.query("router", "id", "mode"); r[0]["id"] != "E" || r[0]["mode"] != "edge" {
		t.Errorf("got %v", r)
	}
	if n := at.query("router.node"); len(n) != 0 {
		t.Errorf("got %v", n)
	}
	if n := at.must("operation=GET-MGMT-NODES", nil).([]any); len(n) != 0 {
		t.Errorf("got %v", n)
	}
	from := dial(t, "amqp://"+m.Addr("A"), "_edge/E/$management")
	if r := from.query("router", "id"); r[0]["id"] != "E" {
		t.Errorf("got %v", r)
	}
	for _, id := range []string{"A", "B"} {
		up := dial(t, "amqp://"+m.Addr("E"), "_topo/0/"+id+"/$management")
		if r := up.query("router", "id"); r[0]["id"] != id {
			t.Errorf("got %v", r)
		}
	}
}

// What waits because of somebody behind another router is a row with its address
// and with whom it waits for, at each router, and in the log.
func TestMesh_Stuck(t *testing.T) {
	if testing.Short() {
		t.Skip("a delivery is stuck after ten seconds")
	}
	m := harness.Prepare(t, harness.Pair())
	for _, name := range m.Names() {
		m.Start(name)
	}
	if missing := m.WaitTrunks(); missing != "" {
		t.Fatal(missing)
	}
	sleepy, err := raw.Dial(m.Addr("B"), raw.Options{Container: "sleepy"})
	must(t, err)
	defer sleepy.Abort()
	rs := sleepy.MustSession()
	for address, credit := range map[string]uint32{"held": 10, "dry": 0} {
		_, err := rs.Receiver(address, raw.ReceiverOptions{Credit: credit, Manual: true})
		must(t, err)
	}
	sender, err := raw.Dial(m.Addr("A"), raw.Options{Container: "sender"})
	must(t, err)
	defer sender.Abort()
	ss := sender.MustSession()
	for _, address := range []string{"held", "dry"} {
		out, err := ss.Sender(address, raw.SenderOptions{})
		must(t, err)
		for i := range 3 {
			must(t, out.Send(raw.Numbered(nil, 100, uint64(i)), false))
		}
	}
	for name, want := range map[string][]string{
		"A": {"in M0held outcome B", "in M0dry outcome B", "out M0held outcome B"},
		"B": {"out M0held outcome sleepy", "out M0dry credit sleepy"},
	} {
		a := dial(t, "amqp://"+m.Addr(name), "$management")
		wait(t, name+" says what waits", func() bool {
			got := map[string]bool{}
			for _, l := range a.query("router.link") {
				got[fmt.Sprint(l["linkDir"], " ", l["waitsForAddress"], " ", l["waitsFor"], " ", l["waitsForPeer"])] = true
			}
			return !slices.ContainsFunc(want, func(row string) bool { return !got[row] })
		})
	}
}
