package toolschema

import "encoding/json"

// maxSteps bounds what is looked at to find out whether a call can pass as it is.
const maxSteps = 4000

// holds reports whether v fits a shape and nothing in it would be coerced, at no cost in memory. It is
// what most calls need; where it is false, a checker finds out what is wrong, if anything is.
func (s *shape) holds(v any, steps *int) bool {
	if s == nil {
		return true
	}
	if *steps--; *steps < 0 {
		return false
	}
	if v == nil && s.nullable {
		return true
	}
	if _, raw := v.(json.RawMessage); raw || s.refuses(v) {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		if !s.holdsMembers(v, steps) {
			return false
		}
	case []any:
		if !s.holdsElements(v, steps) {
			return false
		}
	}
	for _, a := range s.all {
		if !a.holds(v, steps) {
			return false
		}
	}
	for _, o := range s.options {
		if !holdsOne(o, v, steps) {
			return false
		}
	}
	return true
}

// refuses reports whether v is of another type, or none of the values named.
func (s *shape) refuses(v any) bool {
	return s.types != 0 && !fits(s.types, v) || s.enum != nil && !oneOf(s.enum, v)
}

func (s *shape) holdsMembers(m map[string]any, steps *int) bool {
	for _, name := range s.required {
		if _, ok := m[name]; !ok {
			return false
		}
	}
	known := 0
	for _, p := range s.props {
		if v, ok := m[p.name]; ok {
			known++
			if !p.shape.holds(v, steps) {
				return false
			}
		}
	}
	if known == len(m) || !s.closed && s.extra == nil {
		return true
	}
	if s.closed {
		return false
	}
	for name, v := range m {
		if s.prop(name) < 0 && !s.extra.holds(v, steps) {
			return false
		}
	}
	return true
}

func (s *shape) holdsElements(list []any, steps *int) bool {
	for i, v := range list {
		item := s.items
		if i < len(s.tuple) {
			item = s.tuple[i]
		}
		if !item.holds(v, steps) {
			return false
		}
	}
	return true
}

// holdsOne reports whether the first alternative that fits v takes it as it is. One before it that might
// take it coerced would come first, so none may be in doubt.
func holdsOne(options []*shape, v any, steps *int) bool {
	for _, o := range options {
		if o.holds(v, steps) {
			return true
		}
		if _, float := v.(float64); float || !o.refuses(v) {
			return false
		}
	}
	return false
}
