package transport

import (
	"testing"

	"pgregory.net/rapid"
)

// TestDenseIsAMap compares dense with the map that it stands for.
func TestDenseIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d dense[int]
		twin := make(map[uint32]*int)
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			n := rapid.OneOf(rapid.Uint32Range(0, 300), rapid.Uint32()).Draw(t, "number")
			if rapid.Bool().Draw(t, "remove") {
				d.remove(n)
				delete(twin, n)
			} else {
				v := new(int)
				d.set(n, v)
				twin[n] = v
			}
			for k, v := range twin {
				if d.get(k) != v {
					t.Fatalf("get(%d) is not what was set", k)
				}
			}
			if d.get(n) != twin[n] {
				t.Fatalf("get(%d) after the step", n)
			}
		}
		if len(d.small) > 300+denseStep*300 {
			t.Fatalf("%d slots for few numbers", len(d.small))
		}
	})
}
