package mesh

import (
	"bytes"
	"reflect"
	"testing"
)

// What was decoded can be encoded and then decodes to the same, and encodes to the same bytes again.
func FuzzDecode(f *testing.F) {
	for _, c := range captured {
		seen := map[Opcode]bool{}
		for _, b := range controlMessages(f, c.name) {
			if m, err := Decode(b); err == nil && m.Body != nil && !seen[m.Body.Opcode()] {
				seen[m.Body.Opcode()] = true
				f.Add(b)
			}
		}
	}
	f.Add(controlMessages(f, "skrouterd-pair.SA-to-SB.bin")[0])
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Decode(b)
		if err != nil {
			return
		}
		passed, err := Decode(m.Append(nil))
		if err != nil {
			t.Fatalf("passed on, it is unreadable: %v", err)
		}
		if passed.To != m.To || passed.Ingress != m.Ingress || len(passed.Trace) != len(m.Trace) || !reflect.DeepEqual(passed.Body, m.Body) {
			t.Fatalf("passed on, it changed:\n%+v\n%+v", m, passed)
		}
		if m.Body == nil {
			if m.Problem == nil {
				t.Fatal("neither understood nor a problem")
			}
			return
		}
		first := composed(m).Append(nil)
		again, err := Decode(first)
		if err != nil || again.Problem != nil {
			t.Fatalf("composed, it is unreadable: %v, %v", err, again.Problem)
		}
		if !reflect.DeepEqual(again.Body, m.Body) {
			t.Fatalf("\n%+v became\n%+v", m.Body, again.Body)
		}
		if second := composed(again).Append(nil); !bytes.Equal(first, second) {
			t.Fatalf("\n%x became\n%x", first, second)
		}
	})
}
