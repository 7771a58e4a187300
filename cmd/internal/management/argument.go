package management

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"sluice/router/control/logging"
	"sluice/router/control/schema"
)

// Attribute reads NAME=VALUE: an attribute of an entity of a type. Integers,
// booleans and maps are read as such where the schema says so; a name without a
// value is null. What the schema does not know is text.
func Attribute(typ, argument string) (name string, value any, err error) {
	name, s, given := strings.Cut(argument, "=")
	switch {
	case name == "":
		return "", nil, fmt.Errorf("%q is no attribute; expected NAME=VALUE", argument)
	case !given:
		return name, nil, nil
	}
	var a *schema.Attribute
	if e := schema.ByName(typ); e != nil {
		a = e.Attribute(name)
	}
	if a == nil {
		return name, s, nil
	}
	// Routers take no level at all for none, which nobody means who forgets the value.
	if s == "" && name == "enable" && schema.ByName(typ).Name == "log" {
		return "", nil, fmt.Errorf("%s= has no value; expected levels (%s, with + for \"and above\"), none, or default", name, strings.Join(logging.LevelNames()[2:], ", "))
	}
	switch a.Type {
	case schema.Enum:
		if s == "" {
			return "", nil, fmt.Errorf("%s= has no value; expected one of %s", name, strings.Join(a.Enum, ", "))
		}
	case schema.Boolean:
		if yes, ok := schema.ParseBoolean(s); ok {
			return name, yes, nil
		}
		return "", nil, fmt.Errorf("%s=%s: expected yes or no", name, s)
	case schema.Integer:
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		if err != nil {
			return "", nil, fmt.Errorf("%s=%s: expected an integer", name, s)
		}
		return name, number(n), nil
	case schema.Map, schema.Properties, schema.List:
		v, err := JSON(strings.NewReader(s))
		if err != nil {
			return "", nil, fmt.Errorf("%s=%s: expected JSON: %w", name, s, err)
		}
		return name, v, nil
	}
	return name, s, nil
}

// number returns an integer in the type that every agent takes, if it fits.
func number(n int64) any {
	if int64(int32(n)) == n {
		return int32(n)
	}
	return n
}

// maxJSON is how large a document of JSON may be, in bytes: no request may be
// nearly as large.
const maxJSON = 64 << 20

// JSON reads a value of JSON that can be sent: integers are integers.
func JSON(r io.Reader) (any, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxJSON+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxJSON {
		return nil, fmt.Errorf("it is longer than %s", schema.FormatBytes(maxJSON))
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		var bad *json.SyntaxError
		if errors.As(err, &bad) {
			return nil, fmt.Errorf("%w at byte %d", err, bad.Offset)
		}
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is more after its end, at byte %d", d.InputOffset())
	}
	return numbers(v), nil
}

// numbers replaces the numbers of JSON by those of AMQP.
func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return number(n)
		}
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n
		}
		f, _ := v.Float64()
		if math.IsInf(f, 0) {
			return v.String()
		}
		return f
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = numbers(v[key])
		}
	}
	return v
}
