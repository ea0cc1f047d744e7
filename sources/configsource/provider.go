package configsource

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/tomldoc"
)

// A Provider makes the callables of the definitions that name it.
type Provider interface {
	// Keys are the keys of Definition.Config that it reads; others are reported as unknown.
	Keys() []string
	// Resolve makes the callable of a definition, without I/O. The callable gets arguments that fit the
	// spec: declared ones only, of their types, with defaults filled in. It has to be safe for concurrent
	// use. An error leaves the tool out; a *KeyError places it at a key.
	Resolve(def Definition) (toolsource.Callable, error)
}

// NewProvider makes a Provider of a function and the keys that it reads.
func NewProvider(resolve func(Definition) (toolsource.Callable, error), keys ...string) Provider {
	return provider{keys, resolve}
}

type provider struct {
	keys    []string
	resolve func(Definition) (toolsource.Callable, error)
}

func (p provider) Keys() []string                                      { return p.keys }
func (p provider) Resolve(def Definition) (toolsource.Callable, error) { return p.resolve(def) }

// goProvider gives functions that the host registered by name.
func goProvider(funcs map[string]toolsource.Callable) Provider {
	return NewProvider(func(def Definition) (toolsource.Callable, error) {
		s := settings{config: def.Config}
		key := "func"
		if def.Config["function"] != nil {
			if key = "function"; def.Config["func"] != nil {
				return nil, badKey("function", "remove one", "is given beside func, which means the same")
			}
		}
		name := s.str(key)
		switch f := funcs[name]; {
		case s.err != nil:
			return nil, s.err
		case name == "":
			return nil, badKey(key, known("functions", funcs), `provider "go" needs the name of a registered function`)
		case f == nil:
			return nil, badKey(key, nearest(name, "functions", funcs), `provider "go" has no function %q`, name)
		default:
			return f, nil
		}
	}, "func", "function")
}

// known lists names as a hint.
func known[V any](what string, m map[string]V) string {
	if len(m) == 0 {
		return "no " + what + " are registered"
	}
	return "known " + what + ": " + strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}

func nearest[V any](name, what string, m map[string]V) string {
	if near := tomldoc.Nearest(name, slices.Sorted(maps.Keys(m))); near != "" {
		return fmt.Sprintf("did you mean %s? %s", near, known(what, m))
	}
	return known(what, m)
}
