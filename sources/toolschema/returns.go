package toolschema

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

const (
	returnKeys  = 6   // keys shown of an object
	returnDepth = 8   // nesting shown
	returnBytes = 200 // longest text; what would be longer is shown by its outermost type
	returnSteps = 500 // schemas looked at
)

// Returns describes what a tool returns, for reading: "str", "int", "float", "bool", "list[str]",
// "dict{a, b}", alternatives joined by " | ", null left out, and "Any" where the schema does not say. An
// object whose only property is result counts as the envelope of that property.
func Returns(schema json.RawMessage) string {
	d := read(schema)
	defer d.release()
	if d.root == nil {
		return "Any"
	}
	r := returner{doc: d}
	return r.text(d.root, 0)
}

type returner struct {
	*doc
	steps int
}

func (r *returner) text(n *node, depth int) string {
	r.steps++
	for hops := 0; ; hops++ {
		if !n.isObject() || depth > returnDepth || r.steps > returnSteps || hops > maxHops {
			return "Any"
		}
		ref := n.at("$ref")
		if _, ok := ref.text(); !ok {
			break
		}
		if n = r.resolve(ref); n == nil {
			return "Any"
		}
	}
	props := n.at("properties")
	if props != nil && props.isObject() && len(props.elems) == 1 && props.elems[0].key == "result" {
		return r.text(&props.elems[0], depth+1)
	}
	for _, word := range [...]string{"anyOf", "oneOf"} {
		if list := n.list(word); len(list) > 0 {
			return r.union(list, depth)
		}
	}
	if list := n.list("allOf"); len(list) == 1 && n.at("type") == nil && props == nil {
		return r.text(&list[0], depth+1)
	}
	types := n.types()
	if types == 0 && props != nil && props.isObject() {
		types = typeObject
	}
	var parts []string
	for _, t := range jsonTypes {
		switch {
		case types&t.set == 0 || t.set == typeNull:
		case t.set == typeArray:
			parts = append(parts, r.array(n, depth))
		case t.set == typeObject:
			parts = append(parts, object(props))
		default:
			parts = append(parts, t.arg)
		}
	}
	return joined(parts)
}

func (r *returner) array(n *node, depth int) string {
	item := "Any"
	if items := n.at("items"); items != nil {
		item = r.text(items, depth+1)
	}
	if s := "list[" + item + "]"; len(s) <= returnBytes {
		return s
	}
	return "list"
}

func (r *returner) union(list []node, depth int) string {
	var parts []string
	for i := range list {
		if p := r.text(&list[i], depth+1); p != "Any" && !slices.Contains(parts, p) {
			parts = append(parts, p)
		}
	}
	return joined(parts)
}

func joined(parts []string) string {
	if s := strings.Join(parts, " | "); s != "" && len(s) <= returnBytes {
		return s
	}
	return "Any"
}

func object(props *node) string {
	if props == nil || !props.isObject() || len(props.elems) == 0 {
		return "dict"
	}
	shown := make([]string, 0, returnKeys+1)
	for i := range props.elems[:min(returnKeys, len(props.elems))] {
		shown = append(shown, strings.Map(printable, props.elems[i].key))
	}
	if len(props.elems) > returnKeys {
		shown = append(shown, "…")
	}
	if s := "dict{" + strings.Join(shown, ", ") + "}"; len(s) <= returnBytes {
		return s
	}
	return "dict"
}

// breaksLine reports whether a character could break a line or hide text.
func breaksLine(r rune) bool {
	return r != ' ' && unicode.IsSpace(r) || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}
