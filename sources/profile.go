package sources

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/tomldoc"
)

// Profile is a named selection of tools with settings for the host. The library uses Tools and ExtraTools
// and carries the rest.
type Profile struct {
	Name string
	File string // that declares it
	Line int    // in File, from 1

	Tools      Tools    // which tools; the zero Tools: only ExtraTools
	ExtraTools []string // more of them, each by its own name

	Model       string
	Mode        string
	Order       []string
	Temperature *float64 // nil: not set
	Rules       []any
	Language    string // "restricted-python" where the file says nothing
	Execution   string // "one-shot" where the file says nothing
	Sandbox     string
	Policy      map[string]any
}

// Tools is a profile's choice of tools. At most one field is set.
type Tools struct {
	None    bool    // tools = "none"
	All     bool    // tools = "*"
	Choices []Alias // tools = ["a", "b"], or { alias = "name" } or { alias = { tool = "name" } }
}

// Alias is a tool and what it is called in the selection.
type Alias struct{ Alias, Tool string }

// set reports whether a choice was made at all.
func (t Tools) set() bool { return t.None || t.All || t.Choices != nil }

// Or fills the settings that the profile leaves open and that have no default of their own (Model, Mode,
// Order, Temperature, Sandbox) from d.
func (p Profile) Or(d Profile) Profile {
	if p.Model == "" {
		p.Model = d.Model
	}
	if p.Mode == "" {
		p.Mode = d.Mode
	}
	if p.Order == nil {
		p.Order = d.Order
	}
	if p.Temperature == nil {
		p.Temperature = d.Temperature
	}
	if p.Sandbox == "" {
		p.Sandbox = d.Sandbox
	}
	return p
}

const (
	defaultLanguage  = "restricted-python"
	defaultExecution = "one-shot"
)

var profileKeys = []string{"execution", "extra_tools", "language", "mode", "model", "order", "policy", "rules", "sandbox", "temperature", "tools"}

func (c *Config) readProfiles(root *tomldoc.Reader) {
	named(root, "profiles", func(name string, e *tomldoc.Reader) {
		p := readProfile(name, e)
		if e.OK() {
			c.Profiles[name] = p
		}
	})
}

func readProfile(name string, r *tomldoc.Reader) Profile {
	p := Profile{
		Name: name, File: r.File(), Line: r.Line(),
		Tools: readTools(r), ExtraTools: r.Strs("extra_tools"),
		Model: r.Str("model"), Mode: r.Str("mode"), Order: r.Strs("order"), Temperature: r.Float("temperature"),
		Language: r.Str("language"), Execution: r.Str("execution"), Sandbox: r.Str("sandbox"),
	}
	if rules := r.Array("rules"); rules != nil {
		p.Rules, _ = r.Get("rules").Plain().([]any)
	}
	if t := r.Table("policy"); t != nil {
		p.Policy, _ = r.Get("policy").Plain().(map[string]any)
	}
	if p.Language == "" {
		p.Language = defaultLanguage
	}
	if p.Execution == "" {
		p.Execution = defaultExecution
	}
	var unknown []string
	for _, key := range r.Names() {
		if !slices.Contains(profileKeys, key) {
			unknown = append(unknown, key)
		}
	}
	if unknown != nil {
		hint := ""
		if near := tomldoc.Nearest(unknown[0], profileKeys); near != "" {
			hint = "did you mean " + near + "?"
		}
		r.Fail(unknown[0], hint, "unknown profile key(s): %s; allowed: %s", words(unknown), words(profileKeys))
	}
	return p
}

func readTools(r *tomldoc.Reader) Tools {
	const hint = `want "none", "*", an array of names, or a table of aliases`
	v := r.Get("tools")
	if v == nil {
		return Tools{}
	}
	switch d := v.Data.(type) {
	case string:
		if d != "none" && d != "*" {
			r.FailAt(v, hint, "unknown choice %q", d)
		}
		return Tools{None: d == "none", All: d == "*"}
	case []*tomldoc.Value:
		t := Tools{Choices: []Alias{}}
		for _, n := range r.Strs("tools") {
			t.Choices = append(t.Choices, Alias{n, n})
		}
		return t
	case *tomldoc.Table:
		t := Tools{Choices: []Alias{}}
		sub := r.TableOf(v)
		for _, alias := range d.Names {
			t.Choices = append(t.Choices, Alias{alias, readAlias(sub, alias)})
		}
		return t
	}
	r.FailAt(v, "", "%s", hint)
	return Tools{}
}

// readAlias is the tool behind an alias: a string, or a table whose key tool has it; without one it is the
// alias itself.
func readAlias(sub *tomldoc.Reader, alias string) string {
	v := sub.Get(alias)
	if s, ok := v.Data.(string); ok {
		return s
	}
	t := sub.TableOf(v)
	if t == nil {
		return alias
	}
	name := t.Str("tool")
	t.Finish()
	if name == "" {
		return alias
	}
	return name
}

// ResolvedProfile is a profile and the tools that it selects now.
type ResolvedProfile struct {
	Profile   Profile
	Selection *toolsource.Selection // its Grade is that of the tools, never of the profile
}

// Profile selects the tools of a profile. "none" is the empty selection, unless a profile has that name.
// A profile without tools and extra_tools is an error, since it says nothing about what a program may use.
// A tool that is in the selection already is not added again by extra_tools. ctx bounds the asking of gates.
func (s *Set) Profile(ctx context.Context, name string) (*ResolvedProfile, error) {
	p, ok := s.Config().Profiles[name]
	switch {
	case ok:
	case name == "none":
		p = Profile{Tools: Tools{None: true}, Language: defaultLanguage, Execution: defaultExecution}
	default:
		return nil, s.noProfile(name)
	}
	if !p.Tools.set() && len(p.ExtraTools) == 0 {
		return nil, fmt.Errorf(`sources: profile %q chooses no tools (add tools = [...], "*" or "none")`, name)
	}
	sel, err := s.choose(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("sources: profile %q: %w", name, err)
	}
	return &ResolvedProfile{Profile: p, Selection: sel}, nil
}

func (s *Set) noProfile(name string) error {
	c := s.Config()
	known := slices.Sorted(maps.Keys(c.Profiles))
	remedy := "the file declares none"
	if len(known) > 0 {
		remedy = "it declares " + words(known)
	}
	if near := tomldoc.Nearest(name, known); near != "" {
		remedy = "did you mean " + near + "?"
	}
	if _, isTool := s.Spec(name); isTool {
		remedy = "that is a tool; select it with Select"
	}
	return fmt.Errorf("sources: %s has no profile %q (%s): %w", c.File, name, remedy, ErrUnknownProfile)
}

// ErrUnknownProfile is in the chain of the error for a name that is no profile.
var ErrUnknownProfile = errors.New("unknown profile")

// choose keeps the order of names; aliases come in their own order.
func (s *Set) choose(ctx context.Context, p Profile) (*toolsource.Selection, error) {
	aliases := map[string]string{}
	var names []string
	renamed := false
	add := func(alias, tool string) {
		if _, there := aliases[alias]; there {
			return
		}
		aliases[alias] = tool
		names = append(names, tool)
		renamed = renamed || alias != tool
	}
	if p.Tools.All {
		for _, spec := range s.Tools() {
			add(spec.Name, spec.Name)
		}
	}
	for _, c := range p.Tools.Choices {
		add(c.Alias, c.Tool)
	}
	for _, n := range p.ExtraTools {
		add(n, n)
	}
	if renamed {
		return s.SelectAs(ctx, aliases)
	}
	return s.Select(ctx, names...)
}
