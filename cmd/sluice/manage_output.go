package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"sluice/cmd/internal/management"
)

// jsonOutput prints JSON.
type jsonOutput struct {
	w      io.Writer
	indent int // -1: all on one line
}

// encode returns a value as JSON; all lines but the first begin with prefix.
func (o *jsonOutput) encode(v any, prefix string) ([]byte, error) {
	switch v.(type) {
	case management.Object:
	default:
		v = management.Plain(v)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if o.indent >= 0 {
		e.SetIndent(prefix, o.space())
	}
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// space is one step of indentation.
func (o *jsonOutput) space() string { return strings.Repeat(" ", min(max(o.indent, 0), 16)) }

// value prints one value.
func (o *jsonOutput) value(v any) error {
	b, err := o.encode(v, "")
	if err == nil {
		_, err = o.w.Write(append(b, '\n'))
	}
	return err
}

// result prints what an operation has returned: text as it is, and nothing if it
// is empty.
func (o *jsonOutput) result(v any) error {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		_, err := io.WriteString(o.w, v+"\n")
		return err
	case map[any]any:
		if len(v) == 0 {
			return nil
		}
	}
	return o.value(v)
}

// list prints a list whose elements come one by one.
func (o *jsonOutput) list() *listOutput { return &listOutput{jsonOutput: o} }

type listOutput struct {
	*jsonOutput
	n int
}

func (l *listOutput) add(v any) error {
	b, err := l.encode(v, l.space())
	if err != nil {
		return err
	}
	before := ",\n"
	switch {
	case l.n == 0 && l.indent >= 0:
		before = "[\n"
	case l.n == 0:
		before = "["
	case l.indent < 0:
		before = ","
	}
	l.n++
	_, err = io.WriteString(l.w, before+l.space()+string(b))
	return err
}

func (l *listOutput) end() error {
	end := "\n]\n"
	switch {
	case l.n == 0:
		end = "[]\n"
	case l.indent < 0:
		end = "]\n"
	}
	_, err := io.WriteString(l.w, end)
	return err
}

// abandon ends the line of a list that has no end.
func (l *listOutput) abandon() {
	if l.n > 0 {
		io.WriteString(l.w, "\n")
	}
}
