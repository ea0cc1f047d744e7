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
func checkChain(_ context.Context, s *subject) error {
	_, err := chain(s.src)
	return err
}

// checkUnwrap follows each listed tool down the chain: each must be one that the next source lists, under
// the name that the decorator's own mapping gives, else the capabilities below would be asked about tools
// that they do not know.
func checkUnwrap(ctx context.Context, s *subject) error {
	if _, ok := s.src.(toolsource.Decorator); !ok {
		return absent("it is no Decorator: it wraps nothing")
	}
	links, err := chain(s.src)
	if err != nil {
		return err
	}
	specs, err := s.discover(ctx)
	if err != nil {
		return err
	}
	for i, link := range links[:len(links)-1] {
		inner, err := (&subject{src: links[i+1]}).discover(ctx)
		if err != nil {
			return fmt.Errorf("it lists its tools, and what it wraps does not: %w", err)
		}
		known := names(inner)
		m, maps := link.(mapping)
		for j, spec := range specs {
			in := spec
			if maps {
				var ok bool
				if in, ok = m.Inner(spec); !ok {
					return fmt.Errorf("%s is listed, and Inner does not know it", spec.Name)
				}
				if outer, ok := m.Outer(in.Name); !ok || outer != spec.Name {
					return fmt.Errorf("%s is %s inside, and Outer makes that %q, %v", spec.Name, in.Name, outer, ok)
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

// checkGate asks every gate of the chain about each listed tool, in its own terms, and about a foreign one.
func checkGate(ctx context.Context, s *subject) error {
	if !has[toolsource.Gate](s.src) {
		return absent("it has no Gate: its tools are always offered")
	}
	specs, err := s.discover(ctx)
	if err != nil {
		return err
	}
	links, err := chain(s.src)
	if err != nil {
		return err
	}
	var faults []error
	for _, spec := range append(slices.Clone(specs), foreign...) {
		for _, link := range links {
			if g, ok := link.(toolsource.Gate); ok {
				faults = append(faults, ends("Offers of "+spec.Name, soon, func() error {
					g.Offers(ctx, spec)
					return nil
				}))
			}
			if m, maps := link.(mapping); maps {
				var ok bool
				if spec, ok = m.Inner(spec); !ok {
					break
				}
			}
		}
	}
	return errors.Join(faults...)
}
