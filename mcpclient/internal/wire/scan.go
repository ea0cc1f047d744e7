package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// maxDepth bounds the nesting that the scanner follows, so that no peer can exhaust the stack.
const maxDepth = 1000

// span is a piece of the scanned text; both zero: absent.
type span struct{ start, end int }

func (s span) absent() bool           { return s.end == 0 }
func (s span) of(text []byte) []byte  { return text[s.start:s.end] }
func (s span) null(text []byte) bool  { return s.end-s.start == 4 && text[s.start] == 'n' }
func (s span) given(text []byte) bool { return !s.absent() && !s.null(text) }

// envelope says where the members of one JSON-RPC message lie in its text. Of a member that is given
// twice the last one counts, as with encoding/json.
type envelope struct {
	version, id, method, params, result, err span
	inputRequests                            span // the member of result; null counts as absent
	name, uri, arguments, meta               span // of params on their own
	revision, token                          span // the members of their _meta
}

var errDepth = fmt.Errorf("nested more than %d deep", maxDepth)

// syntaxError is where the text stops being JSON.
type syntaxError struct {
	at   int
	what string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.what, e.at) }

var errNotObject = errors.New("not a JSON object")

// scanner walks JSON text without allocating, unless it fails or a member's name is written with escapes.
type scanner struct {
	b   []byte
	pos int
}

// scan reads the whole text as one message. What it found before an error is in the envelope.
func scan(text []byte) (envelope, error) { return scanAs(inMessage, text) }

// scanParams reads the whole text as the params of a request.
func scanParams(text []byte) (envelope, error) { return scanAs(inParams, text) }

func scanAs(what int, text []byte) (envelope, error) {
	var env envelope
	s := scanner{b: text}
	s.space()
	if s.pos == len(text) || text[s.pos] != '{' {
		return env, errNotObject
	}
	if err := s.members(1, what, &env); err != nil {
		return env, err
	}
	s.space()
	if s.pos != len(text) {
		return env, s.fail("something after the object")
	}
	return env, nil
}

// member files one member of the message away; result is walked for its own members on the way.
func (env *envelope) member(s *scanner, name []byte, depth int) error {
	var into *span
	switch string(name) {
	case "jsonrpc":
		into = &env.version
	case "id":
		into = &env.id
	case "method":
		into = &env.method
	case "params":
		into = &env.params
	case "error":
		into = &env.err
	case "result":
		env.inputRequests = span{}
		start := s.pos
		if s.pos < len(s.b) && s.b[s.pos] == '{' {
			if err := s.members(depth+1, inResult, env); err != nil {
				return err
			}
		} else if err := s.value(depth); err != nil {
			return err
		}
		env.result = span{start, s.pos}
		return nil
	}
	return s.valueInto(depth, into)
}

// valueInto walks a value and notes where it lies.
func (s *scanner) valueInto(depth int, into *span) error {
	start := s.pos
	if err := s.value(depth); err != nil {
		return err
	}
	if into != nil {
		*into = span{start, s.pos}
	}
	return nil
}

func (env *envelope) resultMember(s *scanner, name []byte, depth int) error {
	var into *span
	if string(name) == "inputRequests" {
		into = &env.inputRequests
	}
	return s.valueInto(depth, into)
}

func (env *envelope) paramsMember(s *scanner, name []byte, depth int) error {
	var into *span
	switch string(name) {
	case "name":
		into = &env.name
	case "uri":
		into = &env.uri
	case "arguments":
		into = &env.arguments
	case "_meta":
		env.revision, env.token = span{}, span{}
		into = &env.meta
		if start := s.pos; start < len(s.b) && s.b[start] == '{' {
			err := s.members(depth+1, inMeta, env)
			env.meta = span{start, s.pos}
			return err
		}
	}
	return s.valueInto(depth, into)
}

func (env *envelope) metaMember(s *scanner, name []byte, depth int) error {
	var into *span
	switch string(name) {
	case metaRevision:
		into = &env.revision
	case "progressToken":
		into = &env.token
	}
	return s.valueInto(depth, into)
}

// elements calls f with each element of the JSON array that is the whole text.
func elements(text []byte, f func(element []byte)) error {
	s := scanner{b: text}
	s.space()
	if s.pos == len(text) || text[s.pos] != '[' {
		return errors.New("not a JSON array")
	}
	var found []span
	if err := s.list(1, &found); err != nil {
		return err
	}
	s.space()
	if s.pos != len(text) {
		return s.fail("something after the array")
	}
	for _, e := range found {
		f(e.of(text))
	}
	return nil
}

// messages calls f with each message of a text that is one message or a batch.
func messages(text []byte, f func(message []byte)) {
	text = tidy(text)
	if len(text) == 0 || text[0] != '[' || elements(text, f) != nil {
		f(text)
	}
}

func (s *scanner) fail(what string) error {
	if s.pos >= len(s.b) {
		what = "unexpected end of JSON"
	}
	return &syntaxError{s.pos, what}
}

func (s *scanner) space() {
	if s.pos < len(s.b) && s.b[s.pos] > ' ' {
		return
	}
	s.spaces()
}

func (s *scanner) spaces() {
	for s.pos < len(s.b) {
		switch s.b[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) next(c byte) bool {
	s.space()
	if s.pos < len(s.b) && s.b[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// What the members of an object are to the envelope.
const (
	inside    = iota // nothing
	inMessage        // its own
	inResult         // those of result
	inParams         // those of params
	inMeta           // those of the _meta of params
)

// members walks the object at pos, whose values lie at the given depth.
func (s *scanner) members(depth, what int, env *envelope) error {
	if depth > maxDepth {
		return errDepth
	}
	s.pos++
	if s.next('}') {
		return nil
	}
	for {
		s.space()
		start := s.pos
		if s.pos >= len(s.b) || s.b[s.pos] != '"' {
			return s.fail("no member name")
		}
		escaped, err := s.str()
		if err != nil {
			return err
		}
		quoted := s.b[start:s.pos]
		if !s.next(':') {
			return s.fail("no colon after a member name")
		}
		s.space()
		switch what {
		case inside:
			err = s.value(depth)
		case inMessage:
			err = env.member(s, nameOf(quoted, escaped), depth)
		case inResult:
			err = env.resultMember(s, nameOf(quoted, escaped), depth)
		case inParams:
			err = env.paramsMember(s, nameOf(quoted, escaped), depth)
		case inMeta:
			err = env.metaMember(s, nameOf(quoted, escaped), depth)
		}
		if err != nil {
			return err
		}
		if s.next(',') {
			continue
		}
		if s.next('}') {
			return nil
		}
		return s.fail("no comma or brace after a member")
	}
}

func nameOf(quoted []byte, escaped bool) []byte {
	if escaped {
		return unescape(quoted)
	}
	return quoted[1 : len(quoted)-1]
}

func (s *scanner) list(depth int, found *[]span) error {
	if depth > maxDepth {
		return errDepth
	}
	s.pos++
	if s.next(']') {
		return nil
	}
	for {
		s.space()
		start := s.pos
		if err := s.value(depth); err != nil {
			return err
		}
		if found != nil {
			*found = append(*found, span{start, s.pos})
		}
		if s.next(',') {
			continue
		}
		if s.next(']') {
			return nil
		}
		return s.fail("no comma or bracket after an element")
	}
}

// value walks the value at pos, which is inside depth objects and arrays.
func (s *scanner) value(depth int) error {
	if s.pos >= len(s.b) {
		return s.fail("")
	}
	switch c := s.b[s.pos]; {
	case c == '"':
		_, err := s.str()
		return err
	case c == '{':
		return s.members(depth+1, inside, nil)
	case c == '[':
		return s.list(depth+1, nil)
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	}
	return s.fail("no JSON value")
}

func (s *scanner) word(w string) error {
	if !bytes.HasPrefix(s.b[s.pos:], []byte(w)) {
		return s.fail("no JSON value")
	}
	s.pos += len(w)
	return nil
}

func (s *scanner) number() error {
	if s.b[s.pos] == '-' {
		s.pos++
	}
	if s.pos < len(s.b) && s.b[s.pos] == '0' {
		s.pos++
	} else if !s.digits() {
		return s.fail("bad number")
	}
	if s.pos < len(s.b) && s.b[s.pos] == '.' {
		s.pos++
		if !s.digits() {
			return s.fail("bad number")
		}
	}
	if s.pos < len(s.b) && (s.b[s.pos] == 'e' || s.b[s.pos] == 'E') {
		s.pos++
		if s.pos < len(s.b) && (s.b[s.pos] == '+' || s.b[s.pos] == '-') {
			s.pos++
		}
		if !s.digits() {
			return s.fail("bad number")
		}
	}
	return nil
}

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.b) && s.b[s.pos] >= '0' && s.b[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > start
}

// Eight bytes at a time: a bit is set in the result of plain for each byte that is a control character,
// a quote or a backslash. Bits above the lowest one set may be wrong, so only whether any is set counts.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

func special(w uint64) uint64 {
	quote := w ^ ones*'"'
	slash := w ^ ones*'\\'
	return ((w - ones*0x20) | (quote - ones) | (slash - ones)) &^ w & highs
}

// str walks the string at pos and reports whether it holds escapes.
func (s *scanner) str() (escaped bool, err error) {
	b := s.b
	i := s.pos + 1
	for {
		for i+8 <= len(b) {
			w := uint64(b[i]) | uint64(b[i+1])<<8 | uint64(b[i+2])<<16 | uint64(b[i+3])<<24 |
				uint64(b[i+4])<<32 | uint64(b[i+5])<<40 | uint64(b[i+6])<<48 | uint64(b[i+7])<<56
			if special(w) != 0 {
				break
			}
			i += 8
		}
		for i < len(b) && b[i] >= 0x20 && b[i] != '"' && b[i] != '\\' {
			i++
		}
		if i >= len(b) {
			s.pos = i
			return escaped, s.fail("")
		}
		switch b[i] {
		case '"':
			s.pos = i + 1
			return escaped, nil
		case '\\':
			escaped = true
			n := escape(b[i:])
			if n == 0 {
				s.pos = i
				return escaped, s.fail("bad escape")
			}
			i += n
		default:
			s.pos = i
			return escaped, s.fail("control character in a string")
		}
	}
}

// escape is the length of the escape that b begins with; 0: none.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
				return 0
			}
		}
		return 6
	}
	return 0
}

// unescape is the text of a JSON string.
func unescape(quoted []byte) []byte {
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return nil
	}
	return []byte(s)
}

// stringOf is the text of a string member; ok is false if it is no string.
func stringOf(raw []byte) (s string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	return string(unescape(raw)), true
}

// integer reads a whole number, in whatever way it is written.
func integer(raw []byte) (int64, bool) {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	if len(raw) == 0 || len(raw) > 64 || raw[0] == '+' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}
