package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const (
	paramPrefix  = "Mcp-Param-"
	paramKeyword = "x-mcp-header"
	maxSafe      = 1<<53 - 1 // the largest integer that a header may repeat
)

// HeaderParams says which arguments of a tool its calls repeat in headers of their HTTP requests, from
// revision 2026-07-28 on. It never changes.
type HeaderParams struct{ params []headerParam }

type headerParam struct {
	header string   // canonical
	path   []string // from the arguments down, by property names
}

// ParseHeaderParams reads the x-mcp-header annotations of a tool's input schema. nil without an error: it
// has none, as nearly all. An error says that an annotation breaks the rules of the revision, whereupon the
// tool must not be offered over HTTP; it names the property.
func ParseHeaderParams(schema []byte) (*HeaderParams, error) {
	if !bytes.Contains(schema, []byte(paramKeyword)) {
		return nil, nil
	}
	var root map[string]json.RawMessage
	if json.Unmarshal(schema, &root) != nil {
		return nil, nil // nothing that could be annotated
	}
	r := paramReader{seen: map[string]bool{}}
	if err := r.schema(root, nil, true); err != nil {
		return nil, err
	}
	if len(r.found) == 0 {
		return nil, nil
	}
	return &HeaderParams{r.found}, nil
}

type paramReader struct {
	found []headerParam
	seen  map[string]bool // header names, lower case
}

// Keywords of JSON Schema whose value is a schema or a list of schemas, and those that hold schemas by name.
var (
	subschemas = map[string]bool{"items": true, "additionalItems": true, "prefixItems": true, "contains": true,
		"additionalProperties": true, "propertyNames": true, "unevaluatedItems": true, "unevaluatedProperties": true,
		"allOf": true, "anyOf": true, "oneOf": true, "not": true, "if": true, "then": true, "else": true, "contentSchema": true}
	schemasByName = map[string]bool{"patternProperties": true, "dependentSchemas": true, "dependencies": true, "$defs": true, "definitions": true}
)

// schema reads one schema. reachable says that only properties lead to it from the root, so that its value
// has one place in the arguments.
func (r *paramReader) schema(s map[string]json.RawMessage, path []string, reachable bool) error {
	for _, key := range slices.Sorted(maps.Keys(s)) {
		var err error
		switch raw := s[key]; {
		case key == paramKeyword:
			err = r.annotation(s, path, reachable)
		case key == "properties":
			err = r.byName(raw, path, reachable)
		case schemasByName[key]:
			err = r.byName(raw, path, false)
		case subschemas[key]:
			err = r.within(raw, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *paramReader) byName(raw []byte, path []string, reachable bool) error {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		var s map[string]json.RawMessage
		if json.Unmarshal(m[name], &s) != nil {
			continue // true, false, or a list of names
		}
		if err := r.schema(s, append(slices.Clip(path), name), reachable); err != nil {
			return err
		}
	}
	return nil
}

func (r *paramReader) within(raw []byte, path []string) error {
	var one map[string]json.RawMessage
	if json.Unmarshal(raw, &one) == nil {
		return r.schema(one, path, false)
	}
	var many []json.RawMessage
	_ = json.Unmarshal(raw, &many)
	for _, m := range many {
		one = nil
		if json.Unmarshal(m, &one) != nil {
			continue
		}
		if err := r.schema(one, path, false); err != nil {
			return err
		}
	}
	return nil
}

func (r *paramReader) annotation(s map[string]json.RawMessage, path []string, reachable bool) error {
	at := strings.Join(path, ".")
	if at == "" {
		at = "the schema itself"
	}
	wrong := func(what string) error { return fmt.Errorf("%s on %s: %s", paramKeyword, at, what) }
	if !reachable || len(path) == 0 {
		return wrong("only a property that nothing but properties leads to may have one")
	}
	switch typ, _ := stringOf(s["type"]); typ {
	case "string", "integer", "boolean":
	default:
		return wrong("only a string, an integer or a boolean may have one")
	}
	name, ok := stringOf(s[paramKeyword])
	switch {
	case !ok || !token(name):
		return wrong("no name of a header")
	case r.seen[strings.ToLower(name)]:
		return wrong("another property has the same one")
	}
	r.seen[strings.ToLower(name)] = true
	r.found = append(r.found, headerParam{http.CanonicalHeaderKey(paramPrefix + name), path})
	return nil
}

// token reports whether s is a field name of HTTP.
func token(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// set adds the headers for the given arguments. One for an argument that is absent, null or nothing that a
// header can repeat is left out.
func (p *HeaderParams) set(h http.Header, args []byte) {
	if p == nil {
		return
	}
	var top map[string]json.RawMessage
	if json.Unmarshal(args, &top) != nil {
		return
	}
	for _, hp := range p.params {
		if v, err := hp.value(top); err == nil {
			h[hp.header] = []string{v}
		}
	}
}

var errNoHeader = errors.New("nothing to repeat")

func (hp *headerParam) value(obj map[string]json.RawMessage) (string, error) {
	for _, name := range hp.path[:len(hp.path)-1] {
		var inner map[string]json.RawMessage
		if err := json.Unmarshal(obj[name], &inner); err != nil {
			return "", err
		}
		obj = inner
	}
	raw := obj[hp.path[len(hp.path)-1]]
	if string(raw) == "true" || string(raw) == "false" {
		return string(raw), nil
	}
	if s, ok := stringOf(raw); ok {
		return headerText(s), nil
	}
	if n, ok := integer(raw); ok && n >= -maxSafe && n <= maxSafe {
		return strconv.FormatInt(n, 10), nil
	}
	return "", errNoHeader
}

// headerText is how a text stands in a header of the revision: as it is where that is safe, else encoded.
func headerText(s string) string {
	const prefix, suffix = "=?base64?", "?="
	if plainHeader(s) && !(strings.HasPrefix(s, prefix) && strings.HasSuffix(s, suffix)) {
		return s
	}
	return prefix + base64.StdEncoding.EncodeToString([]byte(s)) + suffix
}

// plainHeader reports whether a header carries s unchanged. An empty one may be dropped on its way.
func plainHeader(s string) bool {
	if s == "" || s[0] == ' ' || s[len(s)-1] == ' ' {
		return false
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}
