package toolschema

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// strictly exports a schema for strict mode; nil and a reason where that loses something that a call may
// need. What it changed is then forgotten.
func (x *exporter) strictly(schema []byte) (*tree, *undo, string) {
	before := x.changes
	s := &stricter{exporter: x}
	t, reason := x.root(schema)
	if t == nil {
		x.changes = before
		return nil, nil, reason
	}
	out, u := s.schema(t, nil)
	if s.why == "" {
		s.within(out)
	}
	if s.why != "" {
		x.changes = before
		return nil, nil, s.why
	}
	return out, u, ""
}

// A stricter rewrites a schema for strict mode.
type stricter struct {
	*exporter
	why string // the first reason why it cannot
}

// fail says that strict mode cannot describe what is at a place.
func (s *stricter) fail(at *loc, format string, a ...any) {
	if s.why == "" {
		s.why = fmt.Sprintf(format, a...) + " at " + at.String()
	}
}

// schema is what strict mode takes in place of t, and how to read what a model makes of it.
func (s *stricter) schema(t *tree, at *loc) (*tree, *undo) {
	if s.why != "" {
		return t, nil
	}
	if !t.isObject() {
		s.fail(at, "takes any value or none")
		return t, nil
	}
	s.conflict = ""
	s.merge(t, at, "keyword")
	switch {
	case s.conflict != "":
		s.fail(at, "has parts of allOf that say different things of %s", s.conflict)
	case t.has("anyOf") && t.has("oneOf"):
		s.fail(at, "has alternatives of two kinds")
	case len(t.get("patternProperties").entries()) > 0 || t.get("unevaluatedProperties").isObject():
		s.fail(at, "takes properties that are not described")
	}
	t = s.nulls(t, at, "keyword")
	s.listItems(t, at)
	s.known(t, at)
	t = s.settle(t, at)
	s.relevant(t, at)
	s.format(t, at)
	switch types := t.types(); {
	case t.has("anyOf"):
		list := t.get("anyOf")
		u := &undo{}
		here := &loc{up: at, key: "anyOf"}
		for i, b := range list.elems {
			branch, in := s.schema(b, &loc{up: here, key: fmt.Sprint(i)})
			list.elems[i] = branch
			if in != nil {
				u.options = append(u.options, in)
			}
		}
		return t, u.orNone()
	case types == 0:
		s.fail(at, "takes any value")
		return t, nil
	case types&typeObject != 0:
		return t, s.object(t, at)
	case types&typeArray != 0:
		items := t.get("items")
		if !items.isObject() || len(items.members) == 0 {
			s.fail(at, "takes a list of any values")
			return t, nil
		}
		items, in := s.schema(items, &loc{up: at, key: "items"})
		t.set("items", items)
		if in == nil {
			return t, nil
		}
		return t, &undo{items: in}
	}
	return t, nil
}

// object closes an object and requires all that is in it.
func (s *stricter) object(t *tree, at *loc) *undo {
	props := t.get("properties")
	switch more := t.get("additionalProperties"); {
	case more.isObject() || more.is("true"):
		s.fail(at, "takes properties that are not described")
		return nil
	case more == nil && len(props.entries()) == 0 && at != nil:
		s.fail(at, "takes an object of which nothing is described")
		return nil
	case more == nil:
		s.add(at, "closed", "properties that are not described are refused now")
		t.set("additionalProperties", scalar("false"))
	}
	if props == nil {
		props = newObject()
		t.set("properties", props)
	}
	required := map[string]bool{}
	for _, r := range t.words("required") {
		required[r] = true
	}
	u := &undo{props: map[string]*undone{}}
	here := &loc{up: at, key: "properties"}
	for i := range props.members {
		m := &props.members[i]
		place := &loc{up: here, key: m.key}
		null := takesNull(m.value)
		v, in := s.schema(m.value, place)
		if !required[m.key] {
			v = withNull(v)
			s.add(place, "all-required", "may be left out, and is required now; null stands for leaving it out")
		}
		m.value = v
		if in != nil || !required[m.key] && !null {
			u.props[m.key] = &undone{name: m.key, drop: !required[m.key] && !null, keep: null, in: in}
		} else if null {
			u.props[m.key] = &undone{name: m.key, keep: true}
		}
	}
	t.setWords("required", props.keys())
	return u.orNone()
}

// listItems writes a tuple as a list of any of its kinds.
func (x *exporter) listItems(t *tree, at *loc) {
	tuple := t.list("prefixItems")
	if len(tuple) == 0 {
		return
	}
	kinds := tuple
	if items := t.get("items"); items.isObject() {
		kinds = append(kinds[:len(kinds):len(kinds)], items)
	}
	var one choices
	for _, k := range kinds {
		one.add(k)
	}
	item := one.schema
	if !t.has("items") { // which leaves open what follows
		item = newObject()
	}
	if t.get("items").is("false") && !t.has("maxItems") {
		t.set("maxItems", scalar(fmt.Sprint(len(tuple))))
	}
	t.drop("prefixItems")
	t.set("items", item)
	x.add(at, "keyword", "prefixItems is not taken; items takes any of its kinds")
}

// known leaves out keywords and formats that the API does not take.
func (x *exporter) known(t *tree, at *loc) {
	if one := t.get("oneOf"); one != nil && !t.has("anyOf") {
		x.add(at, "keyword", "oneOf is not taken, anyOf is")
		t.members[t.find("oneOf")].key = "anyOf"
	}
	var notes []string
	t.members = slices.DeleteFunc(t.members, func(m member) bool {
		if slices.Contains(x.keywords, m.key) {
			return false
		}
		if m.key == "default" && !m.value.is("null") && len(m.value.text()) < 80 {
			notes = append(notes, "Default: "+m.value.shown()+".")
			x.add(at, "keyword", "default is not taken; it stands in the description")
			return true
		}
		x.add(at, "keyword", "%s %s is not taken and is left out", clip(m.key), m.value.shown())
		return true
	})
	for _, n := range notes {
		describe(t, n)
	}
}

// describe adds a sentence to a description.
func describe(t *tree, note string) {
	said, _ := t.get("description").str()
	if said != "" {
		said += " "
	}
	t.set("description", newText(said+note))
}

// within measures a schema against the sizes that strict mode takes.
func (s *stricter) within(t *tree) {
	var props, enums, chars int
	deepest := 0
	var visit func(t *tree, at *loc, depth int)
	visit = func(t *tree, at *loc, depth int) {
		if types := t.types(); types&(typeObject|typeArray) != 0 {
			depth++
			deepest = max(deepest, depth)
		}
		for _, m := range t.get("properties").entries() {
			props++
			chars += utf8.RuneCountInString(m.key)
		}
		long := 0
		for _, v := range t.list("enum") {
			enums++
			long += characters(v)
		}
		chars += long
		if v := t.get("const"); v != nil {
			chars += characters(v)
		}
		if n := len(t.list("enum")); n > s.strict.longEnum && long > s.strict.longText {
			s.fail(at, "an enum of %d values has %d characters, and strict mode takes %d", n, long, s.strict.longText)
		}
		t.each(at, func(b *tree, at *loc, _ int) *tree { visit(b, at, depth); return b })
	}
	visit(t, nil, 0)
	for _, m := range [...]struct {
		what      string
		got, most int
	}{
		{"levels of objects and arrays", deepest, s.strict.depth},
		{"properties", props, s.strict.properties},
		{"enum values", enums, s.strict.enums},
		{"characters in names and values", chars, s.strict.text},
	} {
		if m.got > m.most {
			s.fail(nil, "has %d %s, and strict mode takes %d", m.got, m.what, m.most)
		}
	}
}

// characters are those of a string's value, or of another value's text.
func characters(v *tree) int {
	if said, ok := v.str(); ok {
		return utf8.RuneCountInString(said)
	}
	return len(v.text())
}
