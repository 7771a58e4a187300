package table

import (
	"fmt"
	"testing"

	"sluice/router/address"
	"sluice/router/forward"
)

// filled is a table with n addresses in use.
func filled(n int) (*Table, []address.Address) {
	t := New(func(address.Address) forward.Treatment { return forward.Treatment{Priority: -1} })
	names := make([]address.Address, n)
	for i := range names {
		names[i] = address.Parse(fmt.Sprintf("orders/region-%d/%d", i%100, i), address.Identity{ID: "r"})
		t.Acquire(names[i])
	}
	return t, names
}

// A message of an anonymous terminus costs one lookup, without an allocation.
func TestFindDoesNotAllocate(t *testing.T) {
	table, names := filled(1000)
	i := 0
	if n := testing.AllocsPerRun(1000, func() {
		if table.Find(names[i%len(names)]) == nil {
			t.Fatal("an address in use was not found")
		}
		i++
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkTable is what links and messages of anonymous termini ask of a table.
func BenchmarkTable(b *testing.B) {
	for _, n := range []int{1, 1000, 100_000} {
		table, names := filled(n)
		size := fmt.Sprintf("addresses=%d", n)
		b.Run("find/"+size, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				table.Find(names[i])
				if i++; i == n {
					i = 0
				}
			}
		})
		b.Run("find-parallel/"+size, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(p *testing.PB) {
				for i := 0; p.Next(); i++ {
					table.Find(names[i%n])
				}
			})
		})
		b.Run("attach/"+size, func(b *testing.B) { // and detach, on an address that others use
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				table.Acquire(names[i])
				table.release(names[i])
				if i++; i == n {
					i = 0
				}
			}
		})
		b.Run("attach-new/"+size, func(b *testing.B) {
			b.ReportAllocs()
			name := address.Parse("nobody's", address.Identity{ID: "r"})
			for b.Loop() {
				table.Acquire(name)
				table.release(name)
			}
		})
	}
}
