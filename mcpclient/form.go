package mcpclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/toolsource/toolsource"
)

// form is the schema of an elicitation, which the protocol keeps flat: an object of strings, numbers, booleans
// and lists of strings. nil: there is none, and any values fit.
type form struct {
	fields   []field
	required []string
	closed   bool // there may be no others
}

// field is one property of a form.
type field struct {
	name     string
	kind     string // "string", "number", "integer", "boolean", "array"
	fallback jsonText
	choices  []string // of a string, or of each of a list; nil: any
	format   string
	pattern  *regexp.Regexp
	least    *float64 // number, length or count; nil: no bound
	most     *float64
}

// readForm reads a schema. What it cannot check it refuses: a kind of value that the protocol does not know.
func readForm(raw json.RawMessage) (*form, error) {
	if raw == nil {
		return nil, nil
	}
	t, err := parseJSON(raw)
	if err != nil {
		return nil, err
	}
	m := t.members(nil)
	if kind, _ := m.get("type").str(); kind != "" && kind != "object" {
		return nil, fmt.Errorf("is of the type %q, want object", clip(jsonText(kind)))
	}
	f := &form{closed: m.get("additionalProperties") == "false"}
	var bad fields
	bad.each(m, "required", func(t jsonText) {
		if s, ok := t.str(); ok {
			f.required = append(f.required, s)
		}
	})
	for _, p := range m.get("properties").members(nil) {
		in, err := readField(p)
		if err != nil {
			return nil, fmt.Errorf("has a property %q that %w", clip(jsonText(p.name)), err)
		}
		f.fields = append(f.fields, in)
	}
	return f, bad.err
}

func readField(p member) (field, error) {
	m := p.value.members(nil)
	var bad fields
	f := field{name: p.name, kind: bad.text(m, "type"), fallback: m.get("default"), format: bad.text(m, "format")}
	bounds := func(least, most string) { f.least, f.most = bad.number(m, least), bad.number(m, most) }
	switch f.kind {
	case "string":
		f.choices = choices(m, "oneOf")
		bounds("minLength", "maxLength")
		if s := bad.text(m, "pattern"); s != "" {
			var err error
			if f.pattern, err = regexp.Compile(s); err != nil {
				bad.fail("has a pattern that cannot be checked")
			}
		}
	case "number", "integer":
		bounds("minimum", "maximum")
	case "boolean":
	case "array":
		f.choices = choices(m.get("items").members(nil), "anyOf")
		bounds("minItems", "maxItems")
		if f.choices == nil {
			bad.fail("is a list without choices")
		}
	default:
		bad.fail("has the type %q, want string, number, integer, boolean or array", clip(jsonText(f.kind)))
	}
	return f, bad.err
}

// choices are the values of an enum, plain or with titles; nil: there is none.
func choices(m members, titled string) (list []string) {
	m.get("enum").elements(func(t jsonText) {
		if s, ok := t.str(); ok {
			list = append(list, s)
		}
	})
	m.get(titled).elements(func(t jsonText) {
		if s, ok := t.members(nil).get("const").str(); ok {
			list = append(list, s)
		}
	})
	return list
}

// fit fills defaults in, and writes the values if they fit.
func (f *form) fit(given map[string]any) (json.RawMessage, error) {
	all := map[string]any{}
	if f != nil {
		for _, in := range f.fields {
			if in.fallback.present() {
				all[in.name] = json.RawMessage(in.fallback)
			}
		}
	}
	for name, v := range given {
		all[name] = v
	}
	raw, err := encodeArguments(all)
	if err != nil || f == nil {
		return raw, err
	}
	t, err := parseJSON(raw)
	if err != nil {
		return nil, err
	}
	if err := f.check(t.members(nil)); err != nil {
		return nil, fmt.Errorf("%w: %w", toolsource.ErrBadArguments, err)
	}
	return raw, nil
}

func (f *form) check(m members) error {
	for _, name := range f.required {
		if m.get(name) == "" {
			return fmt.Errorf("%q is missing", name)
		}
	}
	for _, v := range m {
		i := slices.IndexFunc(f.fields, func(in field) bool { return in.name == v.name })
		switch {
		case i >= 0:
			if err := f.fields[i].check(v.value); err != nil {
				return fmt.Errorf("%q %w", v.name, err)
			}
		case f.closed:
			return fmt.Errorf("%q is not asked for", v.name)
		}
	}
	return nil
}

// check never shows the value, which is the user's.
func (f *field) check(t jsonText) error {
	switch f.kind {
	case "string":
		s, ok := t.str()
		if !ok {
			return errors.New("is no string")
		}
		return f.checkString(s)
	case "boolean":
		if t != "true" && t != "false" {
			return errors.New("is no boolean")
		}
	case "number", "integer":
		n, err := strconv.ParseFloat(string(t), 64)
		if err != nil || f.kind == "integer" && n != math.Trunc(n) {
			return fmt.Errorf("is no %s", f.kind)
		}
		return f.within(n, "")
	case "array":
		if t.kind() != '[' {
			return errors.New("is no list")
		}
		n, foreign := 0, false
		t.elements(func(e jsonText) {
			n++
			s, ok := e.str()
			foreign = foreign || !ok || !slices.Contains(f.choices, s)
		})
		if foreign {
			return errors.New("holds what is none of the choices")
		}
		return f.within(float64(n), " in number")
	}
	return nil
}

func (f *field) checkString(s string) error {
	switch {
	case f.choices != nil && !slices.Contains(f.choices, s):
		return errors.New("is none of the choices")
	case f.pattern != nil && !f.pattern.MatchString(s):
		return errors.New("does not match the pattern")
	}
	var err error
	switch f.format {
	case "email":
		_, err = mail.ParseAddress(s)
	case "uri":
		var u *url.URL
		if u, err = url.Parse(s); err == nil && u.Scheme == "" {
			err = errors.New("no scheme")
		}
	case "date":
		_, err = time.Parse(time.DateOnly, s)
	case "date-time":
		_, err = time.Parse(time.RFC3339, s)
	}
	if err != nil {
		return fmt.Errorf("is no %s", f.format)
	}
	return f.within(float64(utf8.RuneCountInString(s)), " in length")
}

func (f *field) within(n float64, what string) error {
	switch {
	case f.least != nil && n < *f.least:
		return fmt.Errorf("is less than %v%s", *f.least, what)
	case f.most != nil && n > *f.most:
		return fmt.Errorf("is more than %v%s", *f.most, what)
	}
	return nil
}
