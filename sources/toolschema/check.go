package toolschema

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsource/toolsource"
)

const (
	maxFaults = 5       // told at once
	maxShown  = 10      // names or values listed in one fault
	maxPath   = 240     // bytes of a place in a fault
	maxTries  = 100_000 // checks made in combinators for one call; past it they count as fitting
)

// A spot is a place in the arguments; its text is only made for a fault.
type spot struct {
	up       *spot
	key      string
	index    int  // -1: key counts
	optional bool // may be left out
}

func (s *spot) String() string {
	if s == nil {
		return "the object of arguments"
	}
	out := ""
	for ; s != nil; s = s.up {
		switch {
		case s.index >= 0:
			out = "[" + strconv.Itoa(s.index) + "]" + out
		case s.up == nil:
			out = label(s.key) + out
		default:
			out = "." + label(s.key) + out
		}
	}
	if len(out) > maxPath { // what is last says most
		return clip(out) + strings.ToValidUTF8(out[len(out)-maxPath/2:], "")
	}
	return out
}

// label writes a name as it is, or in quotes where it would not be seen as one word.
func label(name string) string {
	if name != "" && len(name) <= MaxName && strings.IndexFunc(name, func(r rune) bool { return r == ' ' || breaksLine(r) }) < 0 {
		return name
	}
	return strconv.Quote(clip(name))
}

func (s *spot) member(key string) *spot {
	return &spot{up: s, key: key, index: -1}
}
func (s *spot) element(i int) *spot { return &spot{up: s, index: i} }

// A checker walks one call's arguments. Values are coerced on the way and copied only where that changes
// them.
type checker struct {
	lenient bool
	faults  []string
	more    int
	hops    int // shapes gone through without going into the value
	tries   int // checks made in combinators
	inside  int // depth of alternatives
}

func (c *checker) fault(at *spot, format string, a ...any) {
	if len(c.faults) >= maxFaults {
		c.more++
		return
	}
	if c.inside > 0 { // only whether it fits matters, or a single alternative's faults are told later
		c.faults = append(c.faults, "")
		return
	}
	c.faults = append(c.faults, at.String()+" "+fmt.Sprintf(format, a...))
}

func (c *checker) err() error {
	text := strings.Join(c.faults, "; ")
	if c.more > 0 {
		text += fmt.Sprintf("; and %d more", c.more)
	}
	return fmt.Errorf("%w: %s", toolsource.ErrBadArguments, text)
}

// value checks v and gives it back, coerced. It stops looking where the bounds are reached.
func (c *checker) value(s *shape, v any, at *spot) any {
	if s == nil || c.hops > maxHops {
		return v
	}
	if c.inside > 0 || c.hops > 0 {
		if c.tries++; c.tries > maxTries {
			return v
		}
	}
	if v == nil && s.nullable {
		return v
	}
	if raw, ok := v.(json.RawMessage); ok {
		return c.raw(s, raw, at)
	}
	before := len(c.faults) + c.more
	v = c.typed(s, v, at)
	if len(c.faults)+c.more > before {
		return v
	}
	if s.enum != nil && !oneOf(s.enum, v) {
		c.fault(at, "is %s, want %s", kindOf(v), enumText(s.enum))
		return v
	}
	switch x := v.(type) {
	case map[string]any:
		v = c.object(s, x, at)
	case []any:
		v = c.array(s, x, at)
	}
	c.hops++
	for _, a := range s.all {
		v = c.value(a, v, at)
	}
	for _, o := range s.options {
		v = c.option(o, v, at)
	}
	c.hops--
	return v
}

// passes reports whether a value that holds no others fits a shape as it stands: what most are.
func (s *shape) passes(v any) bool {
	switch v.(type) {
	case map[string]any, []any, json.RawMessage:
		return s == nil
	}
	return s == nil || len(s.all) == 0 && len(s.options) == 0 && (s.types == 0 || fits(s.types, v)) && (s.enum == nil || oneOf(s.enum, v))
}

// raw checks what a raw value holds, and keeps the raw text where that does not change.
func (c *checker) raw(s *shape, raw json.RawMessage, at *spot) any {
	v := decode(raw)
	before := len(c.faults) + c.more
	out := c.value(s, v, at)
	if len(c.faults)+c.more > before || same(v, out) {
		return raw
	}
	return out
}

// typed checks a value's own type.
func (c *checker) typed(s *shape, v any, at *spot) any {
	if s.types == 0 || fits(s.types, v) {
		return v
	}
	if s.types&typeInt != 0 {
		if i, ok := integral(v); ok {
			return i
		}
	}
	if text, ok := v.(string); ok && c.lenient {
		if x, ok := unquoted(s.types, text); ok {
			return x
		}
	}
	c.fault(at, "is %s, want %s%s", kindOf(v), s.types.human(), hint(s.types, v, at))
	return v
}

// fits reports whether v is of one of the types as it stands.
func fits(types typeSet, v any) bool {
	switch v.(type) {
	case nil:
		return types&typeNull != 0
	case bool:
		return types&typeBool != 0
	case int64, json.Number: // Arguments leaves only integers as json.Number
		return types&(typeInt|typeNumber) != 0
	case float64:
		return types&typeNumber != 0
	case string:
		return types&typeString != 0
	case []any:
		return types&typeArray != 0
	case map[string]any, toolsource.Blob:
		return types&typeObject != 0
	}
	return true
}

// integral is a float without a fraction as an integer with the same value.
func integral(v any) (any, bool) {
	f, ok := v.(float64)
	if !ok || f != math.Trunc(f) {
		return nil, false
	}
	if f >= math.MinInt64 && f < math.MaxInt64 { // the float of MaxInt64 is 1 above it
		return int64(f), true
	}
	return json.Number(strconv.FormatFloat(f, 'f', 0, 64)), true
}

// unquoted reads what a string holds, if JSON would write it back the same.
func unquoted(types typeSet, s string) (any, bool) {
	switch {
	case types&typeBool != 0 && (s == "true" || s == "false"):
		return s == "true", true
	case types&(typeInt|typeNumber) == 0 || len(s) > 400:
		return nil, false
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil && strconv.FormatInt(i, 10) == s {
		return i, true
	}
	if n, ok := new(big.Int).SetString(s, 10); ok && n.String() == s {
		return json.Number(s), true
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && types&typeNumber != 0 && json.Valid([]byte(s)) && strconv.FormatFloat(f, 'f', -1, 64) == s {
		return f, true
	}
	return nil, false
}

func (c *checker) object(s *shape, m map[string]any, at *spot) any {
	for _, name := range s.required {
		if _, ok := m[name]; !ok {
			var want *shape
			if i := s.prop(name); i >= 0 {
				want = s.props[i].shape
			}
			c.fault(at.member(name), "is missing, want %s", want.human())
		}
	}
	out := m
	put := func(name string, old, v any) {
		if same(old, v) {
			return
		}
		if sameMap(out, m) {
			out = make(map[string]any, len(m))
			for k, e := range m {
				out[k] = e
			}
		}
		out[name] = v
	}
	known := 0
	for _, p := range s.props {
		if v, ok := m[p.name]; ok {
			known++
			if !p.shape.passes(v) {
				here := at.member(p.name)
				here.optional = !slices.Contains(s.required, p.name)
				put(p.name, v, c.inner(p.shape, v, here))
			}
		}
	}
	if known == len(m) || !s.closed && s.extra == nil {
		return out
	}
	for _, name := range surplus(s, m) {
		if s.closed {
			c.fault(at.member(name), "is not an argument here; %s", s.names())
		} else {
			put(name, m[name], c.inner(s.extra, m[name], at.member(name)))
		}
	}
	return out
}

// surplus are the names that the shape does not list, sorted so that errors are the same every time.
func surplus(s *shape, m map[string]any) []string {
	var out []string
	for name := range m {
		if s.prop(name) < 0 {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func (c *checker) array(s *shape, list []any, at *spot) any {
	if s.items == nil && len(s.tuple) == 0 {
		return list
	}
	out, copied := list, false
	for i, v := range list {
		item := s.items
		if i < len(s.tuple) {
			item = s.tuple[i]
		}
		if item.passes(v) {
			continue
		}
		if x := c.inner(item, v, at.element(i)); !same(v, x) {
			if !copied {
				out, copied = slices.Clone(list), true
			}
			out[i] = x
		}
	}
	return out
}

// inner checks a value inside another: going into a value resets the count of hops.
func (c *checker) inner(s *shape, v any, at *spot) any {
	hops := c.hops
	c.hops = 0
	v = c.value(s, v, at)
	c.hops = hops
	return v
}

// option finds the first alternative that fits. Strings are only read as something else where no
// alternative takes them as they are.
func (c *checker) option(options []*shape, v any, at *spot) any {
	if x, ok := c.try(options, v, at, false); ok {
		return x
	}
	if c.lenient {
		if x, ok := c.try(options, v, at, true); ok {
			return x
		}
	}
	var near []*shape // the alternatives for a value of this kind: if there is one, its faults say most
	for _, o := range options {
		if fits(orAny(o.kinds), v) {
			near = append(near, o)
		}
	}
	if m, ok := v.(map[string]any); ok && c.inside == 0 && len(near) > 1 {
		if name := tag(near); name != "" {
			near = withTag(near, name, m)
			if len(near) == 0 {
				c.untagged(options, name, m, at)
				return v
			}
		}
	}
	if len(near) == 1 && c.inside == 0 {
		return c.value(near[0], v, at)
	}
	if len(near) > 0 {
		c.fault(at, "fits none of its forms, want %s", wanted(options))
	} else {
		c.fault(at, "is %s, want %s", kindOf(v), wanted(options))
	}
	return v
}

func (c *checker) try(options []*shape, v any, at *spot, lenient bool) (any, bool) {
	for _, o := range options {
		t := checker{lenient: lenient, hops: c.hops, tries: c.tries, inside: c.inside + 1}
		x := t.value(o, v, at)
		c.tries = t.tries
		if len(t.faults) == 0 {
			return x, true
		}
	}
	return nil, false
}

func orAny(t typeSet) typeSet {
	if t == 0 {
		return ^typeSet(0)
	}
	return t
}
