package stat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/cmd/internal/management"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // the log shows the time of day
	os.Exit(m.Run())
}

// Every view, as both kinds of routers fill it.
func TestViews(t *testing.T) {
	for _, v := range append(slices.Clone(Views), Stuck) {
		name := v.Name
		if v == Stuck {
			name = "stuck"
		}
		got := "sluice\n" + shownBy(t, Options{View: v}, sluice())
		if v.typ != "" && dispatch().Tables[v.typ] != nil || v == memory {
			got += "\nQpid Dispatch\n" + shownBy(t, Options{View: v}, dispatch())
		}
		golden(t, "view-"+name, got)
	}
}

func TestWide(t *testing.T) {
	for _, v := range []*View{connections, links, addresses} {
		golden(t, "wide-"+v.Name, shownBy(t, Options{View: v, Wide: true, Width: 40}, sluice()))
	}
}

// A view is of use on any terminal.
func TestNarrow(t *testing.T) {
	for _, v := range []*View{general, connections, links, addresses, nodes, Stuck} {
		name := v.Name
		if v == Stuck {
			name = "stuck"
		}
		var got strings.Builder
		for _, width := range []int{120, 80} {
			fmt.Fprintf(&got, "%d characters\n%s\n", width, shownBy(t, Options{View: v, Width: width}, sluice()))
		}
		golden(t, "narrow-"+name, got.String())
		for line := range strings.Lines(got.String()) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 120 && !strings.HasPrefix(line, "note") {
				t.Errorf("%s: %d characters in %q", name, n, line)
			}
		}
	}
}

// What says most of several routers is left where there is little room.
func TestNarrow_SeveralRouters(t *testing.T) {
	got := shownBy(t, Options{View: general, Width: 80, Named: true}, sluice(), dispatch())
	head, _, _ := strings.Cut(got, "\n")
	for _, want := range []string{"router", "mode", "version", "uptime", "stuck"} {
		if !strings.Contains(head, want) {
			t.Errorf("no %s in %q", want, head)
		}
	}
}

// The log of a module or level is that, and not all lines with the word.
func TestLog_ModuleAndLevel(t *testing.T) {
	a := sluice()
	a.Log = append(a.Log, []any{"AGENT", "info", "the SERVER gave a warning", nil, nil, int32(1796045002)})
	for pattern, want := range map[string]string{"server": "Listening", "Warning": "two", "SERVER gave": "the SERVER", "POL": "two"} {
		got := shownBy(t, Options{View: logLines, Filter: pattern}, a)
		if n := len(ids(got)); n != 1 || !strings.Contains(got, want) {
			t.Errorf("%s: %d lines, want that of %s:\n%s", pattern, n, want, got)
		}
	}
}

// Streams to another router that wait for the same with messages of one address are
// one row, of that which has waited for longest.
func TestStuck_StreamsTogether(t *testing.T) {
	a := sluice()
	stream := func(id, address string, waited int) map[string]any {
		l := stages(link9, 2048, 0, 2<<20, 600<<10, "outcome", "B", uint32(waited))
		return like(l, "identity", id, "linkType", "inter-router", "owningAddr", nil, waitsForAddress, address)
	}
	a.Tables["router.link"] = rows(stream("31", "M0big", 12), stream("32", "M0big", 40), stream("33", "M0big", 20), stream("34", "M0other", 11))
	got := shownBy(t, Options{View: Stuck}, a)
	if strings.Join(ids(got), " ") != "32 34" {
		t.Errorf("rows of %q in\n%s", ids(got), got)
	}
	for _, want := range []string{"alike", "big", "other"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	line := strings.Fields(strings.Split(got, "\n")[2])
	if !slices.Contains(line, "2") {
		t.Errorf("%q does not say that there are two more", line)
	}
}

func TestJSON(t *testing.T) {
	golden(t, "json", shownBy(t, Options{View: links, JSON: true, Named: true}, sluice(), dispatch()))
	golden(t, "json-config", shownBy(t, Options{View: config, JSON: true}, sluice()))
	for line := range strings.Lines(shownBy(t, Options{View: config, JSON: true}, sluice())) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// ids are the first words of the rows of a table.
func ids(out string) (list []string) {
	for i, line := range strings.Split(strings.TrimSpace(out), "\n") {
		if i >= 2 && !strings.HasPrefix(line, "note") {
			list = append(list, strings.Fields(line)[0])
		}
	}
	return list
}

func TestSortFilterLimit(t *testing.T) {
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{View: links}, "9 10 21"},
		{Options{View: links, Reverse: true}, "21 9 10"},
		{Options{View: links, Sort: "id"}, "9 10 21"},
		{Options{View: links, Sort: "acc"}, "21 9 10"},
		{Options{View: links, Sort: "acc", Reverse: true}, "9 10 21"},
		{Options{View: links, Sort: "acc", Limit: 1}, "21"},
		{Options{View: links, Sort: "addr"}, "9 21 10"},
		{Options{View: links, Sort: "waits-for"}, "21 9 10"}, // nothing comes last
		{Options{View: links, Sort: "waits-for", Reverse: true}, "9 21 10"},
		{Options{View: links, Filter: "ORDERS"}, "9 10 21"}, // the consumer has both
		{Options{View: links, Filter: "orders"}, "9 10 21"},
		{Options{View: links, Filter: "temp.*"}, "10"},
		{Options{View: links, Filter: "*producer"}, "21"},
		{Options{View: links, Filter: "order"}, "9 10 21"},
		{Options{View: links, Filter: "order?"}, "9 21"}, // the whole name
		{Options{View: links, Filter: "l"}, "9 10 21"},   // the name of them all
		{Options{View: links, Limit: 2}, "9 21"},         // the first two there are
		{Options{View: connections, Sort: "in"}, "3 12 7"},
		{Options{View: connections, Filter: "alice"}, "7"},
	} {
		if got := strings.Join(ids(shownBy(t, test.o, sluice())), " "); got != test.want {
			t.Errorf("%+v: %q, want %q", test.o, got, test.want)
		}
	}
}

func TestColumnsThatAreNotThere(t *testing.T) {
	o := Options{View: links, Sort: "delivv"}
	if err := o.Check(); err == nil || err.Error() != `links has no column "delivv"; did you mean deliv?` {
		t.Errorf("%v", err)
	}
	// The view has it, this router does not.
	got := shownBy(t, Options{View: links, Sort: "waits-for"}, dispatch())
	if want := "error: cannot sort by \"waits-for\": the router does not have waitsFor\n"; got != want {
		t.Errorf("%s", got)
	}
}

func TestFilters(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"ord", "Orders", true}, {"ord*", "Orders", true}, {"*ders", "orders", true}, {"o?ders", "orders", true}, {"ord?", "orders", false},
		{"a/*/c", "a/b/c", true}, {"a/*", "a/b/c", true}, {"[x]*", "[x]y", true}, {"[x]", "x", false}, {`\*`, `\abc`, true}, {"é", "É", true},
	} {
		if got := newFilter(test.pattern).match(test.name); got != test.want {
			t.Errorf("%q of %q: %v", test.pattern, test.name, got)
		}
	}
}

// One that does not answer is named, and the rest shown.
func TestRoutersThatFail(t *testing.T) {
	down := sluice()
	down.Fail = func(*management.Request) error {
		return &management.NoAnswer{Name: "router B", Timeout: 5 * time.Second}
	}
	later := many(5000)
	later.Fail = func(r *management.Request) error {
		if r.Properties["offset"] != int32(0) {
			return errors.New("it was switched off")
		}
		return nil
	}
	got := shownBy(t, Options{View: general, Named: true}, sluice(), down)
	golden(t, "fails-general", got)
	got = shownBy(t, Options{View: links, Named: true, Sort: "deliv", Limit: 3}, sluice(), down, later)
	golden(t, "fails-links", got)
	if got := shownBy(t, Options{View: links}, down); got != "error: router B did not answer within 5s\n" {
		t.Errorf("the only one: %s", got)
	}
}

// firstWrite remembers how much had been asked for when the first row was
// printed, and keeps nothing.
type firstWrite struct {
	asked func() int
	n     int
	lines int
}

func (w *firstWrite) Write(p []byte) (int, error) {
	if w.n == 0 {
		w.n = w.asked()
	}
	w.lines += bytes.Count(p, []byte("\n"))
	return len(p), nil
}

// 50,000 rows are printed while they come; to sort them takes all, but in parts.
func TestManyRows(t *testing.T) {
	for _, test := range []struct {
		o          Options
		lines      int
		mostAtOnce int
	}{
		{Options{View: links, Width: 120}, 50_002, 4},
		{Options{View: links, JSON: true}, 50_000, 4},
		{Options{View: links, Sort: "deliv"}, 50_002, 60},
		{Options{View: links, Sort: "deliv", Limit: 10}, 12, 60},
		{Options{View: links, Limit: 1500}, 1502, 2},
		{Options{View: links, Filter: "queue.7"}, 5552, 30},
	} {
		a := many(50_000)
		w := &firstWrite{asked: func() (pages int) {
			for _, r := range a.Asked() {
				if r.Operation == "QUERY" {
					pages++
				}
			}
			return pages
		}}
		l := &Look{Options: test.o, Out: w}
		if err := l.Run(t.Context(), []Router{{"A", a}}); err != nil {
			t.Fatal(err)
		}
		if len(l.Failed) > 0 {
			t.Errorf("%+v: %v", test.o, l.Failed)
		}
		if w.lines != test.lines || w.n > test.mostAtOnce {
			t.Errorf("%+v: %d lines, the first after %d requests", test.o, w.lines, w.n)
		}
	}
}

// Rows that are to be sorted and are not wanted are not held.
func TestALimitIsWhatIsHeld(t *testing.T) {
	c := &collector{order: order{{&links.columns[0], true}}, asked: true, limit: 10}
	most := 0
	var out []string
	c.emit = func(i *item) error {
		out = append(out, i.keys[0].(string))
		return nil
	}
	for i := range 100_000 {
		if _, err := c.add(&item{keys: []any{fmt.Sprint(i * 7919 % 100_000)}}); err != nil {
			t.Fatal(err)
		}
		most = max(most, len(c.items))
	}
	if err := c.finish(); err != nil {
		t.Fatal(err)
	}
	if len(out) != 10 || out[0] != "99999" || out[9] != "99990" || most > 2*10+sortedAnyway {
		t.Errorf("%v, %d held", out, most)
	}
}

func TestNatural(t *testing.T) {
	list := []string{"b", "a10", "a9", "a09b", "", "a", "10", "9", "C2"}
	slices.SortFunc(list, natural)
	if got := strings.Join(list, " "); got != " 9 10 C2 a a9 a09b a10 b" {
		t.Errorf("%s", got)
	}
}

func TestKeys(t *testing.T) {
	for in, want := range map[string]key{
		"M0my.queue": {"mobile", "0", "my.queue"}, "Ltemp.abc": {"local", "", "temp.abc"}, "RB": {"router", "", "B"}, "HE": {"edge", "", "E"},
		"Corg": {"link-in", "", "org"}, "Fa/*": {"link-out", "", "a/*"}, "queue": {"", "", "queue"}, "": {}, "M": {"mobile", "", ""},
	} {
		if got := split(in); got != want {
			t.Errorf("%q: %+v", in, got)
		}
	}
}

// Peers can put anything into names.
func TestNamesAreHarmless(t *testing.T) {
	a := sluice()
	a.Tables["connection"] = rows(like(client7, "container", "evil\x1b[2J\nname"))
	for _, o := range []Options{{View: connections}, {View: connections, JSON: true}, {View: connections, Wide: true}} {
		if got := shownBy(t, o, a); strings.Contains(got, "\x1b") || strings.Count(got, "\n") > 3 {
			t.Errorf("%q", got)
		}
	}
}
