package address

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var me = Identity{ID: "QDR.A"}

func TestParse(t *testing.T) {
	edge := Identity{ID: "QDR.E", Edge: true}
	for _, test := range []struct {
		text string
		self Identity
		want string
	}{
		{"queue", me, "M0queue"},
		{"/queue", me, "M0queue"},
		{"amqp:/queue", me, "M0queue"},
		{"amqp://h:5672/queue", me, "M0queue"},
		{"amqps://h/queue/", me, "M0queue"},
		{"//h:5672/queue", me, "M0queue"},
		{"queue/", me, "M0queue"},
		{"queue.", me, "M0queue"},
		{"queue..", me, "M0queue."}, // one separator only
		{"any:/queue", me, "M0queue"},
		{"a.b.c", me, "M0a.b.c"},
		{"a:b", me, "M0a:b"},
		{"a:b:/c", me, "M0c"},
		{":/q", me, "M0:/q"}, // from the second character on
		{"amqp://host", me, "M0amqp://host"},
		{"//host", me, "M0//host"},
		{"/", me, "M0"},
		{"", me, "M0"},
		{"x:/", me, "M0x:"},
		{"$management", me, "M0$management"},
		{"_other/x", me, "M0_other/x"},
		{"_$temp.abc", me, "M0_$temp.abc"},
		{"amqp:/_local/qdhello", me, "Lqdhello"},
		{"_local/a/b", me, "La/b"},
		{"_local", me, "M0_local"},
		{"amqp:/_topo/0/QDR.A/qdrouter", me, "Lqdrouter"},
		{"_topo/all/QDR.A/x", me, "Lx"},
		{"amqp:/_topo/0/QDR.C/qdrouter", me, "RQDR.C"},
		{"_topo/all/QDR.C/qdrouter", me, "RQDR.C"},
		{"_topo/0/QDR.C", me, "RQDR.C"},
		{"_topo/0/QDR.A", me, "RQDR.A"}, // no address inside
		{"_topo/0/all/qdrouter.ma", me, "Tqdrouter.ma"},
		{"_topo/all/all/x", me, "Tx"},
		{"_topo/1/QDR.C/x", me, "A1"},
		{"amqp:/_topo/0/QDR.C/$management", me, "RQDR.C"},
		{"amqp:/_edge/QDR.E/temp.x", me, "HQDR.E"},
		{"_edge/QDR.A/temp.x", me, "Ltemp.x"},
		{"_edge/QDR.E/temp.x", edge, "Ltemp.x"},
		{"_edge/QDR.F/temp.x", edge, "L_edge"},
		{"_topo/0/QDR.C/x", edge, "L_edge"},
		{"_topo/1/QDR.C/x", edge, "L_edge"},
		{"_topo/0/QDR.E/x", edge, "Lx"},
		{"_topo/0/all/x", edge, "Tx"},
	} {
		a := Parse(test.text, test.self)
		if got := a.Key(); got != test.want {
			t.Errorf("Parse(%q): key %q, want %q", test.text, got, test.want)
		}
		if back, ok := ParseKey(a.Key()); !ok || back != a {
			t.Errorf("ParseKey(%q) = %+v, %v", a.Key(), back, ok)
		}
	}
}

func TestPhaseAndSpaceAreOfMobileAddresses(t *testing.T) {
	a := Parse("q", me)
	if got := a.WithSpace("v").WithPhase('1').Key(); got != "M1v/q" {
		t.Errorf("key %q", got)
	}
	l := Parse("_local/q", me)
	if got := l.WithSpace("v").WithPhase('1').Key(); got != "Lq" {
		t.Errorf("key %q", got)
	}
}

func TestBadKeys(t *testing.T) {
	for _, key := range []string{"", "M", "Mxq", "Q", "m0q"} {
		if a, ok := ParseKey(key); ok {
			t.Errorf("ParseKey(%q) = %+v", key, a)
		}
	}
}

func TestParseDoesNotAllocate(t *testing.T) {
	n := testing.AllocsPerRun(100, func() {
		Parse("amqp://host:5672/a.b.c", me)
		Parse("_topo/0/QDR.C/x", me)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// trimTwin removes scheme and host one character at a time, with a state for
// every sentence of the rule.
func trimTwin(text string) string {
	if strings.HasPrefix(text, "//") {
		for i := 2; i < len(text); i++ {
			if text[i] == '/' {
				return text[i+1:]
			}
		}
		return text
	}
	if strings.HasPrefix(text, "/") {
		if len(text) == 1 {
			return text
		}
		return text[1:]
	}
	for i := 1; i+1 < len(text); i++ {
		if text[i] != ':' || text[i+1] != '/' {
			continue
		}
		if i+2 == len(text) {
			return text
		}
		if text[i+2] != '/' {
			return text[i+2:]
		}
		for j := i + 3; j < len(text); j++ {
			if text[j] == '/' {
				return text[j+1:]
			}
		}
		return text
	}
	return text
}

func TestTrimIsLikeItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ab:/._]{0,12}`).Draw(t, "text")
		if got, want := trimSchemeAndHost(text), trimTwin(text); got != want {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"queue", "amqp://h:1/q", "//h/q", "_topo/0/QDR.A/x", "_topo/all/all/x", "_edge/E/x", "_local/x", ":/", "_topo/", "_edge/"} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, edge bool) {
		a := Parse(text, Identity{ID: "QDR.A", Edge: edge})
		if a.Class == 0 {
			t.Fatalf("%q has no class", text)
		}
		if !strings.Contains(text, a.Text) && a != Uplink {
			t.Fatalf("%q: text %q does not come from it", text, a.Text)
		}
		if back, ok := ParseKey(a.Key()); !ok || back != a {
			t.Fatalf("%q: key %q reads back as %+v", text, a.Key(), back)
		}
		if edge && (a.Class == Router || a.Class == Area || a.Class == Edge) {
			t.Fatalf("%q: class %v in edge mode", text, a.Class)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, text := range []string{"orders.eu.42", "amqp://host:5672/orders", "_topo/0/QDR.C/temp.x"} {
		b.Run("text="+strings.ReplaceAll(text, "/", "|"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Parse(text, me)
			}
		})
	}
}
