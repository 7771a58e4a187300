package mesh

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
)

// anyMessage composes a control message from Go values, in forms that this package would not write.
func anyMessage(t testing.TB, opcode any, body any) []byte {
	t.Helper()
	m := messaging.Message{
		MessageAnnotations:    encoding.Map{{Key: amqp.Symbol("x-opt-qd.trace"), Value: []any{"0/X"}}},
		Properties:            &messaging.Properties{To: "amqp:/_topo/0/A/qdrouter"},
		ApplicationProperties: encoding.Map{{Key: amqp.Symbol("opcode"), Value: opcode}},
		Body:                  body,
	}
	b, err := m.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func symbol(s string) amqp.Symbol { return amqp.Symbol(s) }

// "Receivers compare keys by their bytes, so strings and symbols are interchangeable, and accept every integer type";
// unknown keys are ignored (5.1).
func TestKeysAndNumbersOfAnyKind(t *testing.T) {
	for _, n := range []any{uint8(7), uint16(7), uint32(7), uint64(7), int8(7), int16(7), int32(7), int64(7)} {
		m, err := Decode(anyMessage(t, symbol("RA"), encoding.Map{
			{Key: symbol("ls_seq"), Value: n}, {Key: "unknown", Value: []any{true}}, {Key: uint8(1), Value: nil},
			{Key: "mobile_seq", Value: n}, {Key: symbol("id"), Value: symbol("X")}, {Key: "pv", Value: n},
		}))
		if err != nil {
			t.Fatal(err)
		}
		var version *VersionError
		if !errors.As(m.Problem, &version) || version.ID != "X" || version.Version != 7 {
			t.Errorf("%T: pv 7 gives %v", n, m.Problem)
		}
		m, err = Decode(anyMessage(t, symbol("RA"), encoding.Map{
			{Key: symbol("ls_seq"), Value: n}, {Key: "unknown", Value: []any{true}}, {Key: uint8(1), Value: nil},
			{Key: "mobile_seq", Value: n}, {Key: symbol("id"), Value: symbol("X")},
		}))
		if want := (&RA{ID: "X", LSSeq: 7, MobileSeq: 7}); err != nil || m.Problem != nil || !reflect.DeepEqual(m.Body, want) {
			t.Errorf("%T: %+v, %v, %v", n, m.Body, m.Problem, err)
		}
	}
}

func TestContentThatIsNotUnderstood(t *testing.T) {
	const id = "X"
	for _, c := range []struct {
		name   string
		opcode any
		body   any
		want   string
	}{
		{"opcode", "XYZ", encoding.Map{}, "unknown opcode"},
		{"opcode type", uint8(1), encoding.Map{}, "string expected"},
		{"no map", "RA", "text", "map expected"},
		{"no id", "LSR", encoding.Map{{Key: "pv", Value: int8(1)}}, "LSR without id"},
		{"empty id", "LSR", encoding.Map{{Key: "id", Value: ""}}, "LSR without id"},
		{"id with slash", "LSR", encoding.Map{{Key: "id", Value: "a/b"}}, "slash"},
		{"no seen", "HELLO", encoding.Map{{Key: "id", Value: id}}, "HELLO without seen"},
		{"seen of numbers", "HELLO", encoding.Map{{Key: "id", Value: id}, {Key: "seen", Value: []any{int8(1)}}}, "string expected"},
		{"no ls_seq", "RA", encoding.Map{{Key: "id", Value: id}, {Key: "mobile_seq", Value: int8(1)}}, "RA without ls_seq"},
		{"text for number", "RA", encoding.Map{{Key: "id", Value: id}, {Key: "ls_seq", Value: "1"}}, "long expected"},
		{"boolean for number", "RA", encoding.Map{{Key: "id", Value: id}, {Key: "ls_seq", Value: true}}, "long expected"},
		{"negative number", "RA", encoding.Map{{Key: "id", Value: id}, {Key: "ls_seq", Value: int8(-1)}}, "out of range"},
		{"number too large", "RA", encoding.Map{{Key: "id", Value: id}, {Key: "ls_seq", Value: uint64(1) << 63}}, "out of range"},
		{"no ls", "LSU", encoding.Map{{Key: "id", Value: id}, {Key: "ls_seq", Value: int8(1)}}, "LSU without ls"},
		{"no have_seq", "MAR", encoding.Map{{Key: "id", Value: id}}, "MAR without have_seq"},
		{"MAU of both kinds", "MAU", encoding.Map{
			{Key: "id", Value: id}, {Key: "mobile_seq", Value: int8(1)}, {Key: "exist", Value: []any{}},
			{Key: "add", Value: []any{}}, {Key: "del", Value: []any{}},
		}, "either exist or both"},
		{"MAU of half a kind", "MAU", encoding.Map{
			{Key: "id", Value: id}, {Key: "mobile_seq", Value: int8(1)}, {Key: "add", Value: []any{}},
		}, "either exist or both"},
		{"MAU without number", "MAU", encoding.Map{{Key: "id", Value: id}, {Key: "exist", Value: []any{}}}, "without mobile_seq"},
		// The fork's mobile protocol: lists of lists, which version 1 would call malformed.
		{"version 2", "MAU", encoding.Map{
			{Key: "exist", Value: []any{[]any{"Mx", int8(3), int8(0)}}}, {Key: "pv", Value: int8(2)}, {Key: "id", Value: id},
		}, "version 2"},
	} {
		m, err := Decode(anyMessage(t, c.opcode, c.body))
		if err != nil {
			t.Errorf("%s: cannot be routed: %v", c.name, err)
		} else if m.Body != nil || m.Problem == nil || !strings.Contains(m.Problem.Error(), c.want) {
			t.Errorf("%s: %+v, %v, want %q", c.name, m.Body, m.Problem, c.want)
		}
	}
}

// A hint belongs to a key by position; a list of another length says nothing.
func TestHintsOfAnotherLength(t *testing.T) {
	m, err := Decode(anyMessage(t, "MAU", encoding.Map{
		{Key: "id", Value: "X"}, {Key: "mobile_seq", Value: int8(1)}, {Key: "exist", Value: []any{"M0a", "M0b"}},
		{Key: "hints", Value: []any{int8(1)}},
	}))
	if err != nil || m.Problem != nil {
		t.Fatal(err, m.Problem)
	}
	if u := m.Body.(*MAU); u.Hints != nil || u.Hint(1) != TreatmentUnknown {
		t.Errorf("%+v", u)
	}
}

// What cannot be routed is an error; no prefix of a message makes Decode do more than return one.
func TestMessagesThatCannotBeRouted(t *testing.T) {
	whole := NewMessage("A", mobileToAll, &MAU{ID: "A", MobileSeq: 1, Add: []string{"M0x"}, Del: []string{}}).Append(nil)
	for n := range whole {
		m, err := Decode(whole[:n])
		if err == nil && m.Problem == nil {
			t.Errorf("%d of %d bytes are a message: %+v", n, len(whole), m)
		}
	}
	bad := messaging.Message{Properties: &messaging.Properties{}}
	for name, m := range map[string]messaging.Message{
		"no properties": {Body: "x"},
		"no address":    bad,
		"trace of numbers": {
			MessageAnnotations: encoding.Map{{Key: symbol("x-opt-qd.trace"), Value: []any{int8(1)}}},
			Properties:         &messaging.Properties{To: "x"},
		},
		"trace is no list": {
			MessageAnnotations: encoding.Map{{Key: symbol("x-opt-qd.trace"), Value: "0/A"}},
			Properties:         &messaging.Properties{To: "x"},
		},
		"ingress is a number": {
			MessageAnnotations: encoding.Map{{Key: symbol("x-opt-qd.ingress"), Value: int8(1)}},
			Properties:         &messaging.Properties{To: "x"},
		},
	} {
		b, err := m.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := Decode(b); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// A message that is passed on differs in its annotations alone, whatever it holds.
func TestPassedOn(t *testing.T) {
	b := anyMessage(t, "XYZ", encoding.Map{{Key: "what", Value: "ever"}})
	m, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	n, err := Decode(m.Passed("B").Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"0/X", "0/B"}; !reflect.DeepEqual(n.Trace, want) || n.Ingress != "0/X" || n.To != m.To {
		t.Errorf("%+v", n)
	}
	if len(m.Trace) != 1 {
		t.Errorf("the message itself has changed: %+v", m)
	}
	if !bytes.Equal(n.tail, m.tail) {
		t.Errorf("content %x became %x", m.tail, n.tail)
	}
}

// Numbers beyond 32 bits, ids and lists beyond 255 bytes, empty link states.
func TestRoundTrip(t *testing.T) {
	long := strings.Repeat("r", 300)
	for _, body := range []Body{
		&Hello{ID: long, Instance: 1 << 40, Seen: []string{}},
		&Hello{ID: "A", Seen: []string{long, "B"}},
		&RA{ID: "A", Instance: 1 << 62, LSSeq: 1 << 31, MobileSeq: 1<<31 - 1},
		&LSR{ID: "A"},
		&LSU{ID: "A", LSSeq: 1},
		&LSU{ID: "A", Instance: 3, LSSeq: 1, Peers: []Peer{{"B", 1}, {long, 1 << 30}}},
		&MAR{ID: "A", HaveSeq: 1 << 40},
		&MAU{ID: "A", MobileSeq: 1 << 40, Add: []string{}, Del: []string{"M0" + long}, Hints: []int{}},
		&MAU{ID: "A", MobileSeq: 2, Absolute: true, Exist: []string{"M0x", "Ely"}, Hints: []int{3, 4}},
	} {
		m, err := Decode(NewMessage("A", "amqp:/_topo/0/all/x", body).Append(nil))
		if err != nil || m.Problem != nil {
			t.Errorf("%+v: %v, %v", body, err, m.Problem)
		} else if !reflect.DeepEqual(m.Body, body) {
			t.Errorf("\n got %+v\nwant %+v", m.Body, body)
		}
	}
}

func TestDestination(t *testing.T) {
	for _, c := range []struct {
		address  string
		scope    scope
		id       string
		endpoint string
	}{
		{"amqp:/_local/qdhello", scopeLink, "", "qdhello"},
		{"amqp:/_topo/0/all/qdrouter", scopeAll, "", "qdrouter"},
		{"_topo/0/all/qdrouter.ma", scopeAll, "", "qdrouter.ma"},
		{"amqp:/_topo/all/all/qdrouter", scopeAll, "", "qdrouter"},
		{"amqp://host:5672/_topo/0/QDR.B/qdrouter", scopeRouter, "QDR.B", "qdrouter"},
		{"/_topo/all/QDR.B/$management", scopeRouter, "QDR.B", "$management"},
		{"//host/_topo/0/B/x/y/", scopeRouter, "B", "x/y"},
		{"amqp:/_topo/0/B", scopeRouter, "B", ""},
		{"amqp:/_topo/1/B/x", scopeNone, "", ""},
		{"_topo/0", scopeNone, "", ""},
		{"_topo/0//x", scopeNone, "", ""},
		{"queue", scopeNone, "", ""},
		{"", scopeNone, "", ""},
		{"//", scopeNone, "", ""},
		{"a://b", scopeNone, "", ""},
	} {
		if s, id, endpoint := destination(c.address); s != c.scope || id != c.id || endpoint != c.endpoint {
			t.Errorf("%q: %d, %q, %q", c.address, s, id, endpoint)
		}
	}
}
