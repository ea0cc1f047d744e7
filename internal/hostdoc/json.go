package hostdoc

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
	"github.com/toolsource/toolsource/internal/tomldoc"
)

// json reads JSON with comments and trailing commas. checkJSON sees the text first, as the reader recurses
// and its messages show what the file says.
func (d *reading) json(text string) *tomldoc.Problem {
	empty, bad := checkJSON(text)
	if bad != nil {
		line, col := tomldoc.LineCol(text, bad.at)
		return d.fail(line, col, bad.hint, "%s", bad.message)
	}
	if empty {
		d.doc.Empty = true
		return nil
	}
	// The reader wants a line end after the last comment.
	v, err := hujson.Parse([]byte(text + "\n"))
	if err != nil {
		return d.fail(0, 0, "", "is not JSON")
	}
	b := &jsonBuilder{reading: d, place: cursor{text: text, line: 1, col: 1}}
	d.doc.Root = b.node(v, "")
	return nil
}

type jsonBuilder struct {
	*reading
	place cursor
}

func (b *jsonBuilder) node(v hujson.Value, path string) *Node {
	n := &Node{Path: path}
	n.Line, n.Col = b.place.at(v.StartOffset)
	switch x := v.Value.(type) {
	case *hujson.Object:
		n.Kind = Map
		n.Members = make([]Member, len(x.Members))
		for i, m := range x.Members {
			member := &n.Members[i]
			member.Line, member.Col = b.place.at(m.Name.StartOffset)
			lit, _ := m.Name.Value.(hujson.Literal)
			member.Name = b.str(lit, path, member.Line, member.Col)
			member.Value = b.node(m.Value, tomldoc.Join(path, member.Name))
		}
		b.repeated(n.Members)
	case *hujson.Array:
		n.Kind = List
		n.Items = make([]*Node, len(x.Elements))
		for i, e := range x.Elements {
			n.Items[i] = b.node(e, tomldoc.Index(path, i))
		}
	case hujson.Literal:
		b.literal(n, x)
	}
	return n
}

func (b *jsonBuilder) literal(n *Node, lit hujson.Literal) {
	switch lit.Kind() {
	case 'n':
		n.Kind = Null
	case 't', 'f':
		n.Kind, n.Text = Bool, string(lit)
	case '"':
		n.Kind, n.Text = String, b.str(lit, n.Path, n.Line, n.Col)
		if brokenDrive(n.Text) {
			b.suspect(n.Line, n.Col, n.Path, `in a Windows path, write \\ or /`,
				`looks like a Windows path with single backslashes: one of them was read as an escape`)
		}
	default:
		n.Kind, n.Text = Number, string(lit)
	}
}

// str decodes a string.
func (b *jsonBuilder) str(lit hujson.Literal, path string, line, col int) string {
	if strings.IndexByte(string(lit), '\\') < 0 {
		return string(lit[1 : len(lit)-1])
	}
	var s string
	if err := json.Unmarshal(lit, &s); err != nil {
		return ""
	}
	if halfPair(string(lit)) {
		b.suspect(line, col, path, `write both halves, as \ud83d\ude00`,
			"an escape is half of a surrogate pair; it is read as the replacement character")
	}
	return s
}

// halfPair reports whether an escape of a JSON string is a surrogate without its other half.
func halfPair(lit string) bool {
	high := false
	for i := 0; i < len(lit); {
		if lit[i] != '\\' {
			if high {
				return true
			}
			i++
			continue
		}
		if lit[i+1] != 'u' {
			if high {
				return true
			}
			i += 2
			continue
		}
		c := strings.ToLower(lit[i+2 : i+4])
		isHigh, isLow := c >= "d8" && c <= "db", c >= "dc" && c <= "df"
		if high != isLow {
			return true
		}
		high = isHigh
		i += 6
	}
	return false
}

// brokenDrive reports whether a text begins as C:\temp does once \t is read as a tab.
func brokenDrive(s string) bool {
	if len(s) < 3 || s[1] != ':' || (s[0]|0x20) < 'a' || (s[0]|0x20) > 'z' {
		return false
	}
	return strings.ContainsAny(s, "\b\f\n\r\t")
}

// cursor turns offsets that only grow into places, so that all of them together read the text once.
type cursor struct {
	text      string
	i         int
	line, col int
}

func (c *cursor) at(offset int) (line, col int) {
	for c.i < offset && c.i < len(c.text) {
		r, n := utf8.DecodeRuneInString(c.text[c.i:])
		c.i += n
		c.col++
		if r == '\n' {
			c.line++
			c.col = 1
		}
	}
	return c.line, c.col
}
