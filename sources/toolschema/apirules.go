package toolschema

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// strictSchema looks for what OpenAI's strict mode does not take.
func (c *apiChecker) strictSchema(s map[string]any, path string) {
	for _, key := range sorted(s) {
		if !slices.Contains(c.keywords, key) {
			c.breach(path, "keyword", "%s is not taken", key)
		}
	}
	types := c.typesOf(s)
	_, union := s["anyOf"]
	_, ref := s["$ref"]
	known := 0
	for _, word := range types {
		if typeOf(word) == 0 {
			c.breach(path, "type", "%q is no type", word)
		} else if word != "null" {
			known++
		}
	}
	if known > 1 || len(types) == 0 && !union && !ref {
		c.breach(path, "type", "names %d types", known)
	}
	c.format(s, types, path)
	if slices.Contains(types, "object") {
		c.closedObject(s, path)
	}
	values, _ := s["enum"].([]any)
	long := 0
	for _, v := range values {
		long += width(v)
	}
	c.enums += len(values)
	c.chars += long
	if v, there := s["const"]; there {
		c.chars += width(v)
	}
	if len(values) > c.strict.longEnum && long > c.strict.longText {
		c.breach(path, "enum-length", "%d values have %d characters, and %d are taken", len(values), long, c.strict.longText)
	}
}

func (c *apiChecker) closedObject(s map[string]any, path string) {
	if more, there := s["additionalProperties"]; !there || more != false {
		c.breach(path, "closed", "additionalProperties is not false")
	}
	props, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range sorted(props) {
		c.props++
		c.chars += utf8.RuneCountInString(name)
		if !slices.Contains(required, any(name)) {
			c.breach(path, "all-required", "%s is not required", label(name))
		}
	}
}

// width is how many characters a value has.
func width(v any) int {
	if s, ok := v.(string); ok {
		return utf8.RuneCountInString(s)
	}
	b, _ := json.Marshal(v)
	return len(b)
}

func (c *apiChecker) format(s map[string]any, types []string, path string) {
	format, ok := s["format"].(string)
	if !ok || c.formats == nil {
		return
	}
	for _, word := range types {
		if slices.Contains(c.formats[word], format) || slices.Contains(c.formats[strings.ToUpper(word)], format) {
			return
		}
	}
	c.breach(path, "format", "%s is not taken", clip(format))
}

// geminiTypes are the words of Gemini's enumeration of types.
var geminiTypes = []string{"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"}

// openAPISchema looks for what Gemini's Schema does not take.
func (c *apiChecker) openAPISchema(s map[string]any, path string) {
	for _, key := range sorted(s) {
		if !slices.Contains(c.keywords, key) {
			c.breach(path, "keyword", "%s is no field of Schema", key)
		}
	}
	if _, union := s["anyOf"]; union {
		if len(s) > 1 {
			c.breach(path, "any-of-alone", "%d fields stand beside anyOf", len(s)-1)
		}
		return
	}
	word, _ := s["type"].(string)
	if !slices.Contains(geminiTypes, word) {
		c.breach(path, "type", "%v is no type", s["type"])
	}
	c.format(s, c.typesOf(s), path)
	if enum, there := s["enum"]; there {
		values, _ := enum.([]any)
		ok := word == "STRING" && len(values) > 0
		for _, v := range values {
			text, isText := v.(string)
			ok = ok && isText && text != ""
		}
		if !ok {
			c.breach(path, "enum", "an enum is of strings that are not empty, for STRING")
		}
	}
	props, there := s["properties"].(map[string]any)
	if there && len(props) == 0 {
		c.breach(path, "properties", "properties is empty")
	}
	required, _ := s["required"].([]any)
	for _, r := range required {
		name, _ := r.(string)
		if _, ok := props[name]; !ok {
			c.breach(path, "required", "%s is not described", label(name))
		}
	}
}

// kinds of value that draft 2020-12 has for each keyword.
var draftKinds = map[string]string{
	"title": "string", "description": "string", "format": "string", "pattern": "string", "$schema": "string", "$id": "string", "$ref": "string", "$comment": "string",
	"minimum": "number", "maximum": "number", "exclusiveMinimum": "number", "exclusiveMaximum": "number", "multipleOf": "number",
	"minLength": "number", "maxLength": "number", "minItems": "number", "maxItems": "number", "minProperties": "number", "maxProperties": "number",
	"uniqueItems": "boolean", "deprecated": "boolean", "readOnly": "boolean", "writeOnly": "boolean",
	"minContains": "number", "maxContains": "number", "$anchor": "string", "contentEncoding": "string", "contentMediaType": "string", "contentSchema": "schema",
	"enum": "array", "required": "array", "examples": "array", "anyOf": "array", "oneOf": "array", "allOf": "array", "prefixItems": "array",
	"properties": "object", "patternProperties": "object", "$defs": "object", "definitions": "object", "dependentSchemas": "object", "dependentRequired": "object",
	"items": "schema", "additionalProperties": "schema", "unevaluatedProperties": "schema", "unevaluatedItems": "schema", "contains": "schema",
	"propertyNames": "schema", "not": "schema", "if": "schema", "then": "schema", "else": "schema",
}

// draft looks for what is no JSON Schema by draft 2020-12.
func (c *apiChecker) draft(s map[string]any, path string) {
	for _, key := range sorted(s) {
		want, known := draftKinds[key]
		kind := ""
		switch s[key].(type) {
		case string:
			kind = "string"
		case json.Number:
			kind = "number"
		case bool:
			kind = "boolean"
		case []any:
			kind = "array"
		case map[string]any:
			kind = "object"
		}
		if n, ok := s[key].(json.Number); ok && known {
			if _, err := n.Float64(); err != nil {
				c.breach(path, "draft", "%s is a number past any float's range", key)
			}
		}
		if known && kind != want && !(want == "schema" && (kind == "object" || kind == "boolean")) {
			c.breach(path, "draft", "%s is %s", key, kind)
		}
		if list, _ := s[key].([]any); slices.Contains([]string{"anyOf", "oneOf", "allOf", "prefixItems"}, key) && len(list) == 0 {
			c.breach(path, "draft", "%s is empty", key)
		}
	}
	if t, there := s["type"]; there {
		types := c.typesOf(s)
		_, word := t.(string)
		list, _ := t.([]any)
		ok := word || len(list) > 0 && len(list) == len(types)
		for i, w := range types {
			ok = ok && typeOf(w) != 0 && !slices.Contains(types[:i], w)
		}
		if !ok {
			c.breach(path, "draft", "type names no types")
		}
	}
	if id, _ := s["$id"].(string); strings.Contains(strings.TrimSuffix(id, "#"), "#") {
		c.breach(path, "draft", "$id %s names a place in something", clip(id))
	}
	for _, key := range [...]string{"dependentRequired", "dependencies"} {
		names, _ := s[key].(map[string]any)
		for _, name := range sorted(names) {
			list, isList := names[name].([]any)
			c.distinct(list, path)
			if key == "dependentRequired" && !isList {
				c.breach(path, "draft", "dependentRequired has no list of names for %s", label(name))
			}
		}
	}
	required, _ := s["required"].([]any)
	c.distinct(required, path)
}

// distinct looks whether a list has names only, each once.
func (c *apiChecker) distinct(required []any, path string) {
	for i, r := range required {
		if _, isText := r.(string); !isText || slices.Contains(required[:i], r) {
			c.breach(path, "draft", "required lists %v", r)
			return
		}
	}
}
