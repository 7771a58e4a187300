package schema

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite REFERENCE.md")

// REFERENCE.md is made of the tables; this test keeps it so.
func TestReference(t *testing.T) {
	got := reference()
	if *update {
		if err := os.WriteFile("REFERENCE.md", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("REFERENCE.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Error("REFERENCE.md is not what the tables say; run go test ./router/control/schema -update")
	}
}

func reference() string {
	var b strings.Builder
	b.WriteString(`# Configuration reference

Sections of a configuration file and their attributes. Names are those of Qpid Dispatch 1.19; attributes marked **own** are
sluice's. A dash under "default" means that there is none. Bytes may have a suffix: k, M, G, T (powers of 1000) or Ki, Mi, Gi,
Ti (powers of 1024).

`)
	var own, rest strings.Builder
	own.WriteString("## sluice's own attributes\n\n| section | attribute | default | meaning |\n| --- | --- | --- | --- |\n")
	var notYet []string
	for _, e := range Entities() {
		if e.Kind != File {
			continue
		}
		if e.Support != Yes {
			if e.Support == Later {
				notYet = append(notYet, e.FileName())
			}
			continue
		}
		fmt.Fprintf(&rest, "\n## %s\n\n%s\n\n| attribute | type | default | meaning |\n| --- | --- | --- | --- |\n", e.FileName(), e.Doc)
		for _, a := range e.Attributes {
			if !a.Settable() {
				continue
			}
			row := fmt.Sprintf("%s | %s |", defaultCell(a), strings.ReplaceAll(docCell(a), "|", `\|`))
			if a.Own() {
				fmt.Fprintf(&own, "| %s | `%s` | %s\n", e.FileName(), a.Name, row)
			}
			fmt.Fprintf(&rest, "| `%s` | %s | %s\n", a.Name, typeCell(a), row)
		}
	}
	b.WriteString(own.String())
	b.WriteString(rest.String())
	fmt.Fprintf(&b, "\n## Recognised, but without effect yet\n\nThese sections are checked, and a warning says that they have no effect: %s.\n",
		strings.Join(notYet, ", "))
	return b.String()
}

func defaultCell(a *Attribute) string {
	switch {
	case a.Required:
		return "required"
	case a.Default == "":
		return "-"
	}
	return "`" + a.Default + "`"
}

func typeCell(a *Attribute) string {
	if a.Type == Enum {
		return strings.Join(a.Enum, ", ")
	}
	return string(a.Type)
}

func docCell(a *Attribute) string {
	doc := a.Doc
	switch a.Support {
	case Own:
		doc = "**own** " + doc
	case Later:
		doc = "*Not supported yet.* " + doc
	case Never:
		doc = "*No effect:* " + doc + "."
	case Mesh:
		doc += " Only in networks of routers."
	}
	if len(a.OldNames) > 0 {
		doc += " Older spelling: " + strings.Join(a.OldNames, ", ") + "."
	}
	return doc
}
