package hostdoc

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// fault is what makes a text no JSON, at a byte of it.
type fault struct {
	at            int
	message, hint string
}

// expects is what may come next in JSON.
type expects int

const (
	expectValue   expects = iota
	expectKey             // or the } of the map
	expectColon           // after a key
	expectComma           // or the bracket that closes
	expectNothing         // after the whole value
	expectElement         // a value, or the ] of the list
)

// jsonCheck walks JSON text without recursion and finds its first fault.
type jsonCheck struct {
	s      string
	i      int
	next   expects
	open   []int // where each bracket stands that is not closed yet
	values int
	prev   int // where the last token begins
}

// checkJSON finds what is wrong with a text. What it lets pass has bounded nesting and is JSON but for
// comments and trailing commas.
func checkJSON(text string) (empty bool, bad *fault) {
	c := &jsonCheck{s: text}
	for {
		if bad := c.blank(); bad != nil {
			return false, bad
		}
		if c.i >= len(c.s) {
			break
		}
		at := c.i
		if bad := c.token(); bad != nil {
			return false, bad
		}
		c.prev = at
	}
	switch {
	case len(c.open) > 0:
		top := c.open[len(c.open)-1]
		line := 1 + strings.Count(text[:top], "\n")
		return false, &fault{len(text), "the file ends too early", fmt.Sprintf("the %c of line %d has no %c", text[top], line, closing(text[top]))}
	case c.next == expectValue:
		return true, nil
	}
	return false, nil
}

func closing(open byte) byte {
	if open == '{' {
		return '}'
	}
	return ']'
}

// blank skips white space and comments.
func (c *jsonCheck) blank() *fault {
	for c.i < len(c.s) {
		rest := c.s[c.i:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			c.i++
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			c.i += end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return &fault{c.i, "a comment has no end", "add */"}
			}
			c.i += end + 4
		default:
			return nil
		}
	}
	return nil
}

func (c *jsonCheck) fault(message, hint string) *fault { return &fault{c.i, message, hint} }

// token takes what stands at c.i, which is neither white space nor a comment.
func (c *jsonCheck) token() *fault {
	b := c.s[c.i]
	switch c.next {
	case expectNothing:
		return c.afterEnd(b)
	case expectColon:
		if b != ':' {
			return c.noColon(b)
		}
		c.i++
		c.next = expectValue
		return nil
	case expectComma:
		switch {
		case b == ',':
			c.i++
			c.next = expectElement
			if c.s[c.open[len(c.open)-1]] == '{' {
				c.next = expectKey
			}
			return nil
		case b == '}' || b == ']':
			return c.close(b)
		}
		return c.noComma(b)
	case expectKey:
		if b == '}' {
			return c.close(b)
		}
		if b != '"' {
			return c.noKey(b)
		}
		c.next = expectColon
		return c.str()
	}
	if b == ']' && c.next == expectElement {
		return c.close(b)
	}
	return c.value(b)
}

func (c *jsonCheck) value(b byte) *fault {
	if c.values++; c.values > MaxValues {
		return c.fault(tooMany(), "")
	}
	switch {
	case b == '{' || b == '[':
		if len(c.open) >= MaxDepth {
			return c.fault(tooDeep(), "")
		}
		c.open = append(c.open, c.i)
		c.i++
		c.next = expectElement
		if b == '{' {
			c.next = expectKey
		}
		return nil
	case b == '"':
		c.done()
		return c.str()
	}
	end := c.i
	for end < len(c.s) && wordByte(c.s[end]) {
		end++
	}
	if word := c.s[c.i:end]; word == "" || !json.Valid([]byte(word)) {
		return c.noValue(b)
	}
	c.i = end
	c.done()
	return nil
}

func wordByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '-' || b == '+' || b == '.'
}

// done says what comes after a value.
func (c *jsonCheck) done() {
	c.next = expectComma
	if len(c.open) == 0 {
		c.next = expectNothing
	}
}

func (c *jsonCheck) close(b byte) *fault {
	top := c.open[len(c.open)-1]
	if want := closing(c.s[top]); b != want {
		line := 1 + strings.Count(c.s[:top], "\n")
		return c.fault(fmt.Sprintf("found %c where %c is expected", b, want), fmt.Sprintf("close the %c of line %d first", c.s[top], line))
	}
	c.open = c.open[:len(c.open)-1]
	c.i++
	c.done()
	return nil
}

const windowsPath = `a \ begins an escape; in a Windows path, write \\ or /`

// str takes a string.
func (c *jsonCheck) str() *fault {
	start := c.i
	for i := start + 1; i < len(c.s); i++ {
		switch b := c.s[i]; {
		case b == '"':
			c.i = i + 1
			return nil
		case b == '\\':
			n := escapeLen(c.s[i:])
			if n == 0 {
				return &fault{i, `an escape that JSON does not have`, windowsPath}
			}
			i += n - 1
		case b == '\n' || b == '\r':
			return c.openString(start, i)
		case b < ' ':
			return &fault{i, "a control character stands in a text", `write a tab as \t`}
		}
	}
	return c.openString(start, len(c.s))
}

func (c *jsonCheck) openString(start, end int) *fault {
	hint := `add the closing "; write a line end as \n`
	if strings.Contains(c.s[start:end], `\"`) {
		hint = `\" does not end a text; a Windows path that ends in \ wants \\ there`
	}
	return &fault{start, "a text does not end on its line", hint}
}

// escapeLen is the length of the escape at the start of s, 0 if it is none.
func escapeLen(s string) int {
	if len(s) < 2 {
		return 0
	}
	if s[1] != 'u' {
		if strings.IndexByte(`"\/bfnrt`, s[1]) < 0 {
			return 0
		}
		return 2
	}
	if len(s) < 6 {
		return 0
	}
	for _, b := range []byte(s[2:6]) {
		if strings.IndexByte("0123456789abcdefABCDEF", b) < 0 {
			return 0
		}
	}
	return 6
}

// odd knows the causes that are the same wherever something else was expected; nil: none of them.
func (c *jsonCheck) odd() *fault {
	r, _ := utf8.DecodeRuneInString(c.s[c.i:])
	switch r {
	case '\'', '`':
		return c.fault("a text stands in the wrong quotes", `write "..."`)
	case '“', '”', '„', '‘', '’', '«', '»':
		return c.fault("a text stands in typographic quotes", `write "..." with straight quotes`)
	case '#':
		return c.fault("a # is no comment in JSON", "write // or /* */")
	case '\u00a0', '\u2028', '\u2029', '\u200b', '\ufeff', '\u0085', '\u3000', '\v', '\f':
		return c.fault(fmt.Sprintf("an invisible character (U+%04X)", r), "delete it")
	}
	return nil
}

func (c *jsonCheck) noKey(b byte) *fault {
	if f := c.odd(); f != nil {
		return f
	}
	switch {
	case b == ',':
		return c.fault("a comma too many", "remove it")
	case b == ':':
		return c.fault("a key is missing before the :", "")
	case b == '{' || b == '[':
		return c.fault("a key is missing", `write "name": before the value`)
	case b == ']':
		return c.close(b)
	}
	return c.fault("a key stands without quotes", `write it in "..."`)
}

func (c *jsonCheck) noColon(b byte) *fault {
	if f := c.odd(); f != nil {
		return f
	}
	switch b {
	case '=':
		return c.fault("found = where : is expected", "")
	case ',', '}', ']':
		return c.fault("a key has no value", `write "name": value`)
	}
	return c.fault("a : is missing after the key", `write "name": value`)
}

func (c *jsonCheck) noValue(b byte) *fault {
	if f := c.odd(); f != nil {
		return f
	}
	switch {
	case b == ',' && c.next == expectElement:
		return c.fault("a comma too many", "remove it")
	case b == ',' || b == '}' || b == ']':
		return c.fault("a value is missing", "")
	case b == ':':
		return c.fault("a : where a value is expected", "a list has no keys; write { } for a map")
	case '0' <= b && b <= '9' || b == '-' || b == '+' || b == '.':
		return c.fault("not a number as JSON writes them", `write text in "..."; a number has no leading 0 or +`)
	}
	return c.fault("a value stands without quotes", `write text in "..."; else true, false or null in small letters`)
}

func (c *jsonCheck) noComma(b byte) *fault {
	if f := c.odd(); f != nil {
		return f
	}
	switch {
	case b == ':':
		return c.fault("a : where a comma is expected", "a list has no keys, and a key has one value")
	case b == '"' || b == '{' || b == '[':
		return c.fault("a comma is missing", "add one before this")
	case c.s[c.prev] == '"' && strings.IndexByte(c.s[c.prev:c.i], '\n') < 0:
		return c.fault("a text ended before this", `write a " within a text as \"`)
	}
	return c.fault("a comma is missing", "add one before this")
}

func (c *jsonCheck) afterEnd(b byte) *fault {
	hint := "remove it; a file holds one value"
	switch {
	case b == ':' && c.s[c.prev] == '"':
		return c.fault("a key stands outside of { }", "put { before the first key and } at the end")
	case b == '}' || b == ']':
		hint = fmt.Sprintf("one %c too many, here or before", b)
	}
	return c.fault("something follows after the end", hint)
}
