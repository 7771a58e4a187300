package forward

import (
	"testing"

	"sluice/amqp/frames"
	"sluice/links"
)

// watched is an address, and what links of many sides have been told of it.
type watched struct {
	a     *Address
	sides []*links.Side
	has   map[*links.Side]bool
	told  int
}

func newWatched(n int) *watched {
	w := &watched{a: NewAddress("M0q", Treatment{}, Hooks{}), has: make(map[*links.Side]bool)}
	for range n {
		side := new(links.Side)
		side.Reach = func(_ *links.Receiver, has bool) {
			w.told++
			w.has[side] = has
		}
		w.sides = append(w.sides, side)
		// Without a connection, to which news of the gate would be posted.
		w.a.feed(links.NewReceiver(&frames.Attach{}, links.Limits{Side: side}, w.a, links.Info{}), 1)
	}
	return w
}

// hop is a way to a destination on a side; nil for elsewhere.
func hop(side *links.Side) *links.Hop { return links.NewHop("", links.Limits{Side: side}) }

// Links of an edge connection are told whether a message has a destination that is
// not behind the same connection, and of nothing else.
func TestSides_Reach(t *testing.T) {
	const n = 1000
	w := newWatched(n)
	want := func(why string, has int, news int) {
		t.Helper()
		count := 0
		for _, side := range w.sides {
			if w.has[side] {
				count++
			}
		}
		if count != has || w.told != news {
			t.Errorf("%s: %d of %d reach a destination, want %d; %d news, want %d", why, count, n, has, w.told, news)
		}
		w.told = 0
	}
	want("each is told when it is attached", 0, n)
	own, other, elsewhere := hop(w.sides[0]), hop(w.sides[1]), hop(nil)
	w.a.SetFar(own, 1, nil, nil)
	want("all but the side itself", n-1, n-1)
	w.a.SetFar(other, 1, nil, nil)
	want("now that one, too", n, 1)
	w.a.SetFar(elsewhere, 1, nil, nil)
	want("another makes no difference to anybody", n, 0)
	w.a.DropFar(own)
	w.a.DropFar(other)
	want("one elsewhere is enough for all", n, 0)
	w.a.DropFar(elsewhere)
	want("the last has gone", 0, n)
	w.a.SetFar(elsewhere, 1, nil, nil)
	want("and one has come", n, n)
}

// The address tells of its first sender and of the end of the last, of those that
// are not its router's own.
func TestSides_Fed(t *testing.T) {
	var fed []bool
	a := NewAddress("M0q", Treatment{}, Hooks{Fed: func(_ *Address, has bool) { fed = append(fed, has) }})
	source := func(private bool) *links.Receiver {
		return links.NewReceiver(&frames.Attach{}, links.Limits{Private: private}, a, links.Info{})
	}
	one, two, own := source(false), source(false), source(true)
	a.AddSource(own)
	a.AddSource(one)
	a.AddSource(two)
	a.RemoveSource(one)
	a.RemoveSource(two)
	a.RemoveSource(two) // one that was refused was never there
	if len(fed) != 2 || !fed[0] || fed[1] {
		t.Errorf("told %v", fed)
	}
	if a.Fed() != 0 {
		t.Errorf("%d are left", a.Fed())
	}
}
