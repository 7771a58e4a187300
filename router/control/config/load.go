package config

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sluice/router/control/schema"
)

// Options say how files are loaded.
type Options struct {
	Hostname  string // makes the router id of the default configuration; empty: os.Hostname
	ID        string // the router id where the files give none, rather than a generated one
	Overrides Overrides
	Elsewhere bool // what runs in another process: files that it names are not looked at, and passwords not resolved
}

// maxFileSize is the longest configuration file, in bytes. Real ones have a few
// KiB; this is so that a device or a wrong file fails at once.
const maxFileSize = 4 << 20

//go:embed default.conf
var defaultConf string

// defaultFile stands for the embedded file in positions.
const defaultFile = "the default configuration"

// Load reads the files. If there is any mistake, the Config is nil, and all
// mistakes and warnings come as Problems, in the order of files and lines. If
// there is none, Problems is nil, and warnings are in the Config.
func Load(paths []string, opts Options) (*Config, Problems) {
	r := new(reporter)
	var sections []section
	for _, path := range paths {
		sections = append(sections, readFile(path, r)...)
	}
	return assemble(sections, opts, r)
}

// Default returns what runs without any configuration file: a standalone router
// named after the host.
func Default(hostname string) *Config {
	c, problems := LoadDefault(Options{Hostname: hostname})
	if len(problems) > 0 {
		panic("BUG: the default configuration: " + problems.Error())
	}
	return c
}

// LoadDefault is Load of the embedded default configuration.
func LoadDefault(opts Options) (*Config, Problems) {
	r := new(reporter)
	text := strings.ReplaceAll(defaultConf, "@HOSTNAME@", routerID(opts.Hostname))
	return assemble(parseConf(newSource(defaultFile, text), r), opts, r)
}

// LoadText is Load of one file whose text is given. The name of the file
// decides on the syntax.
func LoadText(file, text string, opts Options) (*Config, Problems) {
	r := new(reporter)
	return assemble(parseText(file, text, r), opts, r)
}

// routerID makes a valid router id of a host name.
func routerID(hostname string) string {
	if hostname == "" {
		hostname, _ = os.Hostname()
	}
	id := strings.Map(func(c rune) rune {
		if c == '"' || c == '\\' || c == '#' || c == '{' || !validIDRune(c) {
			return -1
		}
		return c
	}, hostname)
	for len(id) > maxIDLength {
		id = id[:maxIDLength]
	}
	if id = strings.ToValidUTF8(id, ""); id == "" {
		return "sluice"
	}
	return id
}

func readFile(path string, r *reporter) []section {
	whole := Position{File: path}
	f, err := os.Open(path)
	if err != nil {
		r.mistake(whole, fileExpected(path), "", "configuration file could not be opened: %s", reason(err))
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	switch {
	case err != nil:
		r.mistake(whole, fileExpected(path), "", "configuration file could not be read: %s", reason(err))
		return nil
	case len(data) == 0:
		r.mistake(whole, "sections, such as router { }; without any file there is a default", "", "configuration file was empty")
		return nil
	case len(data) > maxFileSize:
		r.mistake(whole, "a configuration", "", "configuration file is longer than %s", schema.FormatBytes(maxFileSize))
		return nil
	}
	return parseText(path, string(data), r)
}

// reason is what the system says about a file, without the name of the file,
// which the position has already.
func reason(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

func parseText(file, text string, r *reporter) []section {
	text = strings.TrimPrefix(text, "\ufeff") // byte order mark of some editors
	src := newSource(file, text)
	named := confSyntax
	switch ext := strings.ToLower(filepath.Ext(file)); ext {
	case ".json", ".yaml", ".conf":
		named = syntax(ext)
	case ".yml":
		named = yamlSyntax
	default:
		r.warn(Position{File: file}, "the name ends in none of .conf, .yaml, .yml and .json: the file is read as .conf")
	}
	switch syntaxOf(src, named, r) {
	case jsonSyntax:
		return parseJSON(src, r)
	case yamlSyntax:
		return parseYAML(src, r)
	}
	return parseConf(src, r)
}

// assemble checks the sections one by one and together.
func assemble(sections []section, opts Options, r *reporter) (*Config, Problems) {
	b := &builder{reporter: r, config: &Config{}, names: map[string]Position{}, defaultID: opts.ID, elsewhere: opts.Elsewhere}
	b.files = fileOrder(sections)
	for i, s := range sections {
		b.next = Position{}
		if i+1 < len(sections) && sections[i+1].pos.File == s.pos.File {
			b.next = sections[i+1].pos
		}
		if e := checkSection(s, r); e != nil {
			b.add(e)
		}
	}
	b.finish()
	b.override(opts.Overrides)
	b.checkTogether()
	if len(r.mistakes) > 0 {
		all := append(r.mistakes, r.warnings...)
		b.sort(all)
		return nil, all
	}
	b.sort(r.warnings)
	b.config.Warnings = r.warnings
	return b.config, nil
}

func fileOrder(sections []section) []string {
	var files []string
	for _, s := range sections {
		if !slices.Contains(files, s.pos.File) {
			files = append(files, s.pos.File)
		}
	}
	return files
}

// sort puts problems in the order of the files.
func (b *builder) sort(ps Problems) {
	slices.SortStableFunc(ps, func(x, y Problem) int {
		if x.Pos.File != y.Pos.File {
			return slices.Index(b.files, x.Pos.File) - slices.Index(b.files, y.Pos.File)
		}
		if x.Pos.Line != y.Pos.Line {
			return x.Pos.Line - y.Pos.Line
		}
		return x.Pos.Column - y.Pos.Column
	})
}

// refer describes another place for a message that already names this one.
func refer(from, to Position) string {
	if from.File == to.File {
		return fmt.Sprintf("line %d", to.Line)
	}
	return to.String()
}
