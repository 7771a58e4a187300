package shrink

import (
	"reflect"
	"testing"
)

// A map is made anew when it has become small, with all that is left in it, and
// not each time that something is deleted.
func TestMap(t *testing.T) {
	m, most, anew := map[int]int{}, 0, 0
	for i := range 10_000 {
		m[i] = -i
	}
	for i := range 9_990 {
		delete(m, i)
		before := reflect.ValueOf(m).Pointer()
		if m = Map(m, &most); reflect.ValueOf(m).Pointer() != before {
			anew++
		}
	}
	if anew < 2 || anew > 5 {
		t.Errorf("made anew %d times", anew)
	}
	for i := 9_990; i < 10_000; i++ {
		if m[i] != -i {
			t.Errorf("%d: %d", i, m[i])
		}
	}
	if len(m) != 10 {
		t.Errorf("%d entries", len(m))
	}
}
