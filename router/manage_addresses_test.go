package router

import (
	"fmt"
	"testing"

	"sluice/router/address"
	"sluice/router/control/config"
	"sluice/router/forward"
)

func mobile(text string) address.Address { return address.Parse(text, address.Identity{ID: "R"}) }

// What management makes and removes stays so over a reload, unless the files then
// say something new of the same addresses.
func TestAddresses_ManagedOverReload(t *testing.T) {
	file := load(t, "address {\nname: a\nprefix: a\ndistribution: multicast\n}\naddress {\nprefix: b\ndistribution: closest\n}\n")
	made := load(t, "address {\nname: c\nprefix: c\ndistribution: multicast\n}\n").Addresses[0]
	r := newTreatments(file)
	id, err := r.create(made)
	if err != nil || id != 3 {
		t.Fatal(id, err)
	}
	if _, err := r.create(made); err == nil || err.Error() != "Already exists: address 3 'c' has the prefix c" {
		t.Errorf("got %v", err)
	}
	if a, _ := r.named("a"); a != 1 {
		t.Errorf("a has number %d", a)
	}
	if err := r.remove(1); err != nil {
		t.Fatal(err)
	}
	if r.remove(1) == nil {
		t.Error("removed twice")
	}
	check := func(when string, want map[string]forward.Distribution) {
		t.Helper()
		for name, d := range want {
			if got := r.of(mobile(name)).Distribution; got != d {
				t.Errorf("%s: %s is %v, want %v", when, name, got, d)
			}
		}
	}
	want := map[string]forward.Distribution{"a/x": forward.Balanced, "b": forward.Closest, "c": forward.Multicast}
	check("at first", want)
	r.load(file)
	check("after a reload of the same", want)
	if got := fmt.Sprint(r.numbers()); got != "[2 3]" {
		t.Errorf("numbers %s", got)
	}
	r.load(load(t, "address {\nprefix: a\ndistribution: closest\n}\naddress {\nprefix: c\ndistribution: closest\n}\n"))
	check("after a reload of something else", map[string]forward.Distribution{"a": forward.Closest, "b": forward.Balanced, "c": forward.Closest})
	if a, ok := r.entity(3); !ok || a.Distribution != config.Closest {
		t.Errorf("c is %v", a)
	}
}

// Requests find management whatever is said of addresses.
func TestAddresses_Management(t *testing.T) {
	r := newTreatments(load(t, "router {\ndefaultDistribution: unavailable\n}\naddress {\npattern: \"#\"\ndistribution: multicast\n}\n"))
	for _, text := range []string{"$management", "_local/$management", "_topo/0/R/$management"} {
		if d := r.of(mobile(text)).Distribution; d != forward.Closest {
			t.Errorf("%s is %v", text, d)
		}
	}
	if d := r.of(mobile("_topo/0/R/temp.x")).Distribution; d != forward.Balanced {
		t.Errorf("a dynamic source is %v", d)
	}
}
