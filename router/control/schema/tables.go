package schema

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
)

var (
	//go:embed entities.tsv
	entitiesTSV string
	//go:embed attributes.tsv
	attributesTSV string

	tables = parseTables(entitiesTSV, attributesTSV)
)

type parsedTables struct {
	entities []*Entity
	byName   map[string]*Entity
}

// parseTables reads the two tables. They are part of the program, so that a
// mistake in them is a bug and panics.
func parseTables(entities, attributes string) parsedTables {
	t := parsedTables{byName: map[string]*Entity{}}
	for _, r := range rows(entities) {
		e := &Entity{
			Name:        r["entity"],
			Extends:     r["extends"],
			Kind:        Kind(r["kind"]),
			Support:     Support(r["support"]),
			Singleton:   yes(r["singleton"]),
			Referential: yes(r["referential"]),
			Deprecated:  yes(r["deprecated"]),
			Operations:  list(r["operations"]),
			Doc:         r["doc"],
			byName:      map[string]*Attribute{},
		}
		t.entities = append(t.entities, e)
		t.byName[e.Name] = e
	}
	for _, r := range rows(attributes) {
		e := t.byName[r["entity"]]
		if e == nil {
			panic(fmt.Sprintf("BUG: attributes.tsv: no entity %q", r["entity"]))
		}
		a := attribute(r)
		e.Attributes = append(e.Attributes, a)
		for _, name := range append([]string{a.Name}, a.OldNames...) {
			if a.Type == CoreOnly && e.byName[name] != nil {
				continue // the core agent's copy of an older spelling
			}
			if e.byName[name] != nil {
				panic(fmt.Sprintf("BUG: attributes.tsv: %s.%s twice", e.Name, name))
			}
			e.byName[name] = a
		}
	}
	return t
}

func attribute(r map[string]string) *Attribute {
	a := &Attribute{
		Entity:     r["entity"],
		Name:       r["attribute"],
		Type:       Type(r["type"]),
		Default:    r["default"],
		HasDefault: r["default"] != "",
		Required:   yes(r["required"]),
		Unique:     yes(r["unique"]),
		Create:     yes(r["create"]),
		Update:     yes(r["update"]),
		Enum:       list(r["enum"]),
		OldNames:   list(r["deprecated_names"]),
		Deprecated: yes(r["deprecated"]),
		Hidden:     yes(r["hidden"]),
		Graph:      yes(r["graph"]),
		DefinedIn:  r["defined_in"],
		CoreColumn: -1,
		CoreType:   r["core_wire_type"],
		Support:    Support(r["support"]),
		Min:        math.MinInt64,
		Max:        math.MaxInt64,
		Doc:        r["doc"],
	}
	if a.Default == `""` { // how the table writes an empty default
		a.Default = ""
	}
	if n, err := strconv.Atoi(r["core_column"]); err == nil {
		a.CoreColumn = n
	}
	if low, high, ok := strings.Cut(r["range"], ":"); ok {
		if low != "" {
			a.Min = mustBytes(low)
		}
		if high != "" {
			a.Max = mustBytes(high)
		}
	}
	if a.Type == Enum && len(a.Enum) == 0 || a.Type != Enum && len(a.Enum) > 0 {
		panic(fmt.Sprintf("BUG: attributes.tsv: %s.%s: type and enum disagree", a.Entity, a.Name))
	}
	return a
}

// rows splits a table into rows by column name.
func rows(table string) []map[string]string {
	lines := strings.Split(strings.TrimSuffix(table, "\n"), "\n")
	columns := strings.Split(lines[0], "\t")
	out := make([]map[string]string, 0, len(lines)-1)
	for _, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		if len(cells) != len(columns) {
			panic(fmt.Sprintf("BUG: schema table: %d cells instead of %d in %q", len(cells), len(columns), line))
		}
		row := make(map[string]string, len(columns))
		for i, c := range columns {
			row[c] = cells[i]
		}
		out = append(out, row)
	}
	return out
}

func yes(cell string) bool { return cell == "y" }

func list(cell string) []string {
	if cell == "" {
		return nil
	}
	return strings.Split(cell, ",")
}

func mustBytes(text string) int64 {
	n, err := ParseBytes(text)
	if err != nil {
		panic("BUG: schema table: " + err.Error())
	}
	return n
}
