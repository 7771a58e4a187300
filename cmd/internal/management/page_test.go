package management

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestAnswersThatAreWrong(t *testing.T) {
	for want, body := range map[string]any{
		"it is a <nil>":                      nil,
		"it is a []interface {}":             []any{},
		"attributeNames is a string":         map[string]any{"attributeNames": "x"},
		"results is a bool":                  map[string]any{"results": true},
		"an attribute's name is a int":       map[string]any{"attributeNames": []any{1}},
		"row 0 has 2 values for 1 attribute": map[string]any{"attributeNames": []any{"a"}, "results": []any{[]any{1, 2}}},
		"row 1 has 0 values for 1 attribute": map[string]any{"attributeNames": []any{"a"}, "results": []any{[]any{1}, nil}},
	} {
		if _, err := page(body); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", body, err, want)
		}
	}
	if p, err := page(map[string]any{}); err != nil || len(p.Rows) != 0 {
		t.Errorf("%v, %v", p, err)
	}
}

// FuzzPage: whatever an agent answers, a page is a table, and can be printed.
func FuzzPage(f *testing.F) {
	f.Add([]byte(`{"attributeNames":["name","identity"],"results":[["a","1"],[null,2]]}`))
	f.Add([]byte(`{"attributeNames":["a"],"results":[[{"x":[1.5,true]}]]}`))
	f.Add([]byte(`{"attributeNames":[],"results":[[],[]]}`))
	f.Add([]byte(`{"results":[null]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := JSON(bytes.NewReader(b))
		if err != nil {
			return
		}
		p, err := page(v)
		if err != nil {
			return
		}
		for _, row := range p.Rows {
			if len(row) != len(p.Attributes) {
				t.Fatalf("a row of %d values for %d attributes", len(row), len(p.Attributes))
			}
		}
		if _, err := json.Marshal(p.Objects()); err != nil {
			t.Fatal(err)
		}
	})
}
