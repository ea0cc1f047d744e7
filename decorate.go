package toolsource

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"sync"

	"github.com/toolsource/toolsource/grade"
)

// A decorated source shows another source's tools, some of them left out or shown otherwise. It keeps the
// table from what it shows to what the inner source listed.
type decorated struct {
	inner   ToolSource
	show    func(ToolSpec) (outer ToolSpec, ok bool)   // pure; false: left out
	name    func(inner string) (outer string, ok bool) // show for a name alone
	enforce func(outer ToolSpec) error                 // asked at each call; nil: nothing to ask
	asks    bool                                       // enforce calls a function of the host, which may block
	check   func() error                               // whether the decorator itself is sound; nil: it is
	wrapped func(inner ToolSource) ToolSource          // the same decorator around another source
	list    func(context.Context) ([]ToolSpec, error)  // nil: inner.Discover

	mu    sync.Mutex              // guards the fields below
	table map[bindingKey]ToolSpec // inner specs by what they are shown as
	names map[string]ToolSpec     // likewise by name alone
}

func (d *decorated) Name() string                   { return d.inner.Name() }
func (d *decorated) Available() bool                { return d.inner.Available() }
func (d *decorated) Unwrap() ToolSource             { return d.inner }
func (d *decorated) Bounded() bool                  { return !d.asks && IsBounded(d.inner) }
func (d *decorated) SelfLimited() bool              { return !d.asks && isSelfLimited(d.inner) }
func (d *decorated) rewrap(s ToolSource) ToolSource { return d.wrapped(s) }

// Discover lists the inner source and shows what the decorator shows of it. Of two tools that it would show
// under one name the first is kept.
func (d *decorated) Discover(ctx context.Context) ([]ToolSpec, error) {
	if d.check != nil {
		if err := d.check(); err != nil {
			return nil, err
		}
	}
	list := d.list
	if list == nil {
		list = d.inner.Discover
	}
	specs, err := list(ctx)
	if err != nil {
		return nil, err
	}
	outer := make([]ToolSpec, 0, len(specs))
	table := make(map[bindingKey]ToolSpec, len(specs))
	names := make(map[string]ToolSpec, len(specs))
	for _, in := range specs {
		out, ok := d.show(in)
		if !ok {
			continue
		}
		if out.Name != in.Name && out.Origin.WireName == "" {
			out.Origin.WireName = in.Name
		}
		outer = append(outer, out)
		if _, twice := names[out.Name]; !twice {
			names[out.Name] = in
			table[bindingKey{out.Name, out.wireName()}] = in
		}
	}
	d.mu.Lock()
	d.table, d.names = table, names
	d.mu.Unlock()
	return outer, nil
}

// Resolve resolves the inner tool. Its errors bear the name that the decorator shows.
func (d *decorated) Resolve(spec ToolSpec) (Callable, error) {
	in, ok := d.Inner(spec)
	if !ok {
		return nil, &CallError{Tool: spec.Name, Source: d.Name(), Phase: "resolve", Kind: KindUnknownTool, Remedy: "list the source first"}
	}
	call, err := d.inner.Resolve(in)
	if err != nil || call == nil {
		return call, renamed(err, spec.Name)
	}
	if spec.Name == in.Name && d.enforce == nil {
		return call, nil
	}
	return func(ctx context.Context, args map[string]any) (Result, error) {
		if d.enforce != nil {
			if err := d.enforce(spec); err != nil {
				return Result{}, err
			}
		}
		res, err := call(ctx, args)
		return res, renamed(err, spec.Name)
	}, nil
}

// Inner is the inner source's spec for one that the decorator listed.
func (d *decorated) Inner(spec ToolSpec) (ToolSpec, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if in, ok := d.table[bindingKey{spec.Name, spec.wireName()}]; ok {
		return in, true
	}
	in, ok := d.names[spec.Name]
	return in, ok && spec.Origin.WireName == ""
}

// Outer is the name that the decorator gives to an inner one.
func (d *decorated) Outer(name string) (string, bool) { return d.name(name) }

func same(name string) (string, bool) { return name, true }

// FilterRule says which tools a filter lets through. The zero value lets all through.
type FilterRule struct {
	Allow   []string            // patterns of path.Match on the name or the wire name; none: all
	Deny    []string            // likewise; a tool that matches is left out, whatever Allow says
	Keep    func(ToolSpec) bool // asked at listing and again at each call; nil: all
	Ceiling grade.Grade         // tools above it are left out; Unknown: no ceiling
}

func (r *FilterRule) sound() error {
	for _, list := range [][]string{r.Allow, r.Deny} {
		for _, p := range list {
			if _, err := path.Match(p, ""); err != nil {
				return fmt.Errorf("toolsource: filter: the pattern %q is malformed; escape [ and \\ with a backslash", p)
			}
		}
	}
	return nil
}

func matchesAny(patterns []string, names ...string) bool {
	for _, p := range patterns {
		for _, n := range names {
			if ok, _ := path.Match(p, n); ok {
				return true
			}
		}
	}
	return false
}

// refusal says why a tool is not let through; nil: it is.
func (r *FilterRule) refusal(s ToolSpec) error {
	switch {
	case len(r.Allow) > 0 && !matchesAny(r.Allow, s.Name, s.wireName()):
		return fmt.Errorf("%w: the filter does not allow it", ErrDenied)
	case matchesAny(r.Deny, s.Name, s.wireName()):
		return fmt.Errorf("%w: the filter denies it", ErrDenied)
	case r.Ceiling != grade.Unknown && !s.Grade.AtMost(r.Ceiling):
		return fmt.Errorf("%w: its grade %s is above the ceiling %s", ErrDenied, s.Grade, r.Ceiling)
	case r.Keep != nil && !r.Keep(s):
		return fmt.Errorf("%w: the filter's predicate does not keep it", ErrDenied)
	}
	return nil
}

// Filter lets through the tools that the rule allows, when they are listed and again at each call: a tool
// that is refused by then fails with ErrDenied. A malformed pattern fails Discover.
func Filter(src ToolSource, rule FilterRule) ToolSource {
	return &decorated{
		inner: src,
		show:  func(s ToolSpec) (ToolSpec, bool) { return s, rule.refusal(s) == nil },
		name: func(n string) (string, bool) {
			return n, (len(rule.Allow) == 0 || matchesAny(rule.Allow, n)) && !matchesAny(rule.Deny, n)
		},
		enforce: func(s ToolSpec) error {
			if err := rule.refusal(s); err != nil {
				return &CallError{Tool: s.Name, Source: src.Name(), Phase: "call", Kind: KindDenied, Err: err, Remedy: "change the filter's rule"}
			}
			return nil
		},
		asks:    rule.Keep != nil,
		check:   rule.sound,
		wrapped: func(s ToolSource) ToolSource { return Filter(s, rule) },
	}
}

// Rename shows tools under other names: names maps the source's names to the new ones. Others stay as they
// are.
func Rename(src ToolSource, names map[string]string) ToolSource {
	own := make(map[string]string, len(names))
	for from, to := range names {
		own[from] = to
	}
	return renaming(src, func(n string) string {
		if to, ok := own[n]; ok {
			return to
		}
		return n
	}, func(s ToolSource) ToolSource { return Rename(s, own) })
}

// Prefix puts a prefix before every name. A name that gets too long is cut and ends in a hash of the whole,
// so that it stays distinct and the same.
func Prefix(src ToolSource, prefix string) ToolSource {
	return renaming(src, func(n string) string { return fitted(prefix + n) },
		func(s ToolSource) ToolSource { return Prefix(s, prefix) })
}

func renaming(src ToolSource, name func(string) string, wrapped func(ToolSource) ToolSource) ToolSource {
	return &decorated{
		inner: src,
		show: func(s ToolSpec) (ToolSpec, bool) {
			s.Name = name(s.Name)
			return s, true
		},
		name:    func(n string) (string, bool) { return name(n), true },
		wrapped: wrapped,
	}
}

// fitted cuts a name to the length that is allowed.
func fitted(name string) string {
	if len(name) <= maxNameLen {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return name[:maxNameLen-len(suffix)] + suffix
}

// Regrade gives tools the grade that a function says; what was claimed stays in the spec's Origin.
func Regrade(src ToolSource, of func(ToolSpec) grade.Grade) ToolSource {
	return &decorated{
		inner: src,
		show: func(s ToolSpec) (ToolSpec, bool) {
			s.Grade = of(s)
			return s, true
		},
		name:    same,
		wrapped: func(s ToolSource) ToolSource { return Regrade(s, of) },
	}
}
