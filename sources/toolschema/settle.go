package toolschema

import "slices"

// merge writes allOf into the schema that it stands in. Where two parts restrict the same in different ways,
// the first counts, and the tool checks the other.
func (x *exporter) merge(t *tree, at *loc, rule string) {
	parts := t.drop("allOf")
	if parts == nil {
		return
	}
	x.add(at, rule, "allOf is not taken; its parts are written into one schema")
	var known merged
	for _, part := range parts.elems {
		if !part.isObject() {
			continue
		}
		x.merge(part, at, rule)
		for _, m := range part.members {
			x.mergeKeyword(t, m, at, rule, &known)
		}
	}
}

// merged is what is known of a schema that parts are written into, for parts to be found in.
type merged struct {
	props    map[string]int
	required map[string]bool
}

func (x *exporter) mergeKeyword(t *tree, m member, at *loc, rule string, known *merged) {
	have := t.get(m.key)
	switch {
	case have == nil:
		t.set(m.key, m.value)
	case m.key == "properties":
		if known.props == nil {
			known.props = make(map[string]int, len(have.members))
			for i, p := range have.members {
				known.props[p.key] = i
			}
		}
		for _, p := range m.value.entries() {
			if i, ok := known.props[p.key]; !ok {
				known.props[p.key] = len(have.members)
				have.members = append(have.members, p)
			} else if len(have.members[i].value.entries()) == 0 {
				have.members[i].value = p.value
			} else if len(p.value.entries()) > 0 {
				have.members[i].value = newObject(member{"allOf", newArray(have.members[i].value, p.value)})
			}
		}
	case m.key == "required":
		if known.required == nil {
			known.required = map[string]bool{}
			for _, name := range t.words("required") {
				known.required[name] = true
			}
		}
		for _, e := range m.value.elems {
			if name, ok := e.str(); ok && !known.required[name] {
				known.required[name] = true
				have.elems = append(have.elems, e)
			}
		}
	case m.key == "type":
		own, other := t.types(), newObject(m).types()
		if own&typeNumber != 0 && other&typeInt != 0 {
			own |= typeInt
		}
		if other&typeNumber != 0 {
			other |= typeInt
		}
		switch both := own & other; {
		case both == 0:
			x.conflict = m.key
		case both != own:
			t.setTypes(both)
		}
	case annotations[m.key], string(have.text()) == string(m.value.text()):
	default:
		switch m.key {
		case "anyOf", "oneOf", "additionalProperties", "items", "prefixItems", "patternProperties":
			x.conflict = m.key
		}
		x.add(at, rule, "two parts of allOf say %s: %s stays, the tool checks %s", m.key, have.shown(), m.value.shown())
	}
}

// setTypes writes a set of types.
func (t *tree) setTypes(set typeSet) {
	var words []string
	for _, j := range jsonTypes {
		if set&j.set != 0 {
			words = append(words, j.word)
		}
	}
	if len(words) == 1 {
		t.first("type", newText(words[0]))
		return
	}
	t.setWords("type", words)
}

// settle gives a schema either one type, null aside, or anyOf. One that says neither stays as it is.
func (x *exporter) settle(t *tree, at *loc) *tree {
	if t.has("anyOf") && len(t.get("properties").entries()) > 0 {
		x.add(at, "type", "the alternatives of an object are listed together with its properties")
		all := gather(t)
		t.drop("anyOf")
		t.set("properties", all.props)
		if t.drop("required"); len(all.required) > 0 {
			t.setWords("required", all.required)
		}
	}
	if !t.has("type") && t.has("anyOf") {
		x.besideChoices(t, at)
	}
	if !t.has("type") && !t.has("anyOf") {
		x.infer(t, at)
	}
	if t.has("type") && t.has("anyOf") {
		x.pushDown(t, at)
	}
	if several(t.types()) {
		return x.split(t, at)
	}
	return t
}

// besideChoices leaves alternatives alone, or leaves them out where an enum stands beside them, which says
// more.
func (x *exporter) besideChoices(t *tree, at *loc) {
	if t.has("enum") || t.has("const") {
		x.add(at, "type", "anyOf beside an enum is left out; the tool checks it")
		t.drop("anyOf")
		return
	}
	t.members = slices.DeleteFunc(t.members, func(m member) bool {
		for _, keys := range restricts {
			if slices.Contains(keys, m.key) {
				x.add(at, "type", "%s beside anyOf is left out; the tool checks it", m.key)
				return true
			}
		}
		return false
	})
}

// several reports whether a set has more than one type beside null.
func several(set typeSet) bool {
	set &^= typeNull
	return set&(set-1) != 0
}

// infer finds the type that the values or keywords of a schema speak of.
func (x *exporter) infer(t *tree, at *loc) {
	values := t.list("enum")
	if v := t.get("const"); v != nil {
		values = []*tree{v}
	}
	var set typeSet
	for _, v := range values {
		set |= typeOf(v.jsonKind())
	}
	switch {
	case set&typeNumber != 0:
		set &^= typeInt
	case set != 0:
	case t.has("properties") || t.has("additionalProperties") || len(t.list("required")) > 0:
		set = typeObject
	case t.has("items") || t.has("prefixItems"):
		set = typeArray
	}
	if set != 0 {
		t.setTypes(set)
		x.add(at, "type", "names no type; it speaks of %s", set.human())
	}
}

// pushDown takes the type or the alternatives away where both stand together.
func (x *exporter) pushDown(t *tree, at *loc) {
	open := t.types() == typeObject && len(t.get("properties").entries()) == 0
	if only(t, "type", "anyOf", "title", "description", "default", "nullable") ||
		open && only(t, "type", "anyOf", "title", "description", "default", "nullable", "properties") {
		x.add(at, "type", "the type beside anyOf is written into its parts")
		word := t.drop("type")
		t.drop("properties")
		for _, b := range t.list("anyOf") {
			if b.isObject() && !b.has("type") && !b.has("anyOf") {
				b.first("type", word)
			}
		}
		return
	}
	x.add(at, "type", "anyOf beside a type is left out; the tool checks it")
	t.drop("anyOf")
}

// restricts says which keywords are about which type.
var restricts = map[string][]string{
	"string":  {"pattern", "format", "minLength", "maxLength"},
	"number":  {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"},
	"integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"},
	"array":   {"items", "prefixItems", "minItems", "maxItems"},
	"object":  {"properties", "required", "additionalProperties", "minProperties", "maxProperties", "propertyOrdering"},
}

// split writes several types as alternatives, each with what is about it.
func (x *exporter) split(t *tree, at *loc) *tree {
	out := newObject()
	for _, word := range [...]string{"title", "description", "default"} {
		if v := t.get(word); v != nil {
			out.set(word, v)
		}
	}
	list := newArray()
	types := t.words("type")
	for _, word := range types {
		if word == "integer" && slices.Contains(types, "number") {
			continue
		}
		b := typed(word)
		for _, key := range restricts[word] {
			if v := t.get(key); v != nil {
				b.set(key, v.clone())
			}
		}
		if values := t.list("enum"); values != nil {
			kept := newArray()
			for _, v := range values {
				if k := v.jsonKind(); k == word || k == "integer" && word == "number" {
					kept.elems = append(kept.elems, v)
				}
			}
			if len(kept.elems) == 0 {
				continue
			}
			if word != "null" {
				b.set("enum", kept)
			}
		}
		if v := t.get("const"); v != nil {
			if v.jsonKind() != word {
				continue
			}
			b.set("const", v)
		}
		list.elems = append(list.elems, b)
	}
	x.add(at, "type", "several types are written as anyOf")
	if len(list.elems) == 0 { // no value of the enum is of a type named
		list.elems = append(list.elems, typed("null"))
	}
	out.set("anyOf", list)
	return out
}

// relevant leaves out what is about other types than a schema's own.
func (x *exporter) relevant(t *tree, at *loc) {
	types := t.types()
	if types == 0 {
		return
	}
	about := map[string]bool{} // keyword: is it about a type of t
	for _, j := range jsonTypes {
		for _, key := range restricts[j.word] {
			about[key] = about[key] || types&j.set != 0
		}
	}
	t.members = slices.DeleteFunc(t.members, func(m member) bool {
		mine, known := about[m.key]
		if known && !mine {
			x.add(at, "type", "%s says nothing of %s and is left out", m.key, types.human())
		}
		return known && !mine
	})
}

// format leaves out a format that the API does not take.
func (x *exporter) format(t *tree, at *loc) {
	format, ok := t.get("format").str()
	if !ok {
		return
	}
	words := t.words("type")
	if word, ok := t.get("type").str(); ok {
		words = []string{word}
	}
	for _, word := range words {
		if slices.Contains(x.formats[word], format) {
			return
		}
	}
	x.add(at, "format", "format %s is not taken and is left out; the tool checks it", clip(format))
	t.drop("format")
}
