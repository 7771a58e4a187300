package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// parseYAML parses the .yaml syntax: a map from section names to attributes or
// to lists of attributes, or the lists of the .json syntax.
func parseYAML(src *source, r *reporter) (sections []section) {
	defer func() {
		// The YAML parser is not ours; what is odd enough to confuse it must
		// not end the process without a word about the file.
		if cause := recover(); cause != nil {
			sections = nil
			r.mistake(Position{File: src.file}, "valid YAML", "", "the file confuses the YAML parser: %v", cause)
		}
	}()
	file, err := parser.ParseBytes([]byte(src.text), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		pos, text := Position{File: src.file}, err.Error()
		var syntax yaml.Error
		if errors.As(err, &syntax) {
			text = syntax.GetMessage()
			if t := syntax.GetToken(); t != nil {
				pos = tokenPosition(src, t)
			}
		}
		r.mistake(pos, yamlHint(text), "", "%s", text)
		return nil
	}
	for _, doc := range file.Docs {
		y := yamlReader{src: src, report: r, anchors: map[string]ast.Node{}}
		if v, ok := y.value(doc.Body, 0); ok {
			sections = append(sections, sectionsOf(v, r)...)
		}
	}
	return sections
}

func tokenPosition(src *source, t *token.Token) Position {
	if t == nil || t.Position == nil {
		return Position{File: src.file}
	}
	return Position{File: src.file, Line: t.Position.Line, Column: t.Position.Column}
}

// maxYAMLNodes limits what aliases may expand to.
const maxYAMLNodes = 100_000

// yamlReader turns the nodes of one document into values.
type yamlReader struct {
	src     *source
	report  *reporter
	anchors map[string]ast.Node
	nodes   int
}

func (y *yamlReader) fail(n ast.Node, format string, args ...any) (value, bool) {
	y.report.mistake(tokenPosition(y.src, n.GetToken()), "maps, lists and plain values", "", "%s", fmt.Sprintf(format, args...))
	return value{}, false
}

func (y *yamlReader) value(n ast.Node, depth int) (value, bool) {
	if n == nil {
		return value{pos: Position{File: y.src.file}}, true
	}
	y.nodes++
	if depth > maxDepth || y.nodes > maxYAMLNodes {
		return y.fail(n, "values are nested too deeply, or aliases expand to too much")
	}
	v := value{pos: tokenPosition(y.src, n.GetToken())}
	switch n := n.(type) {
	case *ast.NullNode:
	case *ast.StringNode:
		v.kind, v.text = textValue, n.Value
	case *ast.LiteralNode:
		v.kind, v.text = textValue, strings.TrimSuffix(n.Value.Value, "\n")
	case *ast.BoolNode:
		v.kind, v.text = booleanValue, "false"
		if n.Value {
			v.text = "true"
		}
	case *ast.IntegerNode:
		v.kind, v.text = numberValue, n.Token.Value
	case *ast.FloatNode:
		v.kind, v.text = numberValue, n.Token.Value
	case *ast.TagNode:
		return y.value(n.Value, depth+1)
	case *ast.AnchorNode:
		y.anchors[n.Name.String()] = n.Value
		return y.value(n.Value, depth+1)
	case *ast.AliasNode:
		to, ok := y.anchors[n.Value.String()]
		if !ok {
			return y.fail(n, "alias *%s names no anchor before it", n.Value.String())
		}
		return y.value(to, depth+1)
	case *ast.MappingNode:
		return y.mapping(v, n.Values, depth)
	case *ast.MappingValueNode:
		return y.mapping(v, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		v.kind = listValue
		for _, item := range n.Values {
			i, ok := y.value(item, depth+1)
			if !ok {
				return v, false
			}
			v.items = append(v.items, i)
		}
	default:
		return y.fail(n, "a YAML %s is not understood here", strings.ToLower(n.Type().String()))
	}
	return v, true
}

func (y *yamlReader) mapping(v value, entries []*ast.MappingValueNode, depth int) (value, bool) {
	v.kind = mapValue
	if len(entries) > 0 {
		v.pos = tokenPosition(y.src, entries[0].Key.GetToken())
	}
	for _, e := range entries {
		if _, merge := e.Key.(*ast.MergeKeyNode); merge {
			merged, ok := y.value(e.Value, depth+1)
			if !ok {
				return v, false
			}
			if merged.kind != mapValue {
				return y.fail(e.Key, "<< takes a map")
			}
			v.attrs = merge2(merged.attrs, v.attrs)
			continue
		}
		key, ok := y.value(e.Key, depth+1)
		if !ok {
			return v, false
		}
		if key.kind == listValue || key.kind == mapValue {
			return y.fail(e.Key, "a name must be text")
		}
		a := attr{name: key.text, pos: key.pos}
		if a.value, ok = y.value(e.Value, depth+1); !ok {
			return v, false
		}
		v.attrs = append(v.attrs, a)
	}
	return v, true
}

// merge2 returns what "<<" merges in, without what the map itself says,
// followed by the latter.
func merge2(merged, own []attr) []attr {
	var out []attr
	for _, m := range merged {
		given := false
		for _, a := range own {
			given = given || a.name == m.name
		}
		if !given {
			out = append(out, m)
		}
	}
	return append(out, own...)
}
