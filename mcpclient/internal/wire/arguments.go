package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// deepest is how far arguments are followed here; what lies deeper, a loop for one, is encoding/json's.
const deepest = 100

// EncodeArguments writes arguments as one line of JSON, as encoding/json does without HTML escapes, into a buffer
// of their size: a large text is copied once. Errors are encoding/json's. What it returns is the caller's.
func EncodeArguments(args map[string]any) ([]byte, error) {
	b, err := appendValue(make([]byte, 0, valueSize(args, 0)), args, 0)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// valueSize is how much room a value needs, and a guess for what is not followed.
func valueSize(v any, depth int) int {
	switch v := v.(type) {
	case string:
		return stringSize(v)
	case []any:
		if depth >= deepest {
			return 0
		}
		n := 2 + len(v)
		for _, e := range v {
			n += valueSize(e, depth+1)
		}
		return n
	case map[string]any:
		if depth >= deepest {
			return 0
		}
		n := 2 + 2*len(v)
		for k, e := range v {
			n += stringSize(k) + valueSize(e, depth+1)
		}
		return n
	case json.RawMessage:
		return len(v)
	}
	return 20
}

func appendValue(b []byte, v any, depth int) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case string:
		return appendText(b, v), nil
	case []any:
		if v != nil && depth < deepest {
			return appendList(b, v, depth)
		}
	case map[string]any:
		if v != nil && depth < deepest {
			return appendObject(b, v, depth)
		}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return append(b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...), nil
}

func appendList(b []byte, v []any, depth int) (_ []byte, err error) {
	b = append(b, '[')
	for i, e := range v {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendValue(b, e, depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendObject(b []byte, v map[string]any, depth int) (_ []byte, err error) {
	var few [8]string
	keys := few[:0]
	for k := range v {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	b = append(b, '{')
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, k), ':')
		if b, err = appendValue(b, v[k], depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// escaped tells how many bytes a byte of ASCII takes in a string: 1, 2 or 6.
func escaped(c byte) int {
	switch {
	case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f':
		return 2
	case c < ' ':
		return 6
	}
	return 1
}

// stringSize is exact but for what is no ASCII, where it may be too much.
func stringSize(s string) int {
	n := 2 + len(s)
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < utf8.RuneSelf {
			n += escaped(c) - 1
		}
	}
	return n
}

// appendText writes a string: with one U+FFFD for each byte that is no UTF-8, and with escapes for the two line
// ends that JavaScript has and JSON has not.
func appendText(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if n := escaped(c); n > 1 {
				b = append(b, s[from:i]...)
				from = i + 1
				if at := strings.IndexByte("\n\r\t\b\f", c); n == 2 && at >= 0 {
					c = "nrtbf"[at]
				}
				if n == 2 {
					b = append(b, '\\', c)
				} else {
					b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
				}
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(append(b, s[from:i]...), `\ufffd`...)
			from = i + n
		case r == '\u2028' || r == '\u2029':
			b = append(append(b, s[from:i]...), `\u202`...)
			b = append(b, hex[r&15])
			from = i + n
		}
		i += n
	}
	return append(append(b, s[from:]...), '"')
}
