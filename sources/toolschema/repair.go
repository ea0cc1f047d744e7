package toolschema

import (
	"math"
	"slices"
	"strconv"
)

// schemaWords makes a schema of what stands in a schema's place: a type's word, true, null, a number or a
// list. false stays where it has a meaning of its own.
func schemaWords(s *tree, at *loc, c *changes) *tree {
	if !s.isObject() {
		return s
	}
	repair := func(v *tree, at *loc) *tree {
		if v.isObject() {
			return v
		}
		if word, ok := v.str(); ok && typeOf(word) != 0 {
			c.add(at, "schema-word", "the word %q is read as the type", word)
			return typed(word)
		}
		if v.is("true") {
			c.add(at, "schema-word", "true is written as {}: any value")
			return newObject()
		}
		c.add(at, "schema-word", "%s stands where a schema belongs; any value is taken", v.shown())
		return anything()
	}
	for i := 0; i < len(s.members); i++ {
		m := &s.members[i]
		here := &loc{up: at, key: m.key}
		switch {
		case schemaMaps[m.key] && m.value.isObject():
			for j := range m.value.members {
				e := &m.value.members[j]
				if m.key != "dependencies" || !e.value.isArray() || !areNames(newObject(*e)) {
					e.value = repair(e.value, &loc{up: here, key: e.key})
				}
			}
		case m.key == "anyOf" || m.key == "oneOf":
			schemaChoices(m.value, here, c, repair)
		case schemaLists[m.key] && m.value.isArray():
			for j, e := range m.value.elems {
				m.value.elems[j] = repair(e, &loc{up: here, key: strconv.Itoa(j)})
			}
		case m.key == "items" || m.key == "contains":
			if !m.value.is("false") {
				m.value = repair(m.value, here)
			}
		case schemaAlone[m.key] && m.value.kind == 0 && !m.value.is("true") && !m.value.is("false"):
			if word, ok := m.value.str(); ok && typeOf(word) != 0 {
				m.value = repair(m.value, here)
			}
		}
	}
	return s
}

// schemaChoices is schemaWords for alternatives, of which those that no value fits are left out.
func schemaChoices(list *tree, at *loc, c *changes, repair func(*tree, *loc) *tree) {
	if !list.isArray() {
		return
	}
	var kept []*tree
	for j, e := range list.elems {
		here := &loc{up: at, key: strconv.Itoa(j)}
		if e.is("false") {
			c.add(here, "schema-word", "false is an alternative that no value fits, and is left out")
			continue
		}
		kept = append(kept, repair(e, here))
	}
	list.elems = kept
}

// keywordNeeds says what kind of value a keyword has; a keyword that has another is left out.
var keywordNeeds = map[string]func(v *tree) bool{
	"title": isText, "description": isText, "format": isText, "pattern": isText, "$schema": isText, "$id": isText, "$comment": isText,
	"contentEncoding": isText, "contentMediaType": isText, "$anchor": isText,
	"minimum": isNumber, "maximum": isNumber, "exclusiveMinimum": isNumber, "exclusiveMaximum": isNumber, "multipleOf": isPositive,
	"minLength": isCount, "maxLength": isCount, "minItems": isCount, "maxItems": isCount, "minProperties": isCount, "maxProperties": isCount,
	"minContains": isCount, "maxContains": isCount,
	"uniqueItems": isBool, "deprecated": isBool, "readOnly": isBool, "writeOnly": isBool, "nullable": isBool,
	"enum": isFull, "anyOf": isFull, "oneOf": isFull, "allOf": isFull, "prefixItems": isFull,
	"required": (*tree).isArray, "examples": (*tree).isArray,
	"properties": (*tree).isObject, "patternProperties": (*tree).isObject, "$defs": (*tree).isObject, "definitions": (*tree).isObject, "dependentSchemas": (*tree).isObject,
	"dependentRequired": areNames, "dependencies": (*tree).isObject,
	"items":                func(v *tree) bool { return v.kind != 0 || isBool(v) },
	"additionalItems":      isSchema,
	"additionalProperties": isSchema, "unevaluatedItems": isSchema, "unevaluatedProperties": isSchema, "contains": isSchema,
	"propertyNames": isSchema, "not": isSchema, "if": isSchema, "then": isSchema, "else": isSchema, "contentSchema": isSchema,
}

func isText(v *tree) bool   { _, ok := v.str(); return ok }
func isBool(v *tree) bool   { return v.is("true") || v.is("false") }
func isFull(v *tree) bool   { return v.isArray() && len(v.elems) > 0 }
func isSchema(v *tree) bool { return v.isObject() || isBool(v) }
func isNumber(v *tree) bool {
	if v.kind != 0 || v.raw[0] != '-' && (v.raw[0] < '0' || v.raw[0] > '9') {
		return false
	}
	return !math.IsInf(float(v), 0) // no API reads one past a float's range
}

func isPositive(v *tree) bool { return isNumber(v) && float(v) > 0 }
func isCount(v *tree) bool {
	f := float(v)
	return isNumber(v) && f >= 0 && f == math.Trunc(f) && f < math.MaxInt64
}

// areNames reports whether each member is a list of names, none twice.
func areNames(v *tree) bool {
	for _, m := range v.entries() {
		seen := map[string]bool{}
		for _, e := range m.value.elems {
			name, ok := e.str()
			if !ok || seen[name] {
				return false
			}
			seen[name] = true
		}
		if !m.value.isArray() {
			return false
		}
	}
	return v.isObject()
}

func float(v *tree) float64 {
	f, _ := strconv.ParseFloat(string(v.raw), 64)
	return f
}

// keywordKinds leaves out keywords of the wrong kind, and writes those of older drafts as they are today.
func keywordKinds(s *tree, at *loc, c *changes) *tree {
	if !s.isObject() {
		return s
	}
	exclusive(s, "exclusiveMinimum", "minimum", at, c)
	exclusive(s, "exclusiveMaximum", "maximum", at, c)
	s.members = slices.DeleteFunc(s.members, func(m member) bool {
		need := keywordNeeds[m.key]
		if need == nil || need(m.value) {
			return false
		}
		c.add(at, "keyword", "%s is %s, which it cannot be; it is left out", m.key, m.value.shown())
		s.loose = true
		return true
	})
	if list := s.get("required"); list != nil {
		seen := make(map[string]bool, len(list.elems))
		var names []string
		for _, e := range list.elems {
			if name, ok := e.str(); ok && !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
		if len(names) != len(list.elems) {
			c.add(at, "keyword", "required lists %d entries that are no name or stand twice; they are left out", len(list.elems)-len(names))
			s.setWords("required", names)
		}
	}
	return s
}

// exclusive reads a bound as it was written before draft 6: a word about the other bound.
func exclusive(s *tree, key, bound string, at *loc, c *changes) {
	switch v := s.get(key); {
	case v.is("true") && s.has(bound) && isNumber(s.get(bound)):
		c.add(at, "keyword", "%s: true is written as %s: %s", key, key, s.get(bound).shown())
		s.set(key, s.get(bound))
		s.drop(bound)
	case v.is("false"):
		c.add(at, "keyword", "%s: false says nothing and is left out", key)
		s.drop(key)
	}
}

// typeWords leaves types that JSON Schema knows, each once.
func typeWords(s *tree, at *loc, c *changes) *tree {
	t := s.get("type")
	if t == nil {
		return s
	}
	if word, ok := t.str(); ok {
		if typeOf(word) == 0 {
			c.add(at, "type", "%q is no type; any value is taken", clip(word))
			s.drop("type")
			s.loose = true
		}
		return s
	}
	var words []string
	known := t.isArray() && len(t.elems) > 0
	if t.isArray() {
		for _, e := range t.elems {
			word, _ := e.str()
			known = known && typeOf(word) != 0
			if !slices.Contains(words, word) && len(words) < len(jsonTypes) {
				words = append(words, word)
			}
		}
	}
	switch {
	case !known:
		c.add(at, "type", "%s names no types; any value is taken", t.shown())
		s.drop("type")
		s.loose = true
	case len(words) == 1:
		c.add(at, "type", "a list of one type is that type")
		s.set("type", newText(words[0]))
	case len(words) < len(t.elems):
		c.add(at, "type", "types stand twice in the list")
		s.setWords("type", words)
	}
	return s
}

// tuples writes items as a list the way it is written today.
func tuples(s *tree, at *loc, c *changes) *tree {
	items := s.get("items")
	if !items.isArray() {
		if s.has("additionalItems") {
			c.add(at, "tuple", "additionalItems says nothing without a list of items and is left out")
			s.drop("additionalItems")
		}
		return s
	}
	rest := s.drop("additionalItems")
	if len(items.elems) > 0 && !s.has("prefixItems") {
		c.add(at, "tuple", "items as a list is written as prefixItems, and additionalItems as items")
		s.members[s.find("items")].key = "prefixItems"
		if rest != nil && !rest.is("true") {
			s.set("items", rest)
		}
		return s
	}
	c.add(at, "tuple", "a list of items that says nothing is left out")
	s.loose = s.loose || len(items.elems) > 0
	if s.drop("items"); rest != nil && !s.has("prefixItems") && !rest.is("true") {
		s.set("items", rest)
	}
	return s
}

// objects completes what describes an object. Fragments that only restrict one (required alone) are not
// touched: completed, each of several alternatives would take anything.
func objects(s *tree, at *loc, c *changes) *tree {
	if !s.isObject() {
		return s
	}
	props := s.get("properties")
	root := at == nil
	switch types := s.types(); {
	case types == 0 && s.has("type"), types != 0 && types != typeObject:
		return s
	case types == 0 && props == nil && !(root && !hasChoices(s)), types == 0 && !root && (s.has("enum") || s.has("const")):
		return s
	case types == 0:
		c.add(at, "object", `has properties and no type; it has "type": "object" now`)
		s.first("type", newText("object"))
	}
	if props == nil {
		c.add(at, "object", "an object has properties, here none are described")
		props = newObject()
		s.members = slices.Insert(s.members, s.find("type")+1, member{"properties", props})
	}
	if !hasChoices(s) { // which may describe them
		undescribedNames(s, props, at, c)
	}
	return s
}

func hasChoices(s *tree) bool { return s.has("anyOf") || s.has("oneOf") || s.has("allOf") }

// undescribedNames gives every required name a property: left out of required, the tool would miss it.
func undescribedNames(s, props *tree, at *loc, c *changes) {
	required := s.words("required")
	if len(required) == 0 {
		return
	}
	seen := make(map[string]bool, len(props.members))
	for _, m := range props.members {
		seen[m.key] = true
	}
	for _, name := range required {
		if !seen[name] {
			c.add(at, "object", "%q is required but not described; any value is taken", clip(name))
			props.members = append(props.members, member{name, newObject()})
		}
	}
}
