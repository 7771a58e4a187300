package stat

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"sluice/cmd/internal/management"
	"sluice/router/control/logging"
)

var logLines = &View{
	Name: "log", Also: []string{"logs"}, About: "the latest lines of the log; with --watch, what is added to it",
	names: []string{"module", "level", "text"},
	columns: []Column{
		of(moment, "time", "time"),
		of(text, "module", "module").rank(2),
		of(text, "level", "level").rank(1),
		of(text, "text", "text").cut(20),
		made(text, "source", func(r *Record) any {
			if r.text("file") == "" {
				return nil
			}
			return fmt.Sprintf("%s:%v", r.text("file"), r.get("line"))
		}, "file").onlyWide(),
	},
	order:  []string{"time"},
	latest: true,
	exact:  logAttribute,
	pages:  recentLog,
}

// logAttribute returns the attribute of which a pattern is a value: modules and levels
// are meant by their names, and not lines that have the word.
func logAttribute(pattern string) string {
	has := func(list []string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, pattern) })
	}
	switch {
	case has(logging.ModuleNames()):
		return "module"
	case has(logging.LevelNames()):
		return "level"
	}
	return ""
}

// logAttributes are what a line is made of, in the order of GET-LOG.
var logAttributes = []string{"module", "level", "text", "file", "line", "time"}

// recentLog asks for the latest lines.
func recentLog(ctx context.Context, c management.Caller, limit int) iter.Seq2[*management.Page, error] {
	return func(yield func(*management.Page, error) bool) {
		if limit == 0 {
			limit = maxLogLines
		}
		r, err := c.Call(ctx, &management.Request{Operation: "GET-LOG", Properties: map[string]any{"limit": int32(min(limit, maxLogLines))}})
		if err != nil {
			yield(nil, err)
			return
		}
		lines, _ := r.Body.([]any)
		p := &management.Page{Attributes: logAttributes}
		for _, l := range lines {
			if row, ok := l.([]any); ok && len(row) == len(logAttributes) {
				p.Rows = append(p.Rows, row)
			}
		}
		yield(p, nil)
	}
}
