package specdoc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/tomldoc"
)

// CheckArgs brings the arguments of a call into what the spec declares: unknown and missing ones, wrong
// types and values outside an enum are ErrBadArguments that name the argument; defaults are filled in; a
// whole float becomes an integer where one is wanted, and an integer a float. A nil for an optional
// argument is the same as none. The caller's map is never changed.
func CheckArgs(spec toolsource.ToolSpec, args map[string]any) (map[string]any, error) {
	in, err := toolsource.Arguments(args)
	if err != nil {
		return nil, err
	}
	out := make(map[string]any, len(spec.Args))
	for _, a := range spec.Args {
		v, err := checkArg(a, in)
		if err != nil {
			return nil, err
		}
		if v != nil {
			out[a.Name] = v
		}
	}
	for name := range in {
		if !declares(spec, name) {
			return nil, badArg(name, "is unknown; %s", describeArgs(spec, name))
		}
	}
	return out, nil
}

// checkArg gives nil for an argument that is not there and need not be.
func checkArg(a toolsource.ArgSpec, in map[string]any) (any, error) {
	v, given := in[a.Name]
	switch {
	case v == nil && a.Default != nil:
		return decode(a.Default)
	case !given && a.Required, v == nil && a.Required && a.Type != "Any":
		return nil, badArg(a.Name, "is missing")
	case v == nil:
		return nil, nil
	}
	if raw, ok := v.(json.RawMessage); ok {
		d, err := decode(raw)
		if err != nil {
			return nil, badArg(a.Name, "is raw JSON that does not parse")
		}
		v = d
	}
	c, ok := convert(v, a.Type)
	if !ok {
		return nil, badArg(a.Name, "is %s, want %s", kindOf(v), a.Type)
	}
	if len(a.Enum) > 0 && !inEnum(a.Enum, c) {
		return nil, badArg(a.Name, "is none of %s", bytes.Join(rawList(a.Enum), []byte(", ")))
	}
	return c, nil
}

func badArg(name, format string, a ...any) error {
	return fmt.Errorf("%w: argument %q %s", toolsource.ErrBadArguments, name, fmt.Sprintf(format, a...))
}

func declares(spec toolsource.ToolSpec, name string) bool {
	for _, a := range spec.Args {
		if a.Name == name {
			return true
		}
	}
	return false
}

func describeArgs(spec toolsource.ToolSpec, wrong string) string {
	if len(spec.Args) == 0 {
		return "the tool takes no arguments"
	}
	names := make([]string, len(spec.Args))
	for i, a := range spec.Args {
		names[i] = a.Name
	}
	if near := tomldoc.Nearest(wrong, names); near != "" {
		return "did you mean " + near + "?"
	}
	return "the tool takes " + strings.Join(names, ", ")
}

func inEnum(enum []json.RawMessage, v any) bool {
	got := toolsource.Value(v).Text()
	for _, e := range enum {
		d, err := decode(e)
		if err == nil && toolsource.Value(d).Text() == got {
			return true
		}
	}
	return false
}

func rawList(enum []json.RawMessage) [][]byte {
	out := make([][]byte, len(enum))
	for i, e := range enum {
		out[i] = e
	}
	return out
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64, json.Number:
		return "an integer"
	case float64:
		return "a float"
	case []any:
		return "a list"
	case map[string]any:
		return "a dict"
	case toolsource.Blob:
		return "bytes"
	}
	return fmt.Sprintf("a %T", v)
}

// decode reads JSON with integers exact.
func decode(raw json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	m, err := toolsource.Arguments(map[string]any{"v": v})
	if err != nil {
		return nil, err
	}
	return m["v"], nil
}

// Decode is a JSON text as the values that Result.Value lists. Text after the value is an error.
func Decode(text []byte) (any, error) {
	if !json.Valid(text) {
		var probe any
		if err := json.Unmarshal(text, &probe); err != nil {
			return nil, err
		}
	}
	return decode(text)
}
