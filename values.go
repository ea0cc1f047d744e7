package toolsource

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds the nesting of arguments and values, so that a map that holds itself is an error and
// not the end of the process.
const maxDepth = 1000

// Arguments brings args into the types that a Callable of a Toolbox receives: nil, bool, int64, float64,
// json.Number for integers outside int64, string, Blob, []any, map[string]any, and json.RawMessage, which
// is validated and compacted. It accepts those, every Go integer and float kind, and slices and
// string-keyed maps of them. Anything else, NaN and Inf are an ErrBadArguments that names the path.
// args itself is never changed; where nothing needs changing it is what is returned.
func Arguments(args map[string]any) (map[string]any, error) {
	v, bad := argument(args, 0)
	if bad != nil {
		return nil, bad.error()
	}
	m, _ := v.(map[string]any)
	return m, nil
}

// badValue is what is wrong with a value inside the arguments. Its path is put together on the way out, so
// that a call without faults pays nothing for it.
type badValue struct {
	path string // from the outside in: ".key" and "[index]"
	text string
}

func bad(format string, a ...any) *badValue { return &badValue{text: fmt.Sprintf(format, a...)} }

func (b *badValue) below(step string) *badValue {
	b.path = step + b.path
	return b
}

func (b *badValue) error() error {
	path := strings.TrimPrefix(b.path, ".")
	if path == "" {
		path = "arguments"
	}
	return fmt.Errorf("%w: %s %s", ErrBadArguments, path, b.text)
}

// argument returns in itself where nothing has to change, which costs nothing.
func argument(in any, depth int) (any, *badValue) {
	if depth > maxDepth {
		return nil, bad("is nested more than %d deep, or holds itself", maxDepth)
	}
	switch v := in.(type) {
	case nil, bool, int64, Blob:
		return in, nil
	case string:
		if !utf8.ValidString(v) {
			return nil, bad("is not valid UTF-8; give bytes as a Blob")
		}
		return in, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, notFinite(v)
		}
		return in, nil
	case json.Number:
		return exactNumber(v)
	case json.RawMessage:
		return compactRaw(v)
	case map[string]any:
		return argumentMap(in, v, depth)
	case []any:
		return argumentSlice(in, v, depth)
	}
	return argumentByKind(reflect.ValueOf(in), depth)
}

func notFinite(f float64) *badValue { return bad("is %v, which JSON cannot express", f) }

// exactNumber is an int64 where the number is an integer that fits, a json.Number for one that does not,
// else a float64. One with a fraction or an exponent counts as an integer where it is one that float64 cannot
// hold.
func exactNumber(n json.Number) (any, *badValue) {
	s := n.String()
	if !json.Valid([]byte(s)) || s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return nil, bad("is the number %q, which is not one", s)
	}
	if isInteger(s) {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return i, nil
		}
		return n, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, bad("is the number %s, which is out of range", s)
	}
	if i := wholeNumber(s, f); i != nil {
		return i, nil
	}
	return f, nil
}

// wholeNumber is the integer that a number with a fraction or an exponent stands for, where float64 would
// lose digits of it; else nil.
func wholeNumber(s string, f float64) any {
	const kept = 15 // digits, that float64 keeps of any number
	if len(s) <= kept {
		return nil
	}
	digits, point := decimal(s)
	if len(digits) <= kept || point < len(digits) {
		return nil
	}
	if same, _ := decimal(strconv.FormatFloat(f, 'e', -1, 64)); same == digits {
		return nil
	}
	whole := digits + strings.Repeat("0", point-len(digits))
	if s[0] == '-' {
		whole = "-" + whole
	}
	if i, err := strconv.ParseInt(whole, 10, 64); err == nil {
		return i
	}
	return json.Number(whole)
}

// decimal is a number as 0.digits times ten to the power of point, without zeros around the digits.
func decimal(s string) (digits string, point int) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(s, "-")), "e")
	point, _ = strconv.Atoi(strings.TrimPrefix(exponent, "+"))
	before, after, _ := strings.Cut(mantissa, ".")
	digits = before + after
	point += len(before)
	n := len(digits)
	digits = strings.TrimLeft(digits, "0")
	return strings.TrimRight(digits, "0"), point - (n - len(digits))
}

func isInteger(s string) bool {
	for i := 0; i < len(s); i++ {
		if (s[i] < '0' || s[i] > '9') && (i > 0 || s[i] != '-') {
			return false
		}
	}
	return true
}

func compactRaw(raw json.RawMessage) (any, *badValue) {
	if raw == nil {
		return nil, nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return nil, bad("is raw JSON that does not parse: %v", err)
	}
	if bytes.Equal(b.Bytes(), raw) {
		return raw, nil
	}
	return json.RawMessage(b.Bytes()), nil
}

// argumentMap copies m only from the first member on that has to change.
func argumentMap(in any, m map[string]any, depth int) (any, *badValue) {
	var out map[string]any
	for k, e := range m {
		c, err := argument(e, depth+1)
		if err != nil {
			return nil, err.below("." + k)
		}
		if out == nil && !identical(c, e) {
			out = maps.Clone(m)
		}
		if out != nil {
			out[k] = c
		}
	}
	if out == nil {
		return in, nil
	}
	return out, nil
}

func argumentSlice(in any, s []any, depth int) (any, *badValue) {
	var out []any
	for i, e := range s {
		c, err := argument(e, depth+1)
		if err != nil {
			return nil, err.below("[" + strconv.Itoa(i) + "]")
		}
		if out == nil && !identical(c, e) {
			out = slices.Clone(s)
		}
		if out != nil {
			out[i] = c
		}
	}
	if out == nil {
		return in, nil
	}
	return out, nil
}

// identical reports whether argument left a value as it was. Maps and slices are compared by where they
// are, since argument returns the same one where nothing changed.
func identical(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
	case []any:
		b, ok := b.([]any)
		return ok && len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
	case json.RawMessage:
		b, ok := b.(json.RawMessage)
		return ok && len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
	case Blob:
		_, ok := b.(Blob)
		return ok
	}
	switch b.(type) {
	case nil, bool, int64, float64, string, json.Number:
		return a == b
	}
	return false
}

func argumentByKind(v reflect.Value, depth int) (any, *badValue) {
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.String:
		return argument(v.String(), depth)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return unsigned(v.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return argument(floatOf(v), depth)
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.IsNil() {
			return nil, nil
		}
		out := make([]any, v.Len())
		for i := range out {
			c, err := argument(v.Index(i).Interface(), depth+1)
			if err != nil {
				return nil, err.below("[" + strconv.Itoa(i) + "]")
			}
			out[i] = c
		}
		return out, nil
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String {
			return nil, bad("is a %s, and a map's keys must be strings", v.Type())
		}
		if v.IsNil() {
			return nil, nil
		}
		out := make(map[string]any, v.Len())
		for it := v.MapRange(); it.Next(); {
			k := it.Key().String()
			c, err := argument(it.Value().Interface(), depth+1)
			if err != nil {
				return nil, err.below("." + k)
			}
			out[k] = c
		}
		return out, nil
	}
	return nil, bad("is a %s, which is not a value that JSON has; give a map, a slice, a string, a number, a bool or nil", v.Type())
}

// floatOf widens a float32 by its shortest decimal form, so that 0.1 stays 0.1.
func floatOf(v reflect.Value) float64 {
	f := v.Float()
	if v.Kind() == reflect.Float32 && !math.IsNaN(f) && !math.IsInf(f, 0) {
		if g, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', -1, 32), 64); err == nil {
			return g
		}
	}
	return f
}

func unsigned(u uint64) any {
	if u <= math.MaxInt64 {
		return int64(u)
	}
	return json.Number(strconv.FormatUint(u, 10))
}

// isCanonical reports whether v holds only what Result.Value may hold.
func isCanonical(v any, depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch v := v.(type) {
	case nil, bool, int64, float64, string, Blob:
		return true
	case json.Number:
		_, err := strconv.ParseInt(string(v), 10, 64)
		return err != nil && isInteger(string(v))
	case []any:
		for _, e := range v {
			if !isCanonical(e, depth+1) {
				return false
			}
		}
		return true
	case map[string]any:
		for _, e := range v {
			if !isCanonical(e, depth+1) {
				return false
			}
		}
		return true
	}
	return false
}

// canonical is Value's rule.
func canonical(v any) any {
	if isCanonical(v, 0) {
		return v
	}
	if b, ok := v.([]byte); ok {
		return Blob{Data: b}
	}
	if raw, ok := v.(json.RawMessage); ok {
		if dv, err := decodeExact(raw); err == nil {
			return dv
		}
		return string(raw)
	}
	if c, ok := canonicalByKind(v); ok {
		return c
	}
	b, err := json.Marshal(v)
	if err == nil {
		if dv, err := decodeExact(b); err == nil {
			return dv
		}
	}
	parts := maxParts
	if endless(reflect.ValueOf(v), 0, &parts) {
		return fmt.Sprintf("%T", v)
	}
	return fmt.Sprint(v)
}

// maxParts is how much of a value that JSON cannot say is written as text.
const maxParts = 100_000

// endless reports whether a value holds itself, or has so many parts that it may as well.
func endless(v reflect.Value, depth int, parts *int) bool {
	if *parts--; depth > maxDepth || *parts < 0 {
		return true
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		return !v.IsNil() && endless(v.Elem(), depth+1, parts)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if endless(v.Index(i), depth+1, parts) {
				return true
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if endless(it.Value(), depth+1, parts) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if endless(v.Field(i), depth+1, parts) {
				return true
			}
		}
	}
	return false
}

// canonicalByKind takes what argument takes, unless a type writes its own JSON.
func canonicalByKind(v any) (any, bool) {
	switch v.(type) {
	case json.Marshaler, fmt.Stringer, error:
		return nil, false
	}
	c, err := argument(v, 0)
	if err != nil || !isCanonical(c, 0) {
		return nil, false
	}
	return c, true
}

// decodeExact reads JSON with integers exact.
func decodeExact(b []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return exactNumbers(v), nil
}

func exactNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := exactNumber(v); err == nil {
			return n
		}
		return v
	case []any:
		for i, e := range v {
			v[i] = exactNumbers(e)
		}
	case map[string]any:
		for k, e := range v {
			v[k] = exactNumbers(e)
		}
	}
	return v
}
