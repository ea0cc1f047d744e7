package tomldoc

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds the nesting of values and the parts of a dotted key. The TOML reader recurses on the
// first and takes quadratic time on the second.
const maxDepth = 64

// maxKeyWork bounds, in bytes, the sum over all keys of their full paths: the TOML reader writes each out,
// which for many keys below a long one takes long.
const maxKeyWork = 64 << 20

var (
	errTooDeep = errors.New("nested too deep")
	errTooLong = errors.New("keys too long")
	errLost    = errors.New("not TOML that the locator knows")
)

// place is where a key stands and what stands below it. The TOML reader gives no positions, so the text is
// walked once more for them.
type place struct {
	line, col int      // of the key
	at        spot     // of the value; the zero spot where it has none of its own
	text      string   // of a value that is no string, array or table
	order     []string // keys in order of first appearance
	keys      map[string]*place
	items     []*place // elements of an array, or the tables of an array of tables
}

func (p *place) child(key string) *place { return p.keys[key] }

func (p *place) ensure(part keyPart) *place {
	if c := p.keys[part.name]; c != nil {
		return c
	}
	if p.keys == nil {
		p.keys = map[string]*place{}
	}
	c := &place{line: part.line, col: part.col}
	p.keys[part.name] = c
	p.order = append(p.order, part.name)
	return c
}

type spot struct{ line, col int }

type keyPart struct {
	name      string
	line, col int
}

// locator walks TOML text. It follows valid text exactly; on any other it stops with errLost, at the
// latest where the text stops being valid, so that a depth found by then is the depth a reader would meet.
type locator struct {
	s string
	i int

	at        int // how far line and col are counted
	line, col int

	path    int // length of the keys around
	keyWork int
}

func locate(s string) (*place, error) {
	l := &locator{s: s, line: 1, col: 1}
	root := &place{line: 1, col: 1}
	cur := root
	for {
		l.blank()
		if l.i >= len(l.s) {
			return root, nil
		}
		var err error
		if l.s[l.i] == '[' {
			cur, err = l.header(root)
		} else {
			err = l.pair(cur, 0)
		}
		if err != nil {
			return root, err
		}
	}
}

// here is the line and column of the current offset. Offsets only grow, so all calls together read the
// text once.
func (l *locator) here() (line, col int) {
	for l.at < l.i {
		r, n := utf8.DecodeRuneInString(l.s[l.at:])
		l.at += n
		l.col++
		if r == '\n' {
			l.line++
			l.col = 1
		}
	}
	return l.line, l.col
}

func (l *locator) spaces() {
	for l.i < len(l.s) && (l.s[l.i] == ' ' || l.s[l.i] == '\t') {
		l.i++
	}
}

// blank skips white space, line ends and comments.
func (l *locator) blank() {
	for l.i < len(l.s) {
		switch l.s[l.i] {
		case ' ', '\t', '\n', '\r':
			l.i++
		case '#':
			end := strings.IndexByte(l.s[l.i:], '\n')
			if end < 0 {
				l.i = len(l.s)
				return
			}
			l.i += end
		default:
			return
		}
	}
}

func (l *locator) take(lit string) bool {
	if strings.HasPrefix(l.s[l.i:], lit) {
		l.i += len(lit)
		return true
	}
	return false
}

// header reads [a.b] or [[a.b]] and gives the table that follows it.
func (l *locator) header(root *place) (*place, error) {
	line, col := l.here()
	array := l.take("[[")
	if !array && !l.take("[") {
		return nil, errLost
	}
	l.path = 0
	parts, err := l.key()
	if err != nil {
		return nil, err
	}
	l.path = pathLen(parts)
	if array && !l.take("]]") || !array && !l.take("]") {
		return nil, errLost
	}
	cur := root
	for _, part := range parts[:len(parts)-1] {
		cur = cur.ensure(part)
		if n := len(cur.items); n > 0 {
			cur = cur.items[n-1]
		}
	}
	cur = cur.ensure(parts[len(parts)-1])
	if array {
		item := &place{line: line, col: col, at: spot{line, col}}
		cur.items = append(cur.items, item)
		return item, nil
	}
	return cur, nil
}

// key reads a dotted key up to what ends it.
func (l *locator) key() ([]keyPart, error) {
	var parts []keyPart
	for {
		l.spaces()
		line, col := l.here()
		name, err := l.keyName()
		if err != nil {
			return nil, err
		}
		parts = append(parts, keyPart{name, line, col})
		if len(parts) > maxDepth {
			return nil, errTooDeep
		}
		l.spaces()
		if l.take(".") {
			continue
		}
		if l.keyWork += l.path + pathLen(parts); l.keyWork > maxKeyWork {
			return nil, errTooLong
		}
		return parts, nil
	}
}

func pathLen(parts []keyPart) int {
	n := 0
	for _, p := range parts {
		n += len(p.name) + 1
	}
	return n
}

func (l *locator) keyName() (string, error) {
	if l.i >= len(l.s) {
		return "", errLost
	}
	switch l.s[l.i] {
	case '\'':
		end := strings.IndexAny(l.s[l.i+1:], "'\n")
		if end < 0 || l.s[l.i+1+end] == '\n' {
			return "", errLost
		}
		name := l.s[l.i+1 : l.i+1+end]
		l.i += end + 2
		return name, nil
	case '"':
		start := l.i
		if err := l.basicString(); err != nil {
			return "", err
		}
		return unescape(l.s[start+1 : l.i-1])
	}
	start := l.i
	for l.i < len(l.s) && !strings.ContainsRune(" \t\r\n.=[]{},#\"'", rune(l.s[l.i])) {
		l.i++
	}
	if l.i == start {
		return "", errLost
	}
	return l.s[start:l.i], nil
}

func (l *locator) pair(table *place, depth int) error {
	parts, err := l.key()
	if err != nil {
		return err
	}
	if !l.take("=") {
		return errLost
	}
	l.spaces()
	for _, part := range parts {
		table = table.ensure(part)
	}
	below := pathLen(parts)
	l.path += below
	defer func() { l.path -= below }()
	return l.value(table, depth)
}

func (l *locator) value(p *place, depth int) error {
	if depth > maxDepth {
		return errTooDeep
	}
	p.at.line, p.at.col = l.here()
	switch {
	case l.i >= len(l.s):
		return errLost
	case strings.HasPrefix(l.s[l.i:], `"""`):
		return l.longString('"', true)
	case strings.HasPrefix(l.s[l.i:], `'''`):
		return l.longString('\'', false)
	case l.s[l.i] == '"':
		return l.basicString()
	case l.s[l.i] == '\'':
		_, err := l.keyName()
		return err
	case l.take("["):
		return l.list(']', func() error {
			line, col := l.here()
			item := &place{line: line, col: col}
			p.items = append(p.items, item)
			return l.value(item, depth+1)
		})
	case l.take("{"):
		return l.list('}', func() error { return l.pair(p, depth+1) })
	}
	start := l.i
	for l.i < len(l.s) && !strings.ContainsRune(",]}#\r\n", rune(l.s[l.i])) {
		l.i++
	}
	if l.i == start {
		return errLost
	}
	p.text = strings.TrimRight(l.s[start:l.i], " \t")
	return nil
}

// list reads elements between commas up to the closing bracket.
func (l *locator) list(end byte, element func() error) error {
	for {
		l.blank()
		if l.i < len(l.s) && l.s[l.i] == end {
			l.i++
			return nil
		}
		if err := element(); err != nil {
			return err
		}
		l.blank()
		if !l.take(",") && (l.i >= len(l.s) || l.s[l.i] != end) {
			return errLost
		}
	}
}

// basicString reads "..." on one line.
func (l *locator) basicString() error {
	for l.i++; l.i < len(l.s); l.i++ {
		switch l.s[l.i] {
		case '\\':
			l.i++
		case '\n':
			return errLost
		case '"':
			l.i++
			return nil
		}
	}
	return errLost
}

// longString reads a string between three quotes; up to two quotes may stand before the last three.
func (l *locator) longString(quote byte, escapes bool) error {
	end := strings.Repeat(string(quote), 3)
	for l.i += 3; l.i < len(l.s); l.i++ {
		if escapes && l.s[l.i] == '\\' {
			l.i++
			continue
		}
		if strings.HasPrefix(l.s[l.i:], end) {
			l.i += 3
			for n := 0; n < 2 && l.i < len(l.s) && l.s[l.i] == quote; n++ {
				l.i++
			}
			return nil
		}
	}
	return errLost
}

var escapes = map[byte]string{'b': "\b", 't': "\t", 'n': "\n", 'f': "\f", 'r': "\r", 'e': "\x1b", '"': `"`, '\\': `\`}

// unescape decodes the inside of a basic string.
func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i >= len(s) {
			return "", errLost
		}
		if e, ok := escapes[s[i]]; ok {
			b.WriteString(e)
			continue
		}
		n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[i]]
		if n == 0 || i+n >= len(s) {
			return "", errLost
		}
		r, err := strconv.ParseUint(s[i+1:i+1+n], 16, 32)
		if err != nil {
			return "", errLost
		}
		b.WriteRune(rune(r))
		i += n
	}
	return b.String(), nil
}
