package config

import (
	"errors"
	"os"
	"path/filepath"

	"sluice/router/control/files"
	"sluice/router/control/logging"
	"sluice/router/control/schema"
)

func (b *builder) addLog(e *entity) {
	l := Log{Pos: e.pos}
	if g := e.get("enable"); g != nil {
		mask, err := logging.ParseEnable(g.text)
		var bad *logging.EnableError
		if errors.As(err, &bad) {
			b.mistake(g.value.pos, "levels separated by commas: none, default, trace, debug, info, notice, warning, error, critical; + means \"and above\"",
				schema.Nearest(trimPlus(bad.Word), logging.LevelNames()), "%s is no log level", quoted(bad.Word))
		}
		l.Enable = &mask
	}
	for name, to := range map[string]**bool{"includeTimestamp": &l.Timestamp, "includeSource": &l.Source} {
		if g := e.get(name); g != nil {
			*to = &g.yes
		}
	}
	l.Output = e.text("outputFile")
	switch l.Output {
	case "", "stderr", "stdout":
	case "syslog":
		b.warn(e.posOf("outputFile"), "outputFile syslog is not supported yet: the log goes to stderr")
		l.Output = "stderr"
	default:
		if b.elsewhere {
			break
		}
		// Opening the file would create it, which checking must not do.
		dir := filepath.Dir(l.Output)
		if info, err := os.Stat(dir); err != nil {
			b.mistake(e.posOf("outputFile"), "a file in a directory that there is, stderr or stdout", "", "outputFile: %s", fileReason(err))
		} else if !info.IsDir() {
			b.mistake(e.posOf("outputFile"), "a file in a directory that there is, stderr or stdout", "", "outputFile: %s is no directory", dir)
		} else if info, err := os.Stat(l.Output); err == nil && info.IsDir() {
			b.mistake(e.posOf("outputFile"), "the name of a file", "", "outputFile: %s is a directory", l.Output)
		} else if err := files.Appendable(l.Output); err != nil {
			b.mistake(e.posOf("outputFile"), "the name of a file", "", "outputFile: %s", fileReason(err))
		}
	}
	g := e.get("module")
	if g == nil {
		return // reported
	}
	var ok bool
	if l.Module, ok = logging.ModuleNamed(g.text); !ok {
		panic("BUG: the schema has a module that logging lacks: " + g.text)
	}
	for _, other := range b.config.Logs {
		if other.Module == l.Module {
			b.mistake(g.value.pos, "one log for each module", "", "log of module %s was already given on %s", g.text, refer(e.pos, other.Pos))
			return
		}
	}
	b.config.Logs = append(b.config.Logs, l)
}

func trimPlus(word string) string {
	for len(word) > 0 && word[len(word)-1] == '+' {
		word = word[:len(word)-1]
	}
	return word
}
