package stat

import (
	"encoding/json"
	"io"
	"strconv"

	"sluice/amqp/encoding"
	"sluice/cmd/internal/management"
	"sluice/cmd/internal/table"
)

// A printer shows rows.
type printer interface {
	row(*item) error
	flush() (hidden []string, err error)
}

// tablePrinter shows rows as a table.
type tablePrinter struct{ t *table.Writer }

func newTablePrinter(w io.Writer, width int, columns []Column, plain bool) *tablePrinter {
	heads := make([]table.Column, len(columns))
	for i := range columns {
		heads[i] = columns[i].Column
	}
	t := table.New(w, width, heads)
	t.Plain = plain
	return &tablePrinter{t}
}

func (p *tablePrinter) row(i *item) error { return p.t.Row(i.cells) }

func (p *tablePrinter) flush() ([]string, error) {
	err := p.t.Flush()
	return p.t.Hidden(), err
}

// listPrinter shows one row as a list of names and values.
type listPrinter struct {
	t       *table.Writer
	columns []Column
}

func newListPrinter(w io.Writer, width int, columns []Column) *listPrinter {
	heads := []table.Column{{Title: "attribute", Cut: 12}, {Title: "value", Right: true, Cut: 12}}
	for i := range columns {
		if columns[i].value == nil {
			heads = append(heads, table.Column{Title: "per second", Right: true})
			break
		}
	}
	return &listPrinter{table.New(w, width, heads), columns}
}

func (p *listPrinter) row(i *item) error {
	for at := 0; at < len(p.columns); at++ {
		c := &p.columns[at]
		label := c.label
		if label == "" {
			label = c.Title
		}
		cells := []string{label, i.cells[at], ""}
		if at+1 < len(p.columns) && p.columns[at+1].value == nil {
			at++
			cells[2] = i.cells[at]
		}
		if err := p.t.Row(cells); err != nil {
			return err
		}
	}
	return nil
}

func (p *listPrinter) flush() ([]string, error) { return nil, p.t.Flush() }

// jsonPrinter shows each row as an object on a line of its own.
type jsonPrinter struct{ w io.Writer }

func (p jsonPrinter) row(i *item) error {
	_, err := p.w.Write(i.line)
	return err
}

func (p jsonPrinter) flush() ([]string, error) { return nil, nil }

// object returns a record as a line of JSON: the router, the time if there is
// one, the attributes that are not null, and the rates of counters.
func object(r *Record, at string, counters []*Column, rates []any) []byte {
	b := append([]byte(nil), '{')
	b = member(b, "router", r.Router)
	if at != "" {
		b = member(b, "time", at)
	}
	for i, name := range r.names {
		if r.row[i] != nil && r.at[name] == i {
			b = member(b, name, r.row[i])
		}
	}
	some := false
	for i, c := range counters {
		if rates == nil || rates[i] == nil {
			continue
		}
		if !some {
			b = append(b, `,"rates":{`...)
			some = true
		}
		name := c.Title
		if len(c.needs) == 1 {
			name = c.needs[0]
		}
		b = member(b, name, rates[i])
	}
	if some {
		b = append(b, '}')
	}
	return append(b, '}', '\n')
}

func member(b []byte, name string, v any) []byte {
	if last := b[len(b)-1]; last != '{' {
		b = append(b, ',')
	}
	b = append(b, encoded(name)...)
	b = append(b, ':')
	if n, ok := encoding.Integer(v); ok {
		return strconv.AppendInt(b, n, 10)
	}
	return append(b, encoded(management.Plain(v))...)
}

func encoded(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		b, _ = json.Marshal(err.Error())
	}
	return b
}
