package transport

import (
	"testing"
	"time"

	"sluice/amqp"
)

// A delivery that has waited in stage one is entered late: after later ones of
// other links, which may still be there, or have gone, or have moved the ring
// far on. It costs a map entry, and not a walk through all numbers.
func TestTable_TakesStragglers(t *testing.T) {
	for _, start := range []amqp.DeliveryNumber{0, 0xFFFFFF00, 0x7FFFFFF0} {
		for _, passed := range []amqp.DeliveryNumber{1, 10, 300, 9000, 100_000} {
			for _, settled := range []bool{false, true} {
				var table Table
				late := start + 3
				table.Put(start, newEntry(start))
				for id := late + 1; id != late+1+passed; id++ {
					table.Put(id, newEntry(id))
					if settled {
						table.Remove(id)
					}
				}
				began := time.Now()
				e := newEntry(late)
				table.Put(late, e)
				if d := time.Since(began); d > time.Second {
					t.Fatalf("%d behind: Put took %v", passed, d)
				}
				if got := table.Get(late); got != Unsettled(e) {
					t.Fatalf("%d behind, settled %v: got %v", passed, settled, got)
				}
				next := late + 1 + passed
				table.Put(next, newEntry(next))
				for _, id := range []amqp.DeliveryNumber{start, late, next} {
					if table.Get(id) == nil {
						t.Errorf("%d behind: %d is lost", passed, id)
					}
					table.Remove(id)
					if table.Get(id) != nil {
						t.Errorf("%d behind: %d stays", passed, id)
					}
				}
				want := int(passed)
				if settled {
					want = 0
				}
				if table.Len() != want {
					t.Errorf("%d behind: %d entries, want %d", passed, table.Len(), want)
				}
			}
		}
	}
}
