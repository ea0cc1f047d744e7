package toolschema

// tag is the property by whose values alternatives of an object tell themselves apart, "" if there is none:
// each of them describes it and names its values.
func tag(options []*shape) string {
	for _, p := range options[0].props {
		all := true
		for _, o := range options {
			all = all && o.values(p.name) != nil
		}
		if all {
			return p.name
		}
	}
	return ""
}

// values are those that a property may have, nil if any.
func (s *shape) values(name string) []any {
	if i := s.prop(name); i >= 0 && s.props[i].shape != nil {
		return s.props[i].shape.enum
	}
	return nil
}

// withTag are the alternatives that a value's tag speaks of.
func withTag(options []*shape, name string, m map[string]any) []*shape {
	v, ok := m[name]
	if !ok {
		return nil
	}
	var out []*shape
	for _, o := range options {
		if oneOf(o.values(name), v) {
			out = append(out, o)
		}
	}
	return out
}

// untagged tells what tag a value may have that has none, or another.
func (c *checker) untagged(options []*shape, name string, m map[string]any, at *spot) {
	var values []any
	for _, o := range options {
		for _, v := range o.values(name) {
			if !oneOf(values, v) {
				values = append(values, v)
			}
		}
	}
	if v, ok := m[name]; ok {
		c.fault(at.member(name), "is %s, want %s", kindOf(v), enumText(values))
		return
	}
	c.fault(at.member(name), "is missing, want %s", enumText(values))
}
