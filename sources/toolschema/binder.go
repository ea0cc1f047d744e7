package toolschema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolsource/toolsource"
)

// A Binder fits a call's arguments to a schema. It is safe for concurrent use.
type Binder struct {
	root     *shape // nil: anything fits
	problems []Problem
	lenient  bool
}

// NewBinder reads a schema. It never fails: a schema that cannot be used, or what of it cannot, lets
// everything pass, and Problems says so.
func NewBinder(schema json.RawMessage) *Binder {
	d := read(schema)
	defer d.release()
	b := &Binder{}
	if d.root != nil {
		if reason := notAnObject(d.root); reason != "" {
			d.add(nil, `give it "type": "object"`, "%s; arguments are not checked", reason)
		} else if d.root.isObject() {
			c := compiler{doc: d}
			b.root = c.compile(d.root, nil, 0)
			c.kinds()
		}
	}
	b.problems = d.all()
	return b
}

// Problems are the parts of the schema that are not checked, each with its reason.
func (b *Binder) Problems() []Problem { return b.problems }

// Lenient is a Binder that also reads a number, an integer or a boolean from a string that is written
// exactly as JSON would write it, where the schema does not accept a string: "50" is 50 for an integer,
// while "50 " and "1e2" are errors, as every such string is without it. It suits models that quote
// everything.
func (b *Binder) Lenient() *Binder {
	l := *b
	l.lenient = true
	return &l
}

// Bind gives the arguments as they go to the tool, or an ErrBadArguments that tells for each wrong one
// where it is, what it is and what was wanted. It never changes args, and returns args itself where
// nothing has to change.
//
// Checked are types, required, enum, const and, where additionalProperties is false, unknown names, down
// to the leaves and through references and combinators; what else a schema asks for is the tool's to
// check. Whatever it says nothing about passes. Coerced is only what loses nothing: a float without a
// fraction becomes an integer where the schema wants one. Integers of any size keep their digits, defaults
// are not filled in, and a json.RawMessage passes as it is unless something inside has to be coerced.
func (b *Binder) Bind(args map[string]any) (map[string]any, error) {
	out, err := toolsource.Arguments(args)
	if err != nil {
		return nil, err
	}
	if out == nil {
		out = map[string]any{}
	}
	if steps := maxSteps; b.root.holds(out, &steps) {
		return out, nil
	}
	return b.check(out)
}

// check is Bind for arguments that may have to change.
func (b *Binder) check(args map[string]any) (map[string]any, error) {
	c := checker{lenient: b.lenient}
	v := c.value(b.root, args, nil)
	if len(c.faults) > 0 {
		return nil, c.err()
	}
	return v.(map[string]any), nil
}

// A shape is what is checked of a schema. Shapes form a graph: a recursive schema is a cycle.
type shape struct {
	types    typeSet // 0: any
	kinds    typeSet // types, or what follows from references, for telling what was wanted; 0: any
	told     bool    // kinds is worked out
	nullable bool    // null fits whatever else is said (OpenAPI)
	closed   bool    // names outside props are refused
	enum     []any   // as decoded with exact numbers; nil: any
	props    []prop
	byName   map[string]int // of more than indexFrom props
	required []string
	extra    *shape // of names outside props; nil: any
	items    *shape // nil: any
	tuple    []*shape
	all      []*shape
	options  [][]*shape // of each list at least one fits
}

type prop struct {
	name  string
	shape *shape
}

// prop finds a property, -1 if it is not listed.
func (s *shape) prop(name string) int {
	if s.byName != nil {
		if i, ok := s.byName[name]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(s.props, func(p prop) bool { return p.name == name })
}

// plain are the shapes of schemas that say nothing but a type, which most are. They are never changed.
var plain = func() (all [2 * typeObject]shape) {
	for i := range all {
		all[i] = shape{types: typeSet(i), kinds: typeSet(i), told: true}
	}
	return all
}()

// A compiler makes one shape per node, so that references cost nothing and cycles end.
type compiler struct {
	*doc
}

// compile is nil for a schema that takes anything.
func (c *compiler) compile(n *node, at *loc, hops int) *shape {
	if n.shaped {
		return n.shape
	}
	if !n.isObject() {
		if n.raw[0] != 't' {
			c.add(at, "give an object", "is %s, not a schema to check against; any value is taken", clip(string(n.raw)))
		}
		return nil
	}
	if hops > maxHops {
		c.add(at, "make the schema flatter", "goes through more than %d references; any value is taken", maxHops)
		return nil
	}
	if ref := n.at("$ref"); ref != nil && onlyRef(n) {
		s := (*shape)(nil)
		if t, there, ok := c.target(ref, at); ok {
			s = c.compile(t, there, hops+1)
		}
		n.shape, n.shaped = s, true
		return s
	}
	if n.isPlain() {
		n.shape, n.shaped = &plain[n.types()], true
		return n.shape
	}
	s := &shape{types: n.types()}
	n.shape, n.shaped = s, true
	c.shapes = append(c.shapes, s)
	if nullable := n.at("nullable"); nullable != nil {
		s.nullable = nullable.raw[0] == 't'
	}
	if values := n.enum(); values != nil {
		s.enum = make([]any, len(values))
		for i, raw := range values {
			s.enum[i] = decode(raw)
		}
	}
	c.object(s, n, at)
	c.array(s, n, at)
	c.combined(s, n, at, hops)
	return s
}

// isPlain reports whether nothing but a node's type is checked.
func (n *node) isPlain() bool {
	for i := range n.elems {
		switch n.elems[i].key {
		case "$ref", "nullable", "const", "enum", "required", "properties", "additionalProperties",
			"items", "additionalItems", "prefixItems", "allOf", "anyOf", "oneOf":
			return false
		}
	}
	return true
}

// onlyRef reports whether nothing that is checked stands beside a node's $ref.
func onlyRef(n *node) bool {
	for i := range n.elems {
		switch n.elems[i].key {
		case "$ref", "description", "title", "default", "examples", "deprecated", "$defs", "definitions", "$comment":
		default:
			return false
		}
	}
	return true
}

// kinds works out every shape's kinds, each once.
func (c *compiler) kinds() {
	var visit func(s *shape) typeSet
	visit = func(s *shape) typeSet {
		if s.told {
			return s.kinds
		}
		s.told = true
		s.kinds = s.types
		for i := 0; s.kinds == 0 && i < len(s.all); i++ {
			s.kinds = visit(s.all[i])
		}
		if s.kinds == 0 && (s.props != nil || len(s.required) > 0) {
			s.kinds = typeObject
		}
		for i := 0; s.kinds == 0 && i < len(s.options); i++ {
			for _, o := range s.options[i] {
				if s.kinds |= visit(o); o.kinds == 0 {
					s.kinds = 0
					break
				}
			}
		}
		return s.kinds
	}
	for _, s := range c.shapes {
		visit(s)
	}
}

func (c *compiler) object(s *shape, n *node, at *loc) {
	s.required = n.strings("required")
	if props := n.at("properties"); props != nil && props.isObject() {
		here := c.in(at, "properties")
		s.props = make([]prop, len(props.elems))
		for i := range props.elems {
			p := &props.elems[i]
			s.props[i] = prop{p.key, c.compile(p, c.in(here, p.key), 0)}
		}
		if len(s.props) > indexFrom {
			s.byName = make(map[string]int, len(s.props))
			for i, p := range s.props {
				s.byName[p.name] = i
			}
		}
	}
	if more := n.at("additionalProperties"); more != nil && n.at("patternProperties") == nil {
		if more.raw[0] == 'f' {
			s.closed = n.at("$ref") == nil && n.at("allOf") == nil && n.at("anyOf") == nil && n.at("oneOf") == nil
		} else {
			s.extra = c.compile(more, c.in(at, "additionalProperties"), 0)
		}
	}
}

func (c *compiler) array(s *shape, n *node, at *loc) {
	items, tuple := n.at("items"), n.at("prefixItems")
	if items != nil && items.isArray() { // as tuples were written before 2020-12
		items, tuple = n.at("additionalItems"), items
	}
	if tuple != nil && tuple.isArray() {
		for i := range tuple.elems {
			s.tuple = append(s.tuple, c.compile(&tuple.elems[i], c.in(at, "prefixItems"), 0))
		}
	}
	if items != nil && items.raw[0] != 'f' { // false bounds the length, which is the tool's to check
		s.items = c.compile(items, c.in(at, "items"), 0)
	}
}

func (c *compiler) combined(s *shape, n *node, at *loc, hops int) {
	if ref := n.at("$ref"); ref != nil {
		if t, there, ok := c.target(ref, at); ok {
			if r := c.compile(t, there, hops+1); r != nil {
				s.all = append(s.all, r)
			}
		}
	}
	all := n.list("allOf")
	for i := range all {
		if a := c.compile(&all[i], c.in(at, "allOf"), hops+1); a != nil {
			s.all = append(s.all, a)
		}
	}
	for _, word := range [...]string{"anyOf", "oneOf"} {
		list := n.list(word)
		if len(list) == 0 {
			continue
		}
		options := make([]*shape, 0, len(list))
		for i := range list {
			o := &list[i]
			if o.raw[0] == 'f' {
				continue
			}
			sh := c.compile(o, c.in(at, word), hops+1)
			if sh == nil { // one that takes anything
				options = nil
				break
			}
			options = append(options, sh)
		}
		if len(options) > 0 {
			s.options = append(s.options, options)
		}
	}
}

// FromArgs writes a JSON Schema for a tool that declares nothing but its arguments. Other names are
// refused by it. An argument whose default is null also accepts null.
func FromArgs(args []toolsource.ArgSpec) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{`)
	var required []string
	for i, a := range args {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%s", quote(a.Name), argSchema(a))
		if a.Required {
			required = append(required, quote(a.Name))
		}
	}
	b.WriteByte('}')
	if len(required) > 0 {
		fmt.Fprintf(&b, `,"required":[%s]`, strings.Join(required, ","))
	}
	b.WriteString(`,"additionalProperties":false}`)
	return json.RawMessage(b.String())
}

func argSchema(a toolsource.ArgSpec) string {
	var members []string
	for _, t := range jsonTypes {
		if t.arg != a.Type || a.Type == "" {
			continue
		}
		word := quote(t.word)
		if string(a.Default) == "null" {
			word = "[" + word + `,"null"]`
		}
		members = append(members, `"type":`+word)
	}
	if a.Description != "" {
		members = append(members, `"description":`+quote(a.Description))
	}
	if len(a.Enum) > 0 {
		values := make([]string, len(a.Enum))
		for i, e := range a.Enum {
			values[i] = string(orNull(e))
		}
		members = append(members, `"enum":[`+strings.Join(values, ",")+"]")
	}
	if a.Default != nil {
		members = append(members, `"default":`+string(orNull(a.Default)))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// orNull keeps one bad value from spoiling the whole schema.
func orNull(raw json.RawMessage) json.RawMessage {
	if json.Valid(raw) {
		return raw
	}
	return json.RawMessage("null")
}

func quote(s string) string {
	if plainText(s) {
		return `"` + s + `"`
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string can always be written
	return strings.TrimSuffix(b.String(), "\n")
}

// plainText reports whether JSON writes a text as it stands.
func plainText(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= utf8.RuneSelf || s[i] == '"' || s[i] == '\\' || s[i] == 0x7f {
			return false
		}
	}
	return true
}
