package router

import (
	"testing"

	"sluice/amqp"
	"sluice/amqp/encoding"
)

// Maps and lists of openProperties reach the peer as they are written.
func TestOpenPropertiesNested(t *testing.T) {
	r := &Router{version: "1"}
	c := &connection{extra: map[string]any{"map": map[string]any{"key": []any{int64(1), nil, true, map[string]any{}}}, "empty": map[string]any{}}}
	found := 0
	for _, e := range openProperties(r.openProperties(c)) {
		switch e.Key {
		case amqp.Symbol("map"):
			found++
			list, _ := e.Value.(encoding.Map)[0].Value.([]any)
			if len(list) != 4 || list[0] != int32(1) || list[2] != true {
				t.Errorf("got %v", e.Value)
			}
		case amqp.Symbol("empty"):
			found++
			if m, ok := e.Value.(encoding.Map); !ok || len(m) != 0 {
				t.Errorf("got %v", e.Value)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d of 2 properties have been sent", found)
	}
}
