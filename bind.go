package toolsource

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Bind places positional and named arguments into the map that a Callable takes. Surplus, duplicate,
// unknown and missing arguments are an ErrBadArguments that names them. A named argument that no ArgSpec
// has is accepted only where the tool's input schema is an open object, whose extra members it passes on.
// Values are placed as they are: coercion and validation are done by the source, inside its Callable.
func (s ToolSpec) Bind(positional []any, named map[string]any) (map[string]any, error) {
	if len(positional) > len(s.Args) {
		return nil, s.unbound("%s, got %d", s.takes(), len(positional))
	}
	bound := make(map[string]any, len(positional)+len(named))
	for i, v := range positional {
		bound[s.Args[i].Name] = v
	}
	var unknown []string
	for name, v := range named {
		if _, twice := bound[name]; twice {
			return nil, s.unbound("argument %q is given twice, by position and by name", name)
		}
		if !s.hasArg(name) {
			unknown = append(unknown, name)
		}
		bound[name] = v
	}
	if len(unknown) > 0 && !s.open() {
		return nil, s.unbound("unknown argument %s; it has %s", quoteAll(unknown), s.argNames())
	}
	var missing []string
	for _, a := range s.Args {
		if _, given := bound[a.Name]; a.Required && !given {
			missing = append(missing, a.Name)
		}
	}
	if len(missing) > 0 {
		return nil, s.unbound("missing argument %s", quoteAll(missing))
	}
	return bound, nil
}

func (s *ToolSpec) unbound(format string, a ...any) error {
	return &CallError{
		Tool: s.Name, Source: s.Origin.Source, Phase: "bind", Kind: KindBadArguments,
		Remedy: "its signature is " + oneLine(signature(s, s.Name)), Err: fmt.Errorf(format, a...),
	}
}

func (s *ToolSpec) takes() string {
	if len(s.Args) == 1 {
		return "takes at most 1 positional argument"
	}
	return fmt.Sprintf("takes at most %d positional arguments", len(s.Args))
}

func (s *ToolSpec) hasArg(name string) bool {
	for i := range s.Args {
		if s.Args[i].Name == name {
			return true
		}
	}
	return false
}

func (s *ToolSpec) argNames() string {
	if len(s.Args) == 0 {
		return "no arguments"
	}
	names := make([]string, len(s.Args))
	for i := range s.Args {
		names[i] = s.Args[i].Name
	}
	return strings.Join(names, ", ")
}

// open reports whether the input schema is an object that takes members it does not name: one that says
// so by additionalProperties or patternProperties, or one that names none and does not forbid them.
func (s *ToolSpec) open() bool {
	if len(s.InputSchema) == 0 {
		return false
	}
	var o struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Additional json.RawMessage            `json:"additionalProperties"`
		Pattern    map[string]json.RawMessage `json:"patternProperties"`
	}
	if json.Unmarshal(s.InputSchema, &o) != nil {
		return false
	}
	switch string(o.Additional) {
	case "", "null":
		return len(o.Properties) == 0 || len(o.Pattern) > 0
	case "false":
		return len(o.Pattern) > 0
	}
	return true
}
