package tomldoc

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Reader takes the values of one table. A value of the wrong type is reported and read as absent. Readers
// of tables below it report to the same list.
type Reader struct {
	doc   *Doc
	val   *Value
	table *Table
	known []string            // in the order of asking
	asked map[string]struct{} // the same
	found *[]*Problem
}

// Entry is a reader of the same table with a list of problems of its own, for an entry that is to cost
// only itself.
func (r *Reader) Entry() *Reader {
	return &Reader{doc: r.doc, val: r.val, table: r.table, found: new([]*Problem)}
}

// ReadAll has read take what it wants from the root of TOML text; what nobody took is a problem. The error is
// for text that is not TOML.
func ReadAll(file string, data []byte, read func(root *Reader)) (problems []error, err error) {
	doc, err := Parse(file, data)
	if err != nil {
		return nil, err
	}
	root := doc.Root()
	read(root)
	root.Finish()
	for _, p := range root.Problems() {
		problems = append(problems, p)
	}
	return problems, nil
}

// Taken appends what take makes of a table to list, unless it finds an error there. Its problems become r's.
func Taken[T any](r *Reader, list []T, table *Reader, take func(*Reader) T) []T {
	e := table.Entry()
	v := take(e)
	if e.OK() {
		list = append(list, v)
	}
	r.Adopt(e)
	return list
}

// Problems are those found so far by the reader and by the readers of tables below it.
func (r *Reader) Problems() []*Problem { return *r.found }

// OK reports whether none of the problems found is an error.
func (r *Reader) OK() bool {
	return !slices.ContainsFunc(*r.found, func(p *Problem) bool { return p.Severity == SeverityError })
}

// Adopt adds another reader's problems.
func (r *Reader) Adopt(o *Reader) { *r.found = append(*r.found, *o.found...) }

// File, Line and Key say where the table stands.
func (r *Reader) File() string { return r.doc.File }
func (r *Reader) Line() int    { return r.val.Line }
func (r *Reader) Key() string  { return r.val.Key }

// Names are the table's keys in the order of the file.
func (r *Reader) Names() []string { return r.table.Names }

// Has reports whether a key is there, and makes it known.
func (r *Reader) Has(name string) bool { return r.Get(name) != nil }

// Get is a key's value, nil if it is not there, and makes the key known.
func (r *Reader) Get(name string) *Value {
	r.Known(name)
	return r.table.Get(name)
}

// Known names keys that Finish shall not report.
func (r *Reader) Known(names ...string) {
	for _, n := range names {
		if _, is := r.asked[n]; is {
			continue
		}
		if r.asked == nil {
			r.asked = map[string]struct{}{}
		}
		r.asked[n] = struct{}{}
		r.known = append(r.known, n)
	}
}

// FailAt reports an error at a value.
func (r *Reader) FailAt(v *Value, hint, format string, a ...any) {
	r.report(v, SeverityError, hint, format, a...)
}

// Fail reports an error at a key of the table, or at the table itself where the key is not there.
func (r *Reader) Fail(name, hint, format string, a ...any) { r.FailAt(r.at(name), hint, format, a...) }

// Warn reports a warning in the same way.
func (r *Reader) Warn(name, hint, format string, a ...any) {
	r.report(r.at(name), SeverityWarning, hint, format, a...)
}

func (r *Reader) at(name string) *Value {
	if v := r.table.Get(name); v != nil {
		return v
	}
	return r.val
}

func (r *Reader) report(v *Value, s Severity, hint, format string, a ...any) {
	*r.found = append(*r.found, &Problem{
		File: r.doc.File, Line: v.Line, Column: v.Col, Key: v.Key,
		Message: fmt.Sprintf(format, a...), Hint: hint, Severity: s,
	})
}

// Finish reports every key that nobody asked for, with the nearest known key or all of them as the hint.
func (r *Reader) Finish() {
	for _, n := range r.table.Names {
		if _, is := r.asked[n]; is {
			continue
		}
		r.FailAt(r.table.Get(n), unknownHint(n, r.known), "unknown key")
	}
}

func unknownHint(n string, known []string) string {
	if near := Nearest(n, known); near != "" {
		return "did you mean " + near + "?"
	}
	if len(known) == 0 {
		return "no key is allowed here"
	}
	sorted := slices.Sorted(slices.Values(known))
	return "known keys: " + strings.Join(sorted, ", ")
}

// typeName names the type of a value for people.
func typeName(v *Value) string {
	switch v.Data.(type) {
	case string:
		return "a string"
	case int64:
		return "an integer"
	case float64:
		return "a float"
	case bool:
		return "a boolean"
	case time.Time:
		return "a date"
	case []*Value:
		return "an array"
	}
	return "a table"
}

func (r *Reader) wrongType(v *Value, want string) {
	r.FailAt(v, "", "want %s, is %s", want, typeName(v))
}

func scalar[T any](r *Reader, name, want string) (x T, ok bool) {
	v := r.Get(name)
	if v == nil {
		return x, false
	}
	if x, ok = v.Data.(T); !ok {
		r.wrongType(v, want)
	}
	return x, ok
}

// Str is a string; "" if it is not there.
func (r *Reader) Str(name string) string {
	s, _ := scalar[string](r, name, "a string")
	return s
}

// Bool is a boolean; otherwise if it is not there.
func (r *Reader) Bool(name string, otherwise bool) bool {
	if b, ok := scalar[bool](r, name, "a boolean"); ok {
		return b
	}
	return otherwise
}

// Int is an integer from lo to hi; nil if it is not there or out of range.
func (r *Reader) Int(name string, lo, hi int64) *int64 {
	n, ok := scalar[int64](r, name, "an integer")
	if !ok {
		return nil
	}
	if n < lo || n > hi {
		if hi == math.MaxInt64 {
			r.Fail(name, "", "is %d, want at least %d", n, lo)
		} else {
			r.Fail(name, "", "is %d, want %d to %d", n, lo, hi)
		}
		return nil
	}
	return &n
}

// Float is a finite number, integers included; nil if it is not there.
func (r *Reader) Float(name string) *float64 {
	v := r.Get(name)
	if v == nil {
		return nil
	}
	var f float64
	switch n := v.Data.(type) {
	case int64:
		f = float64(n)
	case float64:
		f = n
	default:
		r.wrongType(v, "a number")
		return nil
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		r.FailAt(v, "", "is %v, want a finite number", f)
		return nil
	}
	return &f
}

// Word is a string out of a set; "" if it is not there or no such word.
func (r *Reader) Word(name string, words ...string) string {
	s, ok := scalar[string](r, name, "a string")
	if !ok {
		return ""
	}
	if !slices.Contains(words, s) {
		hint := "want " + strings.Join(words, ", ")
		if near := Nearest(s, words); near != "" {
			hint = "did you mean " + near + "?"
		}
		r.Fail(name, hint, "unknown word %q", s)
		return ""
	}
	return s
}

// Duration is a number of seconds or a Go duration string, more than zero; 0 if it is not there.
func (r *Reader) Duration(name string) time.Duration {
	v := r.Get(name)
	if v == nil {
		return 0
	}
	const hint = `a number is seconds; a string is as "1m30s"`
	var d time.Duration
	switch x := v.Data.(type) {
	case int64:
		d = seconds(float64(x))
	case float64:
		d = seconds(x)
	case string:
		var err error
		if d, err = time.ParseDuration(strings.TrimSpace(x)); err != nil {
			r.FailAt(v, hint, "%q is not a duration", x)
			return 0
		}
	default:
		r.wrongType(v, "a duration")
		return 0
	}
	if d <= 0 {
		r.FailAt(v, hint, "want a duration above zero")
		return 0
	}
	return d
}

// seconds is 0 for what a Duration cannot hold.
func seconds(s float64) time.Duration {
	if !(s > 0 && s < math.MaxInt64/float64(time.Second)) {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

// Array is the elements of an array; nil if it is not there.
func (r *Reader) Array(name string) []*Value {
	items, _ := scalar[[]*Value](r, name, "an array")
	return items
}

// Strs is an array of strings; nil if it is not there. One that is there and empty is not nil.
func (r *Reader) Strs(name string) []string {
	items := r.Array(name)
	if items == nil {
		return nil
	}
	out := make([]string, 0, len(items))
	for _, v := range items {
		if s, ok := v.Data.(string); ok {
			out = append(out, s)
		} else {
			r.wrongType(v, "a string")
		}
	}
	return out
}

// Table is a reader of a table below; nil if it is not there.
func (r *Reader) Table(name string) *Reader {
	v := r.Get(name)
	if v == nil {
		return nil
	}
	return r.TableOf(v)
}

// TableOf is a reader of a value that has to be a table; nil, and a problem, if it is none.
func (r *Reader) TableOf(v *Value) *Reader {
	t, ok := v.Data.(*Table)
	if !ok {
		r.wrongType(v, "a table")
		return nil
	}
	return &Reader{doc: r.doc, val: v, table: t, found: r.found}
}

// Tables are readers of the tables of an array; what is no table is reported and left out.
func (r *Reader) Tables(name string) []*Reader {
	var out []*Reader
	for _, v := range r.Array(name) {
		if t := r.TableOf(v); t != nil {
			out = append(out, t)
		}
	}
	return out
}

// StrMap is a table of strings; nil if it is not there. Values never show in problems.
func (r *Reader) StrMap(name string) map[string]string {
	t := r.Table(name)
	if t == nil {
		return nil
	}
	out := make(map[string]string, len(t.Names()))
	for _, n := range t.Names() {
		if s, ok := scalar[string](t, n, "a string"); ok {
			out[n] = s
		}
	}
	return out
}

// Plain is the value as plain Go data: string, int64, float64, bool, []any, map[string]any; dates as text.
func (v *Value) Plain() any {
	switch d := v.Data.(type) {
	case []*Value:
		out := make([]any, len(d))
		for i, e := range d {
			out[i] = e.Plain()
		}
		return out
	case *Table:
		out := make(map[string]any, len(d.Names))
		for _, n := range d.Names {
			out[n] = d.vals[n].Plain()
		}
		return out
	case time.Time:
		return dateText(d)
	}
	return v.Data
}

// dateText writes a date as TOML does. The reader marks local dates by the name of their location.
func dateText(t time.Time) string {
	switch t.Location().String() {
	case "datetime-local":
		return t.Format("2006-01-02T15:04:05.999999999")
	case "date-local":
		return t.Format(time.DateOnly)
	case "time-local":
		return t.Format("15:04:05.999999999")
	}
	return t.Format(time.RFC3339Nano)
}

// JSON is a value as JSON; nil, and a problem, for inf and nan.
func (r *Reader) JSON(v *Value) json.RawMessage {
	b, err := json.Marshal(v.Plain())
	if err != nil {
		r.FailAt(v, "", "is a number that JSON cannot express")
		return nil
	}
	return b
}

// KnownNames are the keys known so far.
func (r *Reader) KnownNames() []string { return slices.Clone(r.known) }
