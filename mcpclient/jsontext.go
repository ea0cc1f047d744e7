package mcpclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonText is one JSON value that was checked, without space around it; "" is none. Strings read from it
// share its memory where they hold no escapes. What it means is what encoding/json makes of it: of members
// with the same name the last counts, and each byte that is no UTF-8 is one U+FFFD.
type jsonText string

// maxDepth is how deep a value may be nested.
const maxDepth = 1000

var (
	errDepth = fmt.Errorf("is nested more than %d deep", maxDepth)
	errEnd   = errors.New("unexpected end of JSON input")
)

// parseJSON checks all of raw, and copies it once.
func parseJSON(raw []byte) (jsonText, error) {
	s := string(raw)
	c := checker{s: s}
	c.space()
	from := c.i
	if err := c.value(); err != nil {
		return "", err
	}
	to := c.i
	if c.space(); c.i < len(s) {
		return "", c.unexpected("after the end")
	}
	return jsonText(s[from:to]), nil
}

// checker walks over a text and says where it is no JSON.
type checker struct {
	s     string
	i     int
	depth int
}

func (c *checker) unexpected(where string) error {
	if c.i >= len(c.s) {
		return errEnd
	}
	return fmt.Errorf("invalid character %q %s, at byte %d", c.s[c.i], where, c.i+1)
}

func (c *checker) space() { c.i = afterSpace(c.s, c.i) }

func afterSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

func (c *checker) value() error {
	if c.i >= len(c.s) {
		return errEnd
	}
	switch b := c.s[c.i]; {
	case b == '"':
		return c.str()
	case b == '{':
		return c.nested('}', true)
	case b == '[':
		return c.nested(']', false)
	case b == '-' || b >= '0' && b <= '9':
		return c.number()
	case b == 't':
		return c.word("true")
	case b == 'f':
		return c.word("false")
	case b == 'n':
		return c.word("null")
	}
	return c.unexpected("where a value begins")
}

// nested walks over an object or an array.
func (c *checker) nested(end byte, named bool) error {
	if c.depth++; c.depth > maxDepth {
		return errDepth
	}
	c.i++
	c.space()
	if c.i < len(c.s) && c.s[c.i] == end {
		c.i++
		c.depth--
		return nil
	}
	for {
		if named {
			if c.i >= len(c.s) || c.s[c.i] != '"' {
				return c.unexpected("where a name begins")
			}
			if err := c.str(); err != nil {
				return err
			}
			if c.space(); c.i >= len(c.s) || c.s[c.i] != ':' {
				return c.unexpected("after a name")
			}
			c.i++
			c.space()
		}
		if err := c.value(); err != nil {
			return err
		}
		c.space()
		if c.i >= len(c.s) || c.s[c.i] != ',' && c.s[c.i] != end {
			return c.unexpected("after a value")
		}
		c.i++
		if c.s[c.i-1] == end {
			c.depth--
			return nil
		}
		c.space()
	}
}

func (c *checker) word(w string) error {
	if strings.HasPrefix(c.s[c.i:], w) {
		c.i += len(w)
		return nil
	}
	for k := 0; c.i < len(c.s) && k < len(w) && c.s[c.i] == w[k]; k++ {
		c.i++
	}
	return c.unexpected("in a literal")
}

func (c *checker) digits() bool {
	from := c.i
	for c.i < len(c.s) && c.s[c.i] >= '0' && c.s[c.i] <= '9' {
		c.i++
	}
	return c.i > from
}

func (c *checker) number() error {
	if c.s[c.i] == '-' {
		c.i++
	}
	if c.i < len(c.s) && c.s[c.i] == '0' {
		c.i++
	} else if !c.digits() {
		return c.unexpected("in a number")
	}
	if c.i < len(c.s) && c.s[c.i] == '.' {
		if c.i++; !c.digits() {
			return c.unexpected("in a number")
		}
	}
	if c.i < len(c.s) && (c.s[c.i] == 'e' || c.s[c.i] == 'E') {
		c.i++
		if c.i < len(c.s) && (c.s[c.i] == '+' || c.s[c.i] == '-') {
			c.i++
		}
		if !c.digits() {
			return c.unexpected("in a number")
		}
	}
	return nil
}

func (c *checker) str() error {
	c.i++
	for {
		c.i = plainEnd(c.s, c.i)
		if c.i >= len(c.s) {
			return errEnd
		}
		switch c.s[c.i] {
		case '"':
			c.i++
			return nil
		case '\\':
			c.i++
			if err := c.escape(); err != nil {
				return err
			}
		default:
			return c.unexpected("in a string")
		}
	}
}

func (c *checker) escape() error {
	if c.i >= len(c.s) {
		return errEnd
	}
	switch c.s[c.i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		c.i++
		return nil
	case 'u':
		c.i++
		for range 4 {
			if c.i >= len(c.s) || !isHex(c.s[c.i]) {
				return c.unexpected("in an escape")
			}
			c.i++
		}
		return nil
	}
	return c.unexpected("in an escape")
}

func isHex(b byte) bool { return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F' }

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plainEnd is the place of the next quote, backslash or control character, or the end. It takes eight bytes
// at a time; a byte of a word is marked where subtracting borrows, of which only the lowest is certain.
func plainEnd(s string, i int) int {
	for ; i+8 <= len(s); i += 8 {
		p := s[i : i+8]
		w := uint64(p[0]) | uint64(p[1])<<8 | uint64(p[2])<<16 | uint64(p[3])<<24 |
			uint64(p[4])<<32 | uint64(p[5])<<40 | uint64(p[6])<<48 | uint64(p[7])<<56
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		found := ((w-ones*0x20)&^w | (quote-ones)&^quote | (slash-ones)&^slash) & highs
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(s) && s[i] >= 0x20 && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

// stringEnd is the place after the string that begins at i of a checked text: its quote is the first with an
// even number of backslashes before it.
func stringEnd(s string, i int) int {
	for i++; ; i++ {
		i += strings.IndexByte(s[i:], '"')
		n := i
		for s[n-1] == '\\' {
			n--
		}
		if (i-n)%2 == 0 {
			return i + 1
		}
	}
}

// valueEnd is the place after the value that begins at i of a checked text.
func valueEnd(s string, i int) int {
	switch s[i] {
	case '"':
		return stringEnd(s, i)
	case '{', '[':
		for depth := 0; ; {
			switch s[i] {
			case '"':
				i = stringEnd(s, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
	}
	for i < len(s) && s[i] > ' ' && s[i] != ',' && s[i] != '}' && s[i] != ']' {
		i++
	}
	return i
}

// present reports whether there is a value, and not null.
func (t jsonText) present() bool { return t != "" && t != "null" }

// kind is the first byte, which tells what it is; 0: none.
func (t jsonText) kind() byte {
	if t == "" {
		return 0
	}
	return t[0]
}

// member is one of an object.
type member struct {
	name  string
	value jsonText
}

// members are those of an object, in their order.
type members []member

// get is the value of the last member of a name; "": there is none.
func (m members) get(name string) jsonText {
	for i := len(m) - 1; i >= 0; i-- {
		if m[i].name == name {
			return m[i].value
		}
	}
	return ""
}

// members adds the members of an object to a slice. Anything else has none.
func (t jsonText) members(to members) members {
	if t.kind() != '{' {
		return to
	}
	s := string(t)
	for i := afterSpace(s, 1); s[i] != '}'; {
		nameEnd := stringEnd(s, i)
		name := unquote(s[i:nameEnd])
		i = afterSpace(s, afterSpace(s, nameEnd)+1)
		end := valueEnd(s, i)
		to = append(to, member{name, jsonText(s[i:end])})
		if i = afterSpace(s, end); s[i] == ',' {
			i = afterSpace(s, i+1)
		}
	}
	return to
}

// elements calls f with each element of an array. Anything else has none.
func (t jsonText) elements(f func(jsonText)) {
	if t.kind() != '[' {
		return
	}
	s := string(t)
	for i := afterSpace(s, 1); s[i] != ']'; {
		end := valueEnd(s, i)
		f(jsonText(s[i:end]))
		if i = afterSpace(s, end); s[i] == ',' {
			i = afterSpace(s, i+1)
		}
	}
}

// str is a string's meaning; ok is false for anything else.
func (t jsonText) str() (s string, ok bool) {
	if t.kind() != '"' {
		return "", false
	}
	return unquote(string(t)), true
}

// unquote reads a checked string with its quotes.
func unquote(q string) string {
	s := q[1 : len(q)-1]
	valid := utf8.ValidString(s)
	at := nextEscape(s)
	if at < 0 && valid {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for at >= 0 {
		appendText(&b, s[:at], valid)
		s = appendEscape(&b, s[at+1:])
		at = nextEscape(s)
	}
	appendText(&b, s, valid)
	return b.String()
}

// nextEscape is the place of the next backslash; -1: there is none. Escapes often stand close together.
func nextEscape(s string) int {
	const near = 16
	for i := 0; i < len(s) && i < near; i++ {
		if s[i] == '\\' {
			return i
		}
	}
	if len(s) <= near {
		return -1
	}
	at := strings.IndexByte(s[near:], '\\')
	if at < 0 {
		return -1
	}
	return near + at
}

// appendText writes text without escapes, with U+FFFD for each byte that is no UTF-8.
func appendText(b *strings.Builder, s string, valid bool) {
	if valid {
		b.WriteString(s)
		return
	}
	for _, r := range s {
		b.WriteRune(r)
	}
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// appendEscape writes what an escape means that s goes on with after its backslash, and gives what follows.
// Halves of surrogate pairs that are alone are U+FFFD.
func appendEscape(b *strings.Builder, s string) string {
	if s[0] != 'u' {
		b.WriteByte(escapes[s[0]])
		return s[1:]
	}
	r := hex4(s[1:])
	s = s[5:]
	if utf16.IsSurrogate(r) {
		pair := rune(utf8.RuneError)
		if len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
			pair = utf16.DecodeRune(r, hex4(s[2:]))
		}
		if r = pair; r != utf8.RuneError {
			s = s[6:]
		}
	}
	b.WriteRune(r)
	return s
}

func hex4(s string) rune {
	n, _ := strconv.ParseUint(s[:4], 16, 16)
	return rune(n)
}

// value is what the text means, in the types of a Result's Value: integers are int64 where they fit, else
// json.Number.
func (t jsonText) value() any {
	switch t.kind() {
	case '"':
		return unquote(string(t))
	case '{', '[':
		v, _ := readValue(string(t), 0)
		return v
	case 't':
		return true
	case 'f':
		return false
	case 0, 'n':
		return nil
	}
	return exactNumber(json.Number(t))
}

// readValue reads the value that begins at i of a checked text, and gives the place after it.
func readValue(s string, i int) (v any, end int) {
	switch s[i] {
	case '{':
		m := map[string]any{}
		for i = afterSpace(s, i+1); s[i] != '}'; {
			nameEnd := stringEnd(s, i)
			name := unquote(s[i:nameEnd])
			m[name], i = readValue(s, afterSpace(s, afterSpace(s, nameEnd)+1))
			if i = afterSpace(s, i); s[i] == ',' {
				i = afterSpace(s, i+1)
			}
		}
		return m, i + 1
	case '[':
		a := []any{}
		for i = afterSpace(s, i+1); s[i] != ']'; {
			var e any
			e, i = readValue(s, i)
			a = append(a, e)
			if i = afterSpace(s, i); s[i] == ',' {
				i = afterSpace(s, i+1)
			}
		}
		return a, i + 1
	}
	end = valueEnd(s, i)
	return jsonText(s[i:end]).value(), end
}
