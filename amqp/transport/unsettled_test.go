package transport

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sluice/amqp"
)

// entry is an unsettled delivery that knows its id.
type entry struct{ id amqp.DeliveryNumber }

func (*entry) Link() Link                    { return nil }
func (*entry) Disposed(*Disposition) bool    { return true }
func (*entry) Resolved(*Disposition) bool    { return true }
func (*entry) Lost()                         {}
func newEntry(id amqp.DeliveryNumber) *entry { return &entry{id} }

// A Table does what a map would do, whatever the ids: they begin anywhere, wrap,
// leave gaps, and a few stay behind while thousands pass.
func TestTableModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table Table
		twin := make(map[amqp.DeliveryNumber]*entry)
		next := amqp.DeliveryNumber(rapid.SampledFrom([]uint32{0, 1, 0x7FFFFFF8, 0xFFFFFFF0, 0xFFFFE000, 12345}).Draw(t, "start"))
		first := next
		keep := rapid.IntRange(0, 3).Draw(t, "keep") // ids divisible by this and 100 are left behind
		stays := func(id amqp.DeliveryNumber) bool { return keep > 0 && uint32(id)%uint32(keep*100) == 0 }
		var skipped []amqp.DeliveryNumber // ids that may come late
		put := func() {
			e := newEntry(next)
			table.Put(next, e)
			twin[next] = e
			next++
		}
		anyID := func() amqp.DeliveryNumber {
			span := uint32(next.Sub(first)) + 4
			return first - 2 + amqp.DeliveryNumber(rapid.Uint32Range(0, span).Draw(t, "id"))
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"put", "many", "gap", "late", "late", "get", "remove", "range", "pass", "wide"}).Draw(t, "op") {
			case "put":
				put()
			case "many":
				for range rapid.SampledFrom([]int{5, 20, 300, 9000}).Draw(t, "n") {
					put()
				}
			case "gap": // deliveries that were sent settled
				n := rapid.SampledFrom([]amqp.DeliveryNumber{1, 15, 16, 17, 300, 10_000}).Draw(t, "n")
				for i := amqp.DeliveryNumber(0); i < n; i += 1 + n/20 {
					skipped = append(skipped, next+i)
				}
				next += n
			case "late": // deliveries that waited in stage one while others passed
				if len(skipped) > 0 {
					i := rapid.IntRange(0, len(skipped)-1).Draw(t, "i")
					id := skipped[i]
					skipped = slices.Delete(skipped, i, i+1)
					twin[id] = newEntry(id)
					table.Put(id, twin[id])
				}
			case "get":
				id := anyID()
				if got, want := table.Get(id), twin[id]; (got == nil) != (want == nil) || want != nil && got != Unsettled(want) {
					t.Fatalf("id %d: %v, want %v", id, got, want)
				}
			case "remove":
				id := anyID()
				table.Remove(id)
				delete(twin, id)
			case "pass": // all that is there comes and goes, but for some
				for id := range twin {
					if !stays(id) {
						table.Remove(id)
						delete(twin, id)
					}
				}
			case "range", "wide":
				lo, hi := anyID(), anyID()
				var got []amqp.DeliveryNumber
				table.Range(lo, hi, func(id amqp.DeliveryNumber, u Unsettled) bool {
					if u != Unsettled(twin[id]) {
						t.Fatalf("id %d: %v", id, u)
					}
					got = append(got, id)
					return !stays(id)
				})
				var want []amqp.DeliveryNumber
				for id := range twin {
					if !id.Less(lo) && !hi.Less(id) {
						want = append(want, id)
					}
				}
				less := func(a, b amqp.DeliveryNumber) int { return int(a.Sub(b)) }
				slices.SortFunc(got, less)
				slices.SortFunc(want, less)
				if !slices.Equal(got, want) {
					t.Fatalf("range %d to %d: %v, want %v", lo, hi, got, want)
				}
				for _, id := range want {
					if !stays(id) {
						delete(twin, id)
					}
				}
			}
			if table.Len() != len(twin) {
				t.Fatalf("%d entries, want %d", table.Len(), len(twin))
			}
			oldest := table.Oldest()
			if len(twin) == 0 && oldest != nil {
				t.Fatalf("oldest %v of none", oldest)
			}
			for id := range twin {
				if id.Less(oldest.(*entry).id) {
					t.Fatalf("oldest %d, but there is %d", oldest.(*entry).id, id)
				}
			}
		}
		seen := 0
		table.All(func(id amqp.DeliveryNumber, u Unsettled) bool {
			if u != Unsettled(twin[id]) {
				t.Fatalf("id %d: %v", id, u)
			}
			seen++
			return true
		})
		if seen != len(twin) || table.Len() != 0 {
			t.Fatalf("%d of %d seen, %d left", seen, len(twin), table.Len())
		}
	})
}

// The entries of a range come in order.
func TestTableRangeIsInOrder(t *testing.T) {
	var table Table
	start := amqp.DeliveryNumber(0xFFFFFFF0)
	for i := range amqp.DeliveryNumber(40) {
		table.Put(start+i, newEntry(start+i))
	}
	want := start + 5
	table.Range(start+5, start+30, func(id amqp.DeliveryNumber, _ Unsettled) bool {
		if id != want {
			t.Fatalf("%d, want %d", id, want)
		}
		want++
		return true
	})
	if want != start+31 || table.Len() != 14 {
		t.Errorf("stopped at %d, %d left", want, table.Len())
	}
}

// One delivery that is forgotten costs one entry of a map: the ring does not
// grow with what passes.
func TestTableStragglerDoesNotGrowTheRing(t *testing.T) {
	var table Table
	table.Put(0, newEntry(0))
	for id := amqp.DeliveryNumber(1); id < 1_000_000; id++ {
		table.Put(id, newEntry(id))
		table.Remove(id)
	}
	if len(table.slots) > maxRing || len(table.old) > 1 || table.Len() != 1 {
		t.Errorf("%d slots, %d in the map, %d entries", len(table.slots), len(table.old), table.Len())
	}
	if table.Get(0) == nil {
		t.Error("it is lost")
	}
}

// BC-41: work is proportional to what is unsettled, whatever range is named.
func TestBC41_TableRangeCostsWhatIsUnsettled(t *testing.T) {
	for _, n := range []int{0, 1, 10} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var table Table
			for i := range n {
				table.Put(amqp.DeliveryNumber(i), newEntry(amqp.DeliveryNumber(i)))
			}
			calls := 0
			for range 100_000 { // 2^31 ids each
				table.Range(0x80000001, 0x7FFFFFFF+1, func(amqp.DeliveryNumber, Unsettled) bool { calls++; return false })
				table.Range(0, 0x7FFFFFFF, func(amqp.DeliveryNumber, Unsettled) bool { calls++; return false })
			}
			if calls != 100_000*n {
				t.Errorf("%d calls", calls)
			}
		})
	}
}
