package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/toolsource/toolsource"
)

// mapping is how a decorator says what its tools are called inside.
type mapping interface {
	Inner(spec toolsource.ToolSpec) (inner toolsource.ToolSpec, ok bool)
	Outer(name string) (outer string, ok bool)
}

// checkChain comes first: what looks down a chain without end never comes back.
func checkChain(ctx context.Context, s *subject) error { return s.follow(ctx) }

// checkUnwrap follows each listed tool down the chain: each must be one that the next source lists, under
// the name that the decorator's own mapping gives, else the capabilities below would be asked about tools
// that they do not know.
func checkUnwrap(ctx context.Context, s *subject) error {
	if _, ok := s.src.(toolsource.Decorator); !ok {
		return absent("it is no Decorator: it wraps nothing")
	}
	links := s.links
	specs, err := s.discover(ctx)
	if err != nil {
		return err
	}
	for i, link := range links[:len(links)-1] {
		inner, err := discover(ctx, links[i+1])
		if err != nil {
			return fmt.Errorf("it lists its tools, and what it wraps does not: %w", err)
		}
		known := names(inner)
		m, maps := link.(mapping)
		for j, spec := range specs {
			in := spec
			if maps {
				if in, err = mapped(ctx, m, spec); err != nil {
					return err
				}
			}
			if !slices.Contains(known, in.Name) {
				return fmt.Errorf("%s is listed, and what it wraps has no %s; a decorator that renames has methods Inner and Outer", spec.Name, in.Name)
			}
			specs[j] = in
		}
	}
	return nil
}

// inside is what a listed tool is below a decorator; known is false where the decorator does not know it.
func inside(ctx context.Context, m mapping, spec toolsource.ToolSpec) (in toolsource.ToolSpec, known bool, err error) {
	ins, err := step(ctx, "Inner of "+spec.Name, soon, func() ([]toolsource.ToolSpec, error) {
		if in, ok := m.Inner(spec); ok {
			return []toolsource.ToolSpec{in}, nil
		}
		return nil, nil
	})
	if len(ins) == 0 {
		return in, false, err
	}
	return ins[0], true, err
}

// mapped is the same of a tool that is listed, and has the way back checked.
func mapped(ctx context.Context, m mapping, spec toolsource.ToolSpec) (toolsource.ToolSpec, error) {
	in, known, err := inside(ctx, m, spec)
	switch {
	case err != nil:
		return in, err
	case !known:
		return in, fmt.Errorf("%s is listed, and Inner does not know it", spec.Name)
	}
	return in, does(ctx, "Outer of "+in.Name, soon, func() error {
		if outer, ok := m.Outer(in.Name); !ok || outer != spec.Name {
			return fmt.Errorf("%s is %s inside, and Outer makes that %q, %v", spec.Name, in.Name, outer, ok)
		}
		return nil
	})
}

// checkGate asks every gate of the chain about each listed tool, in its own terms, and about a foreign one.
func checkGate(ctx context.Context, s *subject) error {
	if !has[toolsource.Gate](s.links) {
		return absent("it has no Gate: its tools are always offered")
	}
	specs, err := s.discover(ctx)
	if err != nil {
		return err
	}
	var faults []error
	for _, spec := range append(slices.Clone(specs), foreign...) {
		for _, link := range s.links {
			if g, ok := link.(toolsource.Gate); ok {
				err := does(ctx, "Offers of "+spec.Name, soon, func() error {
					g.Offers(ctx, spec)
					return nil
				})
				if isBlocked(err) {
					return err
				}
				faults = append(faults, err)
			}
			m, maps := link.(mapping)
			if !maps {
				continue
			}
			in, known, err := inside(ctx, m, spec)
			if err != nil {
				return err
			}
			if !known {
				break
			}
			spec = in
		}
	}
	return errors.Join(faults...)
}
