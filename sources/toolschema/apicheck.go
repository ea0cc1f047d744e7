package toolschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Breach is one rule of a model API that a request's tools do not keep.
type Breach struct {
	Tool   string // its name, or its place in the list where it has none
	Path   string // JSON pointer into its schema, or "name" or "description"
	Rule   string // of Rules
	Reason string
}

func (b Breach) String() string {
	return strings.Map(printable, fmt.Sprintf("%s %s: %s [%s]", b.Tool, b.Path, b.Reason, b.Rule))
}

// Check looks for what an API would refuse in the list of tools of a request, as Exported.JSON writes it or as
// anyone else does. It goes by the same Rules as Export, and by nothing else of it. An error says that it is no
// such list at all.
func Check(p Provider, tools json.RawMessage) ([]Breach, error) {
	d := dialects[p]
	if d == nil {
		return nil, fmt.Errorf("toolschema: check for %q: no such provider (known are %v)", p, Providers())
	}
	var list []json.RawMessage
	if err := json.Unmarshal(tools, &list); err != nil {
		return nil, fmt.Errorf("toolschema: check for %s: no list of tools: %w", p, err)
	}
	if d.openAPI {
		var all []json.RawMessage
		for _, raw := range list {
			var group struct {
				Declarations []json.RawMessage `json:"functionDeclarations"`
			}
			if err := json.Unmarshal(raw, &group); err != nil {
				return nil, fmt.Errorf("toolschema: check for %s: no function declarations: %w", p, err)
			}
			all = append(all, group.Declarations...)
		}
		list = all
	}
	c := &apiChecker{dialect: d, provider: p, seen: map[string]bool{}}
	if d.maxTools > 0 && len(list) > d.maxTools {
		c.breach("", "tool-count", "%d tools, and %d are taken", len(list), d.maxTools)
	}
	for i, raw := range list {
		c.tool = fmt.Sprintf("tool %d", i)
		c.entry(raw)
	}
	return c.breaches, nil
}

type apiChecker struct {
	*dialect
	provider Provider
	seen     map[string]bool // names
	tool     string
	top      map[string]any // the schema being looked at
	held     bool           // strict mode is on for this tool
	breaches []Breach

	props, enums, chars, deepest int
	level                        int // schemas that the one being looked at stands in
}

func (c *apiChecker) breach(path, rule, format string, a ...any) {
	c.breaches = append(c.breaches, Breach{c.tool, path, rule, fmt.Sprintf(format, a...)})
}

// apiTool is a tool in any of the forms.
type apiTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	InputSchema json.RawMessage `json:"input_schema"`
	Strict      bool            `json:"strict"`
	Function    *apiTool        `json:"function"`
}

func (c *apiChecker) entry(raw json.RawMessage) {
	var t apiTool
	if err := json.Unmarshal(raw, &t); err != nil {
		c.breach("", "root-object", "is no tool: %v", err)
		return
	}
	if t.Function != nil {
		t = *t.Function
	}
	if t.Name != "" {
		c.tool = label(t.Name)
	}
	if !c.name.MatchString(t.Name) {
		c.breach("name", "name", "does not match %s", c.name)
	} else if c.seen[t.Name] {
		c.breach("name", "name", "stands twice")
	}
	c.seen[t.Name] = true
	if n := utf8.RuneCountInString(t.Description); c.maxDescription > 0 && n > c.maxDescription {
		c.breach("description", "description-length", "has %d characters, and %d are taken", n, c.maxDescription)
	}
	text := t.Parameters
	if c.provider == Anthropic {
		text = t.InputSchema
	}
	if text == nil && c.provider != Anthropic { // a function without parameters
		return
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var schema any
	if err := dec.Decode(&schema); err != nil {
		c.breach("#", "root-object", "is no schema")
		return
	}
	c.held = c.strict != nil && t.Strict
	c.root(schema)
}

func (c *apiChecker) root(schema any) {
	top, ok := schema.(map[string]any)
	if word, _ := top["type"].(string); !ok || word != "object" && !(c.openAPI && word == "OBJECT") {
		c.breach("#", "root-object", "is not of type object")
	}
	if !ok {
		return
	}
	c.top, c.props, c.enums, c.chars, c.deepest = top, 0, 0, 0, 0
	for _, word := range c.rootBans {
		if _, there := top[word]; there {
			c.breach("#", "root-keyword", "%s stands at the top", word)
		}
	}
	props, described := top["properties"].(map[string]any)
	if !described && !c.openAPI && c.provider != Anthropic {
		c.breach("#", "properties", "has no properties")
	}
	for _, name := range sorted(props) {
		if c.property != nil && !c.property.MatchString(name) {
			c.breach("#/properties/"+pointerEscape.Replace(name), "property-name", "does not match %s", c.property)
		}
	}
	c.schema(top, "#", 0)
	if c.held {
		c.sizes()
	}
}

// sizes compares what was counted with what strict mode takes.
func (c *apiChecker) sizes() {
	for _, s := range []struct {
		rule      string
		got, most int
	}{
		{"depth", c.deepest, c.strict.depth}, {"property-count", c.props, c.strict.properties},
		{"enum-count", c.enums, c.strict.enums}, {"text-length", c.chars, c.strict.text},
	} {
		if s.got > s.most {
			c.breach("#", s.rule, "%d, and %d are taken", s.got, s.most)
		}
	}
}

// schema looks at one schema and at those in it.
func (c *apiChecker) schema(v any, path string, depth int) {
	s, ok := v.(map[string]any)
	if !ok {
		if c.openAPI || c.held {
			c.breach(path, "type", "is no object")
		} else if _, isBool := v.(bool); !isBool {
			c.breach(path, "draft", "is neither an object nor true or false")
		}
		return
	}
	if types := c.typesOf(s); slices.Contains(types, "object") || slices.Contains(types, "array") {
		depth++
		c.deepest = max(c.deepest, depth)
	}
	if c.level++; c.level > MaxDepth { // no export is so deep, and paths grow with it
		c.breach("#", "depth", "schemas stand more than %d deep; the rest is not looked at", MaxDepth)
		c.level--
		return
	}
	defer func() { c.level-- }()
	c.common(s, path)
	switch {
	case c.openAPI:
		c.openAPISchema(s, path)
	case c.held:
		c.strictSchema(s, path)
	}
	if !c.openAPI {
		c.draft(s, path)
	}
	for _, key := range sorted(s) {
		here := path + "/" + pointerEscape.Replace(key)
		switch inner := s[key].(type) {
		case map[string]any:
			switch {
			case schemaMaps[key]:
				for _, name := range sorted(inner) {
					if _, names := inner[name].([]any); names && key == "dependencies" {
						continue
					}
					c.schema(inner[name], here+"/"+pointerEscape.Replace(name), depth)
				}
			case schemaAlone[key]:
				c.schema(inner, here, depth)
			}
		case []any:
			if schemaLists[key] {
				for i, e := range inner {
					c.schema(e, fmt.Sprintf("%s/%d", here, i), depth)
				}
			}
		}
	}
}

// typesOf are the types that a schema names, in small letters.
func (c *apiChecker) typesOf(s map[string]any) []string {
	var out []string
	switch t := s["type"].(type) {
	case string:
		out = append(out, strings.ToLower(t))
	case []any:
		for _, e := range t {
			if word, ok := e.(string); ok {
				out = append(out, strings.ToLower(word))
			}
		}
	}
	return out
}

func (c *apiChecker) has(rule string) bool {
	return slices.ContainsFunc(c.rules, func(r Rule) bool { return r.Name == rule })
}

// common looks for what several APIs ask.
func (c *apiChecker) common(s map[string]any, path string) {
	if items, there := s["items"]; c.has("items") && slices.Contains(c.typesOf(s), "array") && !there {
		c.breach(path, "items", "an array has no items")
	} else if _, alone := items.(map[string]any); there && !alone && (c.openAPI || c.held) {
		c.breach(path, "items", "items is no schema")
	}
	if c.has("ref") {
		if ref, there := s["$ref"]; there && !c.resolves(ref) {
			c.breach(path, "ref", "$ref %v points to nothing in the schema", ref)
		}
	}
	c.pattern(s["pattern"], path)
	if named, ok := s["patternProperties"].(map[string]any); ok {
		for _, name := range sorted(named) {
			c.pattern(name, path)
		}
	}
	if c.has("nullable") && s["nullable"] == true {
		c.breach(path, "nullable", "nullable stands for null")
	}
}

func (c *apiChecker) pattern(v any, path string) {
	if p, ok := v.(string); ok && c.python {
		if why := unreadPattern(p, c.lookaround); why != "" {
			c.breach(path, "pattern", "pattern %s: %s", clip(p), why)
		}
	}
}

// resolves reports whether a reference leads to a place in the schema.
func (c *apiChecker) resolves(ref any) bool {
	text, _ := ref.(string)
	if text == "#" {
		return true
	}
	rest, ok := strings.CutPrefix(text, "#/")
	if !ok {
		return false
	}
	var at any = c.top
	for _, key := range strings.Split(rest, "/") {
		m, ok := at.(map[string]any)
		if !ok {
			return false
		}
		if at, ok = m[pointerUnescape.Replace(key)]; !ok {
			return false
		}
	}
	return true
}

func sorted(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
