// Package tomldoc reads a TOML file so that whatever is wrong with it can be named with its file, line,
// column and key, and costs only the entry that it stands in.
//
// Read and Parse give a [Doc] or a [*Problem] for a file that cannot be read at all. A [Reader] takes the
// values of one table, checks their types and collects a Problem for each that is wrong and, by
// [Reader.Finish], for each key that nobody asked for. Nothing here is safe for concurrent use, and
// nothing outlives the call.
package tomldoc

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// MaxFile is the largest file that is read, in bytes.
const MaxFile = 4 << 20

// Doc is a TOML document with the place of every key.
type Doc struct {
	File  string // as given, for problems
	Empty bool   // nothing but white space and comments
	root  *Value
}

// Value is a value with its place. Data is a string, int64, float64, bool, time.Time, []*Value or *Table.
type Value struct {
	Key       string // path, as tools[0].args[1].name
	Line, Col int    // of the key; of an element of an array, of the element
	Data      any

	// At is the place of what stands after the key; of a table with a header and of one that only a dotted
	// key names, that of the key.
	At struct{ Line, Col int }

	Text string // of a number, a boolean and a date what the file says
}

// Table is a TOML table; Names are its keys in the order of the file.
type Table struct {
	Names []string
	vals  map[string]*Value
}

// Get is the value of a key; nil if it is not there.
func (t *Table) Get(name string) *Value { return t.vals[name] }

// Read reads a file. A file that is missing, a folder, too large, not UTF-8 or not TOML is a *Problem.
func Read(path string) (*Doc, error) {
	whole := func(err error, msg, hint string) *Problem {
		return (&Problem{File: path, Message: msg, Hint: hint, Severity: SeverityError}).Because(err)
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, whole(err, "no such file", "check the path")
	}
	if err != nil {
		return nil, whole(err, "cannot be read: "+cause(err), "")
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, whole(nil, "is a folder, not a file", "name the TOML file in it")
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, whole(err, "cannot be read: "+cause(err), "")
	}
	return Parse(path, data)
}

// cause is an error without the path that a *Problem names already.
func cause(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// Parse reads TOML text; file is for problems only. A UTF-8 byte order mark is skipped.
func Parse(file string, data []byte) (*Doc, error) {
	text, problem := textOf(file, data)
	if problem != nil {
		return nil, problem
	}
	places, err := locate(text)
	if errors.Is(err, errTooDeep) {
		return nil, &Problem{File: file, Message: fmt.Sprintf("is nested more than %d deep", maxDepth), Severity: SeverityError}
	}
	if errors.Is(err, errTooLong) {
		return nil, &Problem{File: file, Message: "has keys that are too long", Hint: "shorten them", Severity: SeverityError}
	}
	m, err := decode(text)
	if err != nil {
		return nil, syntaxProblem(file, text, err)
	}
	d := &Doc{File: file, root: build(m, places, "")}
	d.Empty = len(m) == 0
	return d, nil
}

// Value is the whole document: a table.
func (d *Doc) Value() *Value { return d.root }

// Root is a reader of the whole document.
func (d *Doc) Root() *Reader {
	return &Reader{doc: d, val: d.root, table: d.root.Data.(*Table), found: new([]*Problem)}
}

func textOf(file string, data []byte) (string, *Problem) {
	bad := func(line, col int, msg, hint string) (string, *Problem) {
		return "", &Problem{File: file, Line: line, Column: col, Message: msg, Hint: hint, Severity: SeverityError}
	}
	text := string(data)
	switch {
	case len(text) > MaxFile:
		return bad(0, 0, fmt.Sprintf("is larger than %d MiB", MaxFile>>20), "")
	case strings.HasPrefix(text, "\xff\xfe"), strings.HasPrefix(text, "\xfe\xff"), strings.ContainsRune(text[:min(len(text), 64)], 0):
		return bad(1, 1, "is UTF-16, and TOML must be UTF-8", "save it as UTF-8")
	}
	text = strings.TrimPrefix(text, "\ufeff")
	if !utf8.ValidString(text) {
		i := 0
		for {
			r, n := utf8.DecodeRuneInString(text[i:])
			if r == utf8.RuneError && n <= 1 {
				break
			}
			i += n
		}
		line, col := LineCol(text, i)
		return bad(line, col, "is not UTF-8 text", "save it as UTF-8")
	}
	return text, nil
}

// LineCol is the place of a byte of a text, from 1; the column in characters.
func LineCol(text string, offset int) (line, col int) {
	before := text[:min(max(offset, 0), len(text))]
	start := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1
}

// decode reads the text; a panic of the reader is an error.
func decode(text string) (m map[string]any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("cannot be read: %v", r)
		}
	}()
	_, err = toml.Decode(text, &m)
	return m, err
}

func syntaxProblem(file, text string, err error) *Problem {
	p := &Problem{File: file, Message: err.Error(), Severity: SeverityError}
	var pe toml.ParseError
	if errors.As(err, &pe) {
		p.Line, p.Column = LineCol(text, pe.Position.Start)
		p.Key = pe.LastKey
		p.Message = "not TOML: " + withoutValues(pe.Message)
	}
	return p
}

var (
	quotedText = regexp.MustCompile(`"[^"]{2,}"`)
	wideNumber = regexp.MustCompile(`^\S+ is out of range`)
)

// withoutValues takes what the file says out of the words of the TOML reader: a value without its quotes
// may be a secret. A single character is left in.
func withoutValues(message string) string {
	if strings.HasPrefix(message, "expected value but found ") {
		return "expected a value; text stands in quotes"
	}
	return quotedText.ReplaceAllString(wideNumber.ReplaceAllString(message, "a number is out of range"), "...")
}

// build joins values and places.
func build(v any, p *place, key string) *Value {
	if p == nil {
		p = &place{}
	}
	out := &Value{Key: key, Line: p.line, Col: p.col, Text: p.text}
	if out.At.Line, out.At.Col = p.at.line, p.at.col; p.at == (spot{}) {
		out.At.Line, out.At.Col = p.line, p.col
	}
	switch v := v.(type) {
	case map[string]any:
		t := &Table{vals: make(map[string]*Value, len(v))}
		for _, name := range p.order {
			if _, ok := v[name]; ok {
				t.Names = append(t.Names, name)
			}
		}
		if len(t.Names) < len(v) {
			t.Names = slices.Sorted(maps.Keys(v))
		}
		for _, name := range t.Names {
			t.vals[name] = build(v[name], p.child(name), Join(key, name))
		}
		out.Data = t
	case []map[string]any:
		items := make([]*Value, len(v))
		for i, e := range v {
			items[i] = build(e, item(p, i), Index(key, i))
		}
		out.Data = items
	case []any:
		items := make([]*Value, len(v))
		for i, e := range v {
			items[i] = build(e, item(p, i), Index(key, i))
		}
		out.Data = items
	default:
		out.Data = v
	}
	return out
}

func item(p *place, i int) *place {
	if i < len(p.items) {
		return p.items[i]
	}
	return nil
}

// The longest part of a path and the longest path, in bytes. What is longer is cut in its middle, so that a
// long key does not stand in the path of each of a million elements.
const (
	maxPart = 80
	maxPath = 320
)

// Join is the path of a key below another, quoted where TOML would have to.
func Join(key, name string) string {
	part := Shorten(name, maxPart)
	if part == "" || strings.ContainsFunc(part, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}) {
		part = strconv.Quote(part)
	}
	if key == "" {
		return part
	}
	return Shorten(key+"."+part, maxPath)
}

// Index is the path of an element of an array.
func Index(key string, i int) string {
	return Shorten(key+"["+strconv.Itoa(i)+"]", maxPath)
}

// Shorten cuts the middle out of a text that is longer than limit bytes.
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	half := (limit - len("…")) / 2
	head, tail := half, len(s)-half
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + "…" + s[tail:]
}
