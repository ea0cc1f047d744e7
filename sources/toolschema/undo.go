package toolschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/toolsource/toolsource"
)

// An undo says how to read arguments that a model wrote by an exported schema. It follows the values; where
// several alternatives may have been meant, those of all are kept.
type undo struct {
	props   map[string]*undone // by exported name
	items   *undo
	options []*undo
}

type undone struct {
	name   string // as the tool knows it
	rename bool   // the exported name is another
	drop   bool   // null leaves it out
	keep   bool   // null is a value of its own
	in     *undo
}

// orNone is nil for an undo that does nothing.
func (u *undo) orNone() *undo {
	if u.items != nil || len(u.options) > 0 {
		return u
	}
	for _, p := range u.props {
		if p.drop || p.rename || p.in != nil || p.keep {
			return u
		}
	}
	return nil
}

// Arguments are the tool that a model means by a name, and its arguments as the tool knows them: names that
// were exchanged are put back, and a null is taken out where it stands for an argument that is left out and
// the tool does not take null there. Nothing else changes, args itself never, and changes tells what did.
//
// It does not check arguments: the tool's Callable does, and its error tells a model what to repair. An
// unknown name is ErrUnknownTool, and what is no argument is ErrBadArguments.
func (e *Exported) Arguments(name string, args map[string]any) (tool string, out map[string]any, changes []Change, err error) {
	i, ok := e.byName[name]
	if !ok {
		return "", nil, nil, fmt.Errorf("%w: %s was not exported to %s", toolsource.ErrUnknownTool, label(name), e.Provider)
	}
	t := &e.Tools[i]
	out, err = toolsource.Arguments(args)
	if err != nil {
		return t.Tool, nil, nil, err
	}
	if out == nil {
		out = map[string]any{}
	}
	if t.undo == nil {
		return t.Tool, out, nil, nil
	}
	u := undoer{tool: t.Tool}
	v := u.value([]*undo{t.undo}, out, nil)
	if u.clash != "" {
		return t.Tool, nil, nil, fmt.Errorf("%w: %s", toolsource.ErrBadArguments, u.clash)
	}
	return t.Tool, v.(map[string]any), u.all(), nil
}

// ParseArguments is Arguments for the JSON text that an API hands over. No text is no arguments; integers
// keep their digits.
func (e *Exported) ParseArguments(name string, text []byte) (tool string, out map[string]any, changes []Change, err error) {
	var args map[string]any
	if len(bytes.TrimSpace(text)) > 0 {
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		err := dec.Decode(&args)
		if err == nil {
			if _, more := dec.Token(); more != io.EOF {
				err = fmt.Errorf("more follows the object")
			}
		}
		if err != nil {
			tool, _ := e.Find(name)
			return tool, nil, nil, fmt.Errorf("%w: the arguments are no JSON object: %s", toolsource.ErrBadArguments, strings.Map(printable, clip(err.Error())))
		}
	}
	return e.Arguments(name, args)
}

// An undoer reads one call's arguments; what does not change is not copied.
type undoer struct {
	changes
	tool  string
	clash string
}

func (c *undoer) value(us []*undo, v any, at *loc) any {
	us = withOptions(us)
	switch v := v.(type) {
	case map[string]any:
		return c.object(us, v, at)
	case []any:
		var items []*undo
		for _, u := range us {
			if u.items != nil {
				items = append(items, u.items)
			}
		}
		if len(items) == 0 {
			return v
		}
		out := v
		for i, e := range v {
			if x := c.value(items, e, &loc{up: at, key: fmt.Sprint(i)}); !same(e, x) {
				if same(out, v) {
					out = append([]any(nil), v...)
				}
				out[i] = x
			}
		}
		return out
	}
	return v
}

// withOptions adds the alternatives.
func withOptions(us []*undo) []*undo {
	out := us
	for i := 0; i < len(out); i++ {
		if len(out[i].options) > 0 {
			out = append(out[:len(out):len(out)], out[i].options...)
		}
	}
	return out
}

func (c *undoer) object(us []*undo, m map[string]any, at *loc) any {
	out := m
	changed := func() {
		if sameMap(out, m) {
			out = make(map[string]any, len(m))
			for k, v := range m {
				out[k] = v
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		v := m[name]
		var inner []*undo
		to := name
		drop, keep := false, false
		for _, u := range us {
			if p := u.props[name]; p != nil {
				to = p.name
				drop, keep = drop || p.drop, keep || p.keep
				if p.in != nil {
					inner = append(inner, p.in)
				}
			}
		}
		here := &loc{up: at, key: name}
		switch {
		case v == nil && drop && !keep:
			changed()
			delete(out, name)
			c.add(here, "all-required", "null is taken out: the argument is left out")
			continue
		case len(inner) > 0:
			if x := c.value(inner, v, here); !same(v, x) {
				changed()
				out[name] = x
				v = x
			}
		}
		if to != name {
			changed()
			if _, taken := m[to]; taken {
				c.clash = fmt.Sprintf("%s and %s are one argument; give it once, as %s", label(name), label(to), label(name))
			}
			delete(out, name)
			out[to] = v
			c.add(here, "property-name", "is put back as %s", label(to))
		}
	}
	return out
}
