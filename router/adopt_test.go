package router

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/router/control/config"
)

// What management has made can be written into the files afterwards: a reload
// takes it over, or makes it again if the file says something else of it. Until
// then it is known as made by management.
func TestReloadTakesOverWhatManagementHasMade(t *testing.T) {
	base := "listener {\nname: l\nhost: 127.0.0.1\nport: 0\n}\naddress {\nprefix: a\n}\n"
	extra := "listener {\nname: extra\nhost: 127.0.0.1\nport: PORT\n}\n"
	r := start(t, base)
	m := &manager{r: r}
	made := load(t, strings.ReplaceAll(extra, "PORT", "0")+"address {\nprefix: b\n}\n")
	if err := m.CreateListener(made.Listeners[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := m.CreateAddress(made.Addresses[0]); err != nil {
		t.Fatal(err)
	}
	for _, id := range m.ConfigAddresses() {
		if a, _ := m.ConfigAddress(id); a.Prefix == "a" {
			if err := m.DeleteAddress(id); err != nil {
				t.Fatal(err)
			}
		}
	}
	expect := func(want ...string) {
		t.Helper()
		if got := m.changes(); !slices.Equal(got, want) {
			t.Errorf("management has changed %q, want %q", got, want)
		}
	}
	expect("+ listener extra", "- address a/#", "+ address b/#")
	reload := func(text, want string) {
		t.Helper()
		applied, restart, err := r.Reload(load(t, text))
		if err != nil || restart != nil || strings.Join(applied, "; ") != want {
			t.Errorf("applied %q, restart %q, %v; want %q", applied, restart, err, want)
		}
	}
	reload(base, "")
	expect("+ listener extra", "- address a/#", "+ address b/#")
	before := r.Addrs()
	reload(base+strings.ReplaceAll(extra, "PORT", "0")+"address {\nprefix: b\n}\n", "addresses: 1 added")
	expect("- address a/#")
	if after := r.Addrs(); !slices.Equal(addrTexts(before), addrTexts(after)) {
		t.Errorf("listeners at %v, and then at %v", before, after)
	}
	// The same with something else in the file.
	again := load(t, strings.ReplaceAll(strings.ReplaceAll(extra, "PORT", "0"), "extra", "more"))
	if err := m.CreateListener(again.Listeners[0]); err != nil {
		t.Fatal(err)
	}
	reload(base+strings.ReplaceAll(extra, "PORT", "0")+"address {\nprefix: b\n}\nlistener {\nname: more\nhost: 127.0.0.1\nport: 0\nlinkCapacity: 3\n}\n",
		"listener more ends; listener more begins")
	var names []string
	for _, l := range m.Listeners() {
		names = append(names, (*config.Listener).Key(&l.Listener))
	}
	if !slices.Equal(names, []string{"l", "extra", "more"}) {
		t.Errorf("listeners %v", names)
	}
}

// What management has made instead of what files said, elsewhere, gives way once they
// say something else, or nothing any more.
func TestReloadReplacesWhatManagementHasMadeInstead(t *testing.T) {
	base := "listener {\nname: l\nhost: 127.0.0.1\nport: 0\n}\n"
	two := "listener {\nname: two\nhost: HOST\nport: 0\n}\n"
	r := start(t, base+strings.ReplaceAll(two, "HOST", "127.0.0.1"))
	m := &manager{r: r}
	remake := func() {
		t.Helper()
		for _, l := range m.Listeners() {
			if l.Name == "two" {
				if err := m.DeleteListener(l.Listener); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := m.CreateListener(load(t, strings.ReplaceAll(two, "HOST", "127.0.0.2")).Listeners[0]); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(when string, want ...string) {
		t.Helper()
		var got []string
		for _, l := range m.Listeners() {
			got = append(got, l.Name+" "+l.Host)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	reload := func(text string) {
		t.Helper()
		if _, _, err := r.Reload(load(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	remake()
	reload(base + strings.ReplaceAll(two, "HOST", "127.0.0.1"))
	expect("the same as before", "l 127.0.0.1", "two 127.0.0.2")
	reload(base + strings.ReplaceAll(two, "HOST", "127.0.0.3"))
	expect("something else", "l 127.0.0.1", "two 127.0.0.3")
	remake()
	reload(base)
	expect("nothing", "l 127.0.0.1")
}

func addrTexts[T interface{ String() string }](list []T) (texts []string) {
	for _, a := range list {
		texts = append(texts, a.String())
	}
	return texts
}

// Of thousands of entities each is looked at a few times, not once for each other.
func TestManyAreAdopted(t *testing.T) {
	const n = 5000
	var old, now, running []int
	for i := range n {
		old, now, running = append(old, i), append(now, n/2+i), append(running, n-1-i+n/4)
	}
	looked := 0
	key := func(i *int) string { looked++; return strconv.Itoa(*i) }
	got := adopted(old, now, running, key, func(string) bool { return true })
	slices.Sort(got)
	if want := n + n/4; len(got) != want || got[want-1] != want-1 {
		t.Errorf("%d are adopted, up to %d", len(got), got[len(got)-1])
	}
	if looked > 10*n {
		t.Errorf("%d looks at %d entities", looked, n)
	}
}
