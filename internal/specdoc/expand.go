package specdoc

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolsource/toolsource"
)

// Lookup finds a variable, as os.LookupEnv does.
type Lookup func(name string) (string, bool)

// UnsetError is a variable that has no value and no default.
type UnsetError struct{ Name string }

// Error names the variable.
func (e *UnsetError) Error() string {
	return fmt.Sprintf("variable %s is not set and has no default", e.Name)
}

// Expand replaces ${NAME} and ${NAME:-default} once; what a variable holds is not looked at again. The
// default also stands in for an empty variable. $${ is a literal ${, and any other $ is itself.
func Expand(s string, lookup Lookup) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		if !found {
			b.WriteString(s)
			return b.String(), nil
		}
		if literal, escaped := strings.CutSuffix(before, "$"); escaped {
			b.WriteString(literal + "${")
			s = rest
			continue
		}
		ref, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", errors.New("a ${ has no }")
		}
		v, err := variable(ref, lookup)
		if err != nil {
			return "", err
		}
		b.WriteString(before + v)
		s = after
	}
}

func variable(ref string, lookup Lookup) (string, error) {
	name, def, hasDefault := strings.Cut(ref, ":-")
	if name == "" {
		return "", errors.New("a ${} names no variable")
	}
	v, ok := lookup(name)
	switch {
	case hasDefault && v == "":
		return def, nil
	case !ok:
		return "", &UnsetError{Name: name}
	}
	return v, nil
}

// ExpandAll expands every value of a map. The error names the key, never the value.
func ExpandAll(m map[string]string, lookup Lookup) (map[string]toolsource.Secret, error) {
	if m == nil {
		return nil, nil
	}
	out := make(map[string]toolsource.Secret, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		v, err := Expand(m[k], lookup)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		out[k] = toolsource.Secret(v)
	}
	return out, nil
}
