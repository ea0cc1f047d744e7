package specdoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/sources/toolschema"
)

// A Checker fits the arguments of a call to what a spec declares. It is safe for concurrent use.
type Checker struct {
	args     []toolsource.ArgSpec
	defaults map[string]any
	binder   *toolschema.Binder
}

// NewChecker makes the checker of a spec.
func NewChecker(spec toolsource.ToolSpec) *Checker {
	c := &Checker{args: spec.Args, defaults: map[string]any{}, binder: toolschema.NewBinder(toolschema.FromArgs(spec.Args))}
	for _, a := range spec.Args {
		if a.Default == nil {
			continue
		}
		if v, err := Decode(a.Default); err == nil {
			c.defaults[a.Name] = v
		}
	}
	return c
}

// Check gives the arguments as an implementation takes them, or an ErrBadArguments that names the wrong
// ones: unknown, missing, of a wrong type, outside their enum. Defaults are filled in, a nil for an
// optional argument counts as none, a whole float becomes an integer where one is wanted, and an integer a
// float. args itself is never changed.
func (c *Checker) Check(args map[string]any) (map[string]any, error) {
	in := make(map[string]any, len(args)+len(c.defaults))
	for k, v := range args {
		in[k] = v
	}
	for _, a := range c.args {
		if v, given := in[a.Name]; given && v == nil && !a.Required {
			delete(in, a.Name)
		}
		if _, given := in[a.Name]; !given && c.defaults[a.Name] != nil {
			in[a.Name] = c.defaults[a.Name]
		}
	}
	out, err := c.binder.Bind(in)
	if err != nil {
		return nil, err
	}
	for _, a := range c.args {
		switch v := out[a.Name].(type) {
		case int64:
			if a.Type == "float" {
				out[a.Name] = float64(v)
			}
		case json.RawMessage: // an implementation in Go takes values
			if out[a.Name], err = Decode(v); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// Decode reads one JSON text into the types that Result.Value lists, integers exact.
func Decode(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("there is no JSON")
		}
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more text follows the JSON")
	}
	m, err := toolsource.Arguments(map[string]any{"value": v})
	if err != nil {
		return nil, err
	}
	return m["value"], nil
}

// fits reports whether a value may stand for an argument of a type.
func fits(v any, typ string) bool {
	schema := toolschema.FromArgs([]toolsource.ArgSpec{{Name: "v", Type: typ}})
	_, err := toolschema.NewBinder(schema).Bind(map[string]any{"v": v})
	return err == nil
}
