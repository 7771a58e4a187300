package management

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"
)

func TestPlain(t *testing.T) {
	for want, v := range map[string]any{
		`{"1":"s","k":[1,"x"]}`:  map[any]any{int32(1): goamqp.Symbol("s"), "k": []any{uint8(1), "x"}},
		`"NaN"`:                  math.NaN(),
		`1.5`:                    float32(1.5),
		`"0aff"`:                 []byte{10, 255},
		`"1970-01-01T00:00:01Z"`: time.Unix(1, 0),
		`null`:                   nil,
		`18446744073709551615`:   uint64(math.MaxUint64),
		`"[1 2]"`:                [2]int{1, 2},
		`{"a":{"b":true}}`:       map[string]any{"a": map[string]any{"b": true}},
	} {
		got, err := json.Marshal(Plain(v))
		if err != nil || string(got) != want {
			t.Errorf("%v: %s, %v, want %s", v, got, err, want)
		}
	}
}

// Names are what peers make them; terminals shall not act on them.
func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain über 名": "plain über 名",
		"a\x1b[2Jb":    `a\x1b[2Jb`,
		"two\nlines":   `two\nlines`,
		"\u202etfel":   `\u202etfel`,
		"bad\xff":      "bad\uFFFD",
	} {
		if got := Printable(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestFullType(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "",
		"listener":                          "org.apache.qpid.dispatch.listener",
		"link":                              "org.apache.qpid.dispatch.router.link",
		"node":                              "org.apache.qpid.dispatch.router.node",
		"address":                           "org.apache.qpid.dispatch.router.config.address",
		"linkRoute":                         "org.apache.qpid.dispatch.router.config.linkRoute",
		"router.address":                    "org.apache.qpid.dispatch.router.address",
		"listner":                           "org.apache.qpid.dispatch.listner",
		"org.other.thing":                   "org.other.thing",
		"org.apache.qpid.dispatch.listener": "org.apache.qpid.dispatch.listener",
	} {
		if got := FullType(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestAttribute(t *testing.T) {
	listener := FullType("listener")
	for in, want := range map[string]any{
		"port=5672":                    "5672",
		"maxFrameSize=4096":            int32(4096),
		"http=yes":                     true,
		"authenticatePeer=false":       false,
		"name=a=b":                     "a=b",
		"host=":                        "",
		"host":                         nil,
		"nothing=7":                    "7",
		`openProperties={"a":[1,2.5]}`: map[string]any{"a": []any{int32(1), 2.5}},
	} {
		_, got, err := Attribute(listener, in)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, %v, want %#v", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"=x":               "expected NAME=VALUE",
		"cost=low":         "expected an integer",
		"http=perhaps":     "expected yes or no",
		"openProperties={": "expected JSON",
	} {
		if _, _, err := Attribute(listener, in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
}

func TestJSON(t *testing.T) {
	v, err := JSON(strings.NewReader(`{"a":[1,5000000000,18446744073709551615,1.5,"x",null,true]}`))
	want := map[string]any{"a": []any{int32(1), int64(5000000000), uint64(math.MaxUint64), 1.5, "x", nil, true}}
	if err != nil || !reflect.DeepEqual(v, want) {
		t.Errorf("%#v, %v", v, err)
	}
	for in, want := range map[string]string{
		``: "EOF", `{"a":}`: "at byte 6", `{} {}`: "more after its end",
	} {
		if _, err := JSON(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
}

// Attributes come in the order of the schema, others after them.
func TestEntityHasAnOrder(t *testing.T) {
	b, err := json.Marshal(Entity(map[string]any{
		"type": FullType("listener"), "zebra": 1, "name": "n", "port": "1", "host": "<h>", "ant": nil,
	}))
	if want := `{"host":"\u003ch\u003e","port":"1","name":"n","type":"org.apache.qpid.dispatch.listener","ant":null,"zebra":1}`; err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
}

func TestStatusError(t *testing.T) {
	for want, e := range map[string]StatusError{
		"404 Not Found":                        {404, "Not Found"},
		"403 Forbidden":                        {403, ""},
		"404 Not Found: No entity with name=x": {404, "No entity with name=x"},
		"299 odd":                              {299, "odd"},
		"400 Bad Request: Already exists":      {400, "Already exists"},
	} {
		if e.Error() != want {
			t.Errorf("%q, want %q", e.Error(), want)
		}
	}
}
