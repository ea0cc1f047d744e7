package configsource

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/specdoc"
	"github.com/toolsource/toolsource/internal/tomldoc"
)

// Definition is one declared tool: what it is, and what runs it.
type Definition struct {
	Spec     toolsource.ToolSpec // Origin.File and Line say where it is declared, if a file does
	Provider string              // "go", "exec", "file" or a name of Options.Providers; "": "exec" if it has a command, else "go"
	Config   map[string]any      // what the provider reads: string int64 float64 bool []any map[string]any; env: toolsource.Secret

	places map[string]place // of the provider's keys
}

type place struct{ line, col int }

// Format writes the tool's name, provider and place: what the provider reads may hold secrets.
func (def Definition) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, def.String()) }

// String is what Format writes.
func (def Definition) String() string {
	text := fmt.Sprintf("tool %q", def.Spec.Name)
	if def.Provider != "" {
		text += " (" + def.Provider + ")"
	}
	if at := def.Spec.Origin; at.File != "" {
		text += fmt.Sprintf(" of %s:%d", at.File, at.Line)
	}
	return text
}

// LogValue is String.
func (def Definition) LogValue() slog.Value { return slog.StringValue(def.String()) }

// MarshalJSON writes the spec and the name of the provider, without what the provider reads. It cannot be
// read back.
func (def Definition) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Spec     toolsource.ToolSpec
		Provider string
	}{def.Spec, def.Provider})
}

// KeyError is a provider's complaint about one key of Definition.Config. A Source turns it into a problem
// with the key's place in the file.
type KeyError struct {
	Key  string // as command, or command[2] for an element
	Hint string // what to do about it; may be ""
	Err  error
}

// Error names the key.
func (e *KeyError) Error() string { return e.Key + ": " + e.Err.Error() }

// Unwrap is the cause.
func (e *KeyError) Unwrap() error { return e.Err }

func badKey(key, hint, format string, a ...any) error {
	return &KeyError{Key: key, Hint: hint, Err: fmt.Errorf(format, a...)}
}

// Parse reads the [[tools]] of TOML text; file is for problems only. The definitions are those without an
// error, in the order of the file. The error is for text that is not TOML; one bad entry is a problem.
func Parse(file string, data []byte) (defs []Definition, problems []error, err error) {
	problems, err = tomldoc.ReadAll(file, data, func(root *tomldoc.Reader) { defs = Tables(root) })
	return defs, problems, err
}

// Tables reads the [[tools]] of a document that is being read, for package sources.
func Tables(root *tomldoc.Reader) []Definition {
	var defs []Definition
	for _, t := range root.Tables("tools") {
		defs = tomldoc.Taken(root, defs, t, readDefinition)
	}
	return defs
}

// readDefinition takes every key that is not of the spec for the provider's; New checks those, because it
// knows the providers. An explicit provider_config wins over the same key beside it.
func readDefinition(r *tomldoc.Reader) Definition {
	def := Definition{Config: map[string]any{}, places: map[string]place{}}
	def.Spec = specdoc.Read(r, "")
	spec := r.KnownNames()
	def.Provider = r.Str("provider")
	if v := r.Get("provider"); v != nil {
		def.note("provider", v)
	}
	if t := r.Table("provider_config"); t != nil {
		def.take(t, nil)
		t.Known(t.Names()...)
	}
	def.take(r, append(spec, "provider", "provider_config"))
	r.Known(r.Names()...)
	return def
}

func (def *Definition) take(r *tomldoc.Reader, not []string) {
	for _, name := range r.Names() {
		if slices.Contains(not, name) || def.Config[name] != nil {
			continue
		}
		v := r.Get(name)
		def.Config[name] = plainOf(name, v)
		def.note(name, v)
	}
}

// plainOf is a value as plain data. Those of an environment are secrets.
func plainOf(name string, v *tomldoc.Value) any {
	plain := v.Plain()
	if env, ok := plain.(map[string]any); ok && name == "env" {
		for k, e := range env {
			if s, ok := e.(string); ok {
				env[k] = toolsource.Secret(s)
			}
		}
	}
	return plain
}

func (def *Definition) note(key string, v *tomldoc.Value) {
	def.places[key] = place{v.Line, v.Col}
	switch d := v.Data.(type) {
	case []*tomldoc.Value:
		for i, e := range d {
			def.note(fmt.Sprintf("%s[%d]", key, i), e)
		}
	case *tomldoc.Table:
		for _, n := range d.Names {
			def.note(key+"."+n, d.Get(n))
		}
	}
}

// problem makes of a provider's error one with its place.
func (def *Definition) problem(err error) error {
	p := &tomldoc.Problem{File: def.Spec.Origin.File, Line: def.Spec.Origin.Line, Key: "tool " + def.Spec.Name, Message: err.Error(), Severity: tomldoc.SeverityError}
	var ke *KeyError
	if errors.As(err, &ke) {
		p.Key += ": " + ke.Key
		p.Message, p.Hint = ke.Err.Error(), ke.Hint
		if at, ok := def.places[ke.Key]; ok {
			p.Line, p.Column = at.line, at.col
		}
	}
	return p.Because(err)
}

// settings reads a provider's configuration with its types checked. The first wrong one is kept.
type settings struct {
	config map[string]any
	err    error
}

func setting[T any](s *settings, key, want string) (x T, ok bool) {
	v, given := s.config[key]
	if !given {
		return x, false
	}
	if x, ok = v.(T); !ok && s.err == nil {
		s.err = badKey(key, "", "want %s", want)
	}
	return x, ok
}

func (s *settings) str(key string) string {
	v, _ := setting[string](s, key, "a string")
	return v
}

// number is a count of at least 1.
func (s *settings) number(key string, otherwise int) int {
	n, ok := setting[int64](s, key, "an integer")
	if !ok {
		return otherwise
	}
	if n < 1 || n > 1<<31-1 {
		if s.err == nil {
			s.err = badKey(key, "", "is %d, want 1 to %d", n, 1<<31-1)
		}
		return otherwise
	}
	return int(n)
}

func (s *settings) list(key string) []any {
	v, _ := setting[[]any](s, key, "an array")
	return v
}

// strMap is a table whose values are strings or secrets.
func (s *settings) strMap(key string) map[string]string {
	v, _ := setting[map[string]any](s, key, "a table of strings")
	out := make(map[string]string, len(v))
	for k, e := range v {
		switch text := e.(type) {
		case string:
			out[k] = text
		case toolsource.Secret:
			out[k] = text.Reveal()
		default:
			if s.err == nil {
				s.err = badKey(key+"."+k, "", "want a string")
			}
		}
	}
	return out
}
