package toolschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsource/toolsource"
)

// kindOf names a value's kind, never the value: arguments may hold secrets.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case int64, json.Number:
		return "an integer"
	case float64:
		if _, whole := integral(v); whole {
			return "a number"
		}
		return "a number with a fraction"
	case string:
		return "a string"
	case []any:
		return "an array"
	case toolsource.Blob:
		return "a blob"
	}
	return "an object"
}

// hint says how to repair the mistakes that models make most.
func hint(types typeSet, v any, at *spot) string {
	switch v := v.(type) {
	case nil:
		if at != nil && at.optional {
			return " (leave it out instead)"
		}
	case string:
		if _, ok := unquoted(types, v); ok {
			return " (write it without quotes)"
		}
		if types&(typeArray|typeObject) != 0 && json.Valid([]byte(v)) {
			return " (give the value itself, not its JSON text)"
		}
	case int64, float64, bool, json.Number:
		if types&typeString != 0 {
			return " (put it in quotes)"
		}
	}
	return ""
}

// human says what a shape takes.
func (s *shape) human() string {
	if s == nil {
		return "any value"
	}
	if s.enum != nil {
		return enumText(s.enum)
	}
	if t := s.kinds; t != 0 {
		return t.human()
	}
	for _, a := range s.all {
		if len(a.enum) > 0 {
			return enumText(a.enum)
		}
	}
	for _, o := range s.options {
		return wanted(o)
	}
	return "any value"
}

// wanted lists what alternatives take.
func wanted(options []*shape) string {
	var words []string
	for _, o := range options {
		w := o.requirement()
		if !slices.Contains(words, w) && len(words) < maxShown {
			words = append(words, w)
		}
	}
	return strings.Join(words, " or ")
}

// requirement is what an alternative takes, told apart from its neighbours by what it requires.
func (s *shape) requirement() string {
	t := s.types
	if t == 0 && len(s.all) == 0 {
		t = s.kinds
	}
	if t == typeObject && len(s.required) > 0 {
		var names []string
		for _, n := range s.required[:min(maxShown, len(s.required))] {
			names = append(names, label(n))
		}
		return "an object with " + strings.Join(names, " and ")
	}
	if t != 0 && s.enum == nil {
		return t.human()
	}
	if len(s.options) > 0 && s.enum == nil {
		return "one of several forms"
	}
	return s.human()
}

func enumText(values []any) string {
	words := make([]string, 0, maxShown+1)
	for i, v := range values {
		if i == maxShown {
			words = append(words, fmt.Sprintf("%d more", len(values)-maxShown))
			break
		}
		b, _ := json.Marshal(v)
		words = append(words, strings.Map(printable, clip(string(b))))
	}
	if len(words) == 1 {
		return words[0]
	}
	return "one of " + strings.Join(words, ", ")
}

// names lists what a closed shape takes.
func (s *shape) names() string {
	if len(s.props) == 0 {
		return "none are taken"
	}
	words := make([]string, 0, maxShown+1)
	for i, p := range s.props {
		if i == maxShown {
			words = append(words, fmt.Sprintf("%d more", len(s.props)-maxShown))
			break
		}
		words = append(words, label(p.name))
	}
	return "known are " + strings.Join(words, ", ")
}

// oneOf reports whether v is one of the values of an enum. Numbers are compared by value.
func oneOf(values []any, v any) bool {
	for _, e := range values {
		if equal(e, v) {
			return true
		}
	}
	return false
}

func equal(a, b any) bool {
	switch x := a.(type) {
	case int64, float64, json.Number:
		switch y := b.(type) {
		case int64, float64, json.Number:
			if x, ok := a.(int64); ok {
				if y, ok := y.(int64); ok {
					return x == y
				}
			}
			return a == b || short(a) && short(b) && rational(a).Cmp(rational(b)) == 0
		}
		return false
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equal)
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, e := range x {
			if f, ok := y[k]; !ok || !equal(e, f) {
				return false
			}
		}
		return true
	}
	switch b := b.(type) {
	case json.RawMessage:
		return equal(a, decode(b))
	case nil, bool, string:
		return a == b
	}
	return false
}

// short keeps a number of a million digits from being worked with.
func short(v any) bool {
	n, ok := v.(json.Number)
	return !ok || len(n) <= 400
}

func rational(v any) *big.Rat {
	r := new(big.Rat)
	switch v := v.(type) {
	case int64:
		r.SetInt64(v)
	case float64:
		r.SetFloat64(v)
	case json.Number:
		if n, ok := new(big.Int).SetString(string(v), 10); ok {
			r.SetInt(n)
		}
	}
	return r
}

// decode reads valid JSON with its integers exact, as Arguments gives values.
func decode(raw json.RawMessage) any {
	if v, ok := simple(raw); ok {
		return v
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return raw
	}
	exact, err := toolsource.Arguments(map[string]any{"": v})
	if err != nil {
		return v
	}
	return exact[""]
}

// simple decodes what most enums hold without a decoder: strings, short integers, booleans and null.
func simple(raw json.RawMessage) (v any, ok bool) {
	if len(raw) == 0 {
		return nil, false
	}
	switch raw[0] {
	case '"':
		return unquote(bytes.TrimRight(raw, " \n\t\r")), true
	case 't', 'f':
		return raw[0] == 't', true
	case 'n':
		return nil, true
	}
	if len(raw) < 19 { // what fits an int64 for certain
		if i, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			return i, true
		}
	}
	return nil, false
}

// same reports whether checking left a value as it was, without looking into it.
func same(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && sameMap(x, y)
	case []any:
		y, ok := b.([]any)
		return ok && len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0])
	case json.RawMessage:
		y, ok := b.(json.RawMessage)
		return ok && len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0])
	case toolsource.Blob:
		_, ok := b.(toolsource.Blob)
		return ok
	}
	switch b.(type) {
	case map[string]any, []any, json.RawMessage, toolsource.Blob:
		return false
	}
	return a == b
}

func sameMap(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}
