package toolschema

import (
	"fmt"
	"slices"
	"strings"
)

// gemini writes a schema in the subset of OpenAPI that Gemini takes.
func (x *exporter) gemini(t *tree, at *loc) *tree {
	if !t.isObject() {
		return x.anyValue(newObject(), at)
	}
	x.merge(t, at, "keyword")
	if v := t.drop("const"); v != nil && !t.has("enum") {
		x.add(at, "keyword", "const is written as an enum of one value")
		t.set("enum", newArray(v))
	}
	x.listItems(t, at)
	x.known(t, at)
	t = x.settle(t, at)
	x.nullApart(t, at)
	if t.has("anyOf") {
		return x.choices(t, at)
	}
	x.relevant(t, at)
	word, _ := t.get("type").str()
	switch typeOf(word) {
	case 0:
		return x.anyValue(t, at)
	case typeNull:
		x.add(at, "type", "null alone is written as a string that may be null")
		word = "string"
		t.set("nullable", scalar("true"))
		t.drop("enum")
	case typeObject:
		x.fields(t, at)
	case typeArray:
		items := t.get("items")
		if !items.isObject() {
			x.add(at, "items", "an array has items: any value")
			items = newObject()
		}
		t.set("items", x.gemini(items, &loc{up: at, key: "items"}))
	}
	x.enumStrings(t, word, at)
	t.first("type", newText(strings.ToUpper(word)))
	x.format(t, at)
	return t
}

// fields writes the properties of an object.
func (x *exporter) fields(t *tree, at *loc) {
	props := t.get("properties")
	if len(props.entries()) == 0 {
		if props != nil && at != nil {
			x.add(at, "properties", "properties may not be empty and is left out: any object is taken")
			t.drop("properties")
		}
		t.drop("required")
		return
	}
	here := &loc{up: at, key: "properties"}
	known := make(map[string]bool, len(props.members))
	for i := range props.members {
		m := &props.members[i]
		known[m.key] = true
		m.value = x.gemini(m.value, &loc{up: here, key: m.key})
	}
	if !t.has("required") {
		return
	}
	required := t.words("required")
	kept := slices.DeleteFunc(slices.Clone(required), func(r string) bool { return !known[r] })
	if len(kept) < len(required) {
		x.add(at, "required", "required names %d properties that are not described; they are left out of it", len(required)-len(kept))
	}
	if t.setWords("required", kept); len(kept) == 0 {
		t.drop("required")
	}
}

// nullApart writes null among types or alternatives as nullable.
func (x *exporter) nullApart(t *tree, at *loc) {
	null := false
	if set := t.types(); t.get("type").isArray() {
		null = set&typeNull != 0
		t.setTypes(set &^ typeNull)
	}
	if list := t.get("anyOf"); list.isArray() {
		rest := slices.DeleteFunc(slices.Clone(list.elems), isNullSchema)
		if len(rest) > 0 && len(rest) < len(list.elems) {
			list.elems = rest
			null = true
		}
	}
	if values := t.get("enum"); values.isArray() && len(values.elems) > 1 {
		rest := slices.DeleteFunc(slices.Clone(values.elems), func(v *tree) bool { return v.is("null") })
		if len(rest) < len(values.elems) {
			values.elems = rest
			null = true
		}
	}
	if null && !t.get("nullable").is("true") {
		x.add(at, "type", "null among others is written as nullable")
		t.set("nullable", scalar("true"))
	}
}

// choices writes alternatives, beside which nothing may stand: what is said of all is said of the first, and
// each may be null where all may.
func (x *exporter) choices(t *tree, at *loc) *tree {
	null := t.get("nullable").is("true")
	here := &loc{up: at, key: "anyOf"}
	var list []*tree
	seen := map[string]bool{}
	for i, b := range t.list("anyOf") {
		b = x.gemini(b, &loc{up: here, key: fmt.Sprint(i)})
		inner := []*tree{b}
		if b.has("anyOf") {
			inner = b.list("anyOf")
		}
		for _, c := range inner {
			if words := string(c.text()); !seen[words] {
				seen[words] = true
				list = append(list, c)
			}
		}
	}
	for _, c := range list {
		if null {
			c.set("nullable", scalar("true"))
		}
	}
	if len(list) == 0 {
		return x.anyValue(newObject(), at)
	}
	for _, m := range t.members {
		switch {
		case m.key == "anyOf" || m.key == "nullable":
		case (m.key == "description" || m.key == "title") && !list[0].has(m.key), len(list) == 1 && !list[0].has(m.key):
			list[0].set(m.key, m.value)
			if len(list) > 1 {
				x.add(at, "any-of-alone", "%s may not stand beside anyOf, and stands in its first part", m.key)
			}
		default:
			x.add(at, "any-of-alone", "%s %s may not stand beside anyOf and is left out", m.key, m.value.shown())
		}
	}
	if len(list) == 1 {
		return list[0]
	}
	return newObject(member{"anyOf", newArray(list...)})
}

// anyValue is a schema of any value, which has to name its types.
func (x *exporter) anyValue(t *tree, at *loc) *tree {
	x.add(at, "type", "takes any value: the types are written as anyOf")
	list := newArray()
	for _, word := range [...]string{"STRING", "NUMBER", "BOOLEAN", "OBJECT"} {
		list.elems = append(list.elems, typed(word))
	}
	list.elems = append(list.elems, newObject(member{"type", newText("ARRAY")}, member{"items", typed("STRING")}))
	for _, m := range t.members {
		if m.key == "description" || m.key == "title" {
			list.elems[0].set(m.key, m.value)
		} else if m.key == "nullable" && m.value.is("true") {
			for _, b := range list.elems {
				b.set("nullable", m.value)
			}
		} else if m.key != "type" {
			x.add(at, "any-of-alone", "%s %s may not stand beside anyOf and is left out", m.key, m.value.shown())
		}
	}
	return newObject(member{"anyOf", list})
}

// enumStrings keeps an enum where the API takes it, and else tells its values in the description.
func (x *exporter) enumStrings(t *tree, word string, at *loc) {
	values := t.get("enum")
	if values == nil {
		return
	}
	ok := word == "string"
	for _, v := range values.elems {
		s, isText := v.str()
		ok = ok && isText && s != ""
	}
	if ok {
		return
	}
	const most = 20
	var said []string
	for i, v := range values.elems {
		if i == most {
			said = append(said, fmt.Sprintf("%d more", len(values.elems)-most))
			break
		}
		said = append(said, v.shown())
	}
	t.drop("enum")
	describe(t, "One of: "+strings.Join(said, ", ")+".")
	x.add(at, "enum", "an enum has only strings that are not empty, for STRING; the values stand in the description")
}
