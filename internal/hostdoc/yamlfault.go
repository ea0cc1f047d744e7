package hostdoc

import (
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/toolsource/toolsource/internal/tomldoc"
	"go.yaml.in/yaml/v3"
)

// The YAML reader's messages may show what the file says, have no column, and name a line only where that
// is not the first; of what it calls a parser's error it is that of the surrounding block, less one. So the
// messages are replaced, and the line is found in one of several ways.
type yamlPlace int

const (
	named   yamlPlace = iota // the message names the line
	seen                     // the first line with which the message comes
	opened                   // the message names the line before the one of the bracket
	tabbed                   // the first line from the one that the message names that a tab indents
	reached                  // the line that the reader had read by then
)

// yamlFaults are the reader's messages, by how they begin.
var yamlFaults = []struct {
	reader, message, hint string
	place                 yamlPlace
}{
	{"mapping values are not allowed", "a : where no key can stand", `write a text that holds ": " in quotes; check how far the line is indented`, named},
	{"mapping keys are not allowed", "a ? where no key can stand", "write the text in quotes", named},
	{"block sequence entries are not allowed", "a - where no list can stand", "begin the list on a line of its own", named},
	{"found character that cannot start any token", "a character that no value begins with", "write the value in quotes; indent with spaces, not tabs", named},
	{"found a tab character", "a tab indents the line", "indent with spaces", tabbed},
	{"found unknown escape character", "an escape that YAML does not have", `in a Windows path, write \\ or /, or write it in single quotes`, named},
	{"did not find expected hexdecimal number", "an escape that YAML does not have", `in a Windows path, write \\ or /, or write it in single quotes`, named},
	{"found invalid Unicode character escape", "an escape that is no character", "", named},
	{"found unexpected end of stream", "a text in quotes has no end", "add the closing quote", named},
	{"found unexpected document indicator", "a text in quotes has no end", "add the closing quote", named},
	{"could not find expected ':'", "a : is missing after a key", `write "key: value"`, named},
	{"did not find expected comment or line break", "something stands after | or >", "write the text on the lines below it", named},
	{"found an indentation indicator equal to 0", "something stands after | or >", "write the text on the lines below it", named},
	{"did not find expected alphabetic or numeric", "an anchor or alias has no name", "write a text that begins with & or * in quotes", named},
	{"unknown anchor", "an alias has no anchor", "write a text that begins with * in quotes", seen},
	{"found undefined tag handle", "a tag that is not declared", "write a text that begins with ! in quotes", seen},
	{"did not find expected key", "the line does not fit the lines before it", "check how far it is indented, and that quotes are closed", seen},
	{"did not find expected '-' indicator", "the line does not fit the list before it", "check how far it is indented", seen},
	{"did not find expected <document start>", "the line does not fit the lines before it", "check how far it is indented, and that quotes are closed", seen},
	{"did not find expected node content", "a value is missing", "write a text that begins with [ ] { } , in quotes", seen},
	{"did not find expected ',' or ']'", "a [ is not closed, or a comma is missing after it", "", opened},
	{"did not find expected ',' or '}'", "a { is not closed, or a comma is missing after it", "", opened},
	{"exceeded max depth", tooDeep(), "", reached},
}

var yamlLineName = regexp.MustCompile(`^line ([0-9]+): `)

// yamlFault is the problem of a text that the reader refused.
func (d *reading) yamlFault(text string, err error) *tomldoc.Problem {
	message := yamlMessage(err)
	if message == "control characters are not allowed" {
		line, col := tomldoc.LineCol(text, strings.IndexFunc(text, yamlControl))
		return d.fail(line, col, "delete it", "is not YAML: a control character")
	}
	said, hint, place := "the reader stopped here", "", reached
	for _, f := range yamlFaults {
		if strings.HasPrefix(message, f.reader) {
			said, hint, place = f.message, f.hint, f.place
			break
		}
	}
	start := yamlFaultLine(text, message, place)
	line, col := tomldoc.LineCol(text, start+len(text[start:])-len(strings.TrimLeft(text[start:], " ")))
	return d.fail(line, col, hint, "is not YAML: %s", said)
}

// yamlMessage is the reader's message without its name and line.
func yamlMessage(err error) string {
	s := strings.TrimPrefix(err.Error(), "yaml: ")
	return s[len(yamlLineName.FindString(s)):]
}

// yamlControl reports whether a character may not stand in YAML.
func yamlControl(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r', r == '\u0085':
		return false
	}
	return r < ' ' || 0x7f <= r && r < 0xa0 || r == '\ufeff' || r == 0xfffe || r == 0xffff
}

// yamlFaultLine is where the line of a fault begins, as a byte of the text.
func yamlFaultLine(text, message string, place yamlPlace) int {
	switch place {
	case named:
		return namedLine(text, 0)
	case opened:
		return namedLine(text, 1)
	case tabbed:
		start := namedLine(text, 0)
		if tab := tabIndent.FindStringIndex(text[start:]); tab != nil {
			start += tab[0]
		}
		return start
	}
	r := &byteReader{text: text}
	var n yaml.Node
	decodeYAML(yaml.NewDecoder(r), &n)
	if place == seen {
		return firstSeen(text, r.read, message)
	}
	return lineStart(text, r.read-aheadYAML)
}

var tabIndent = regexp.MustCompile(`(?m)^ *\t`)

// searchYAML is how much text is read again to find a line, in bytes.
const searchYAML = 2 << 20

// firstSeen is the line with which a message comes. The reader has read on from it by some lines, seldom by
// more than two. Of many, and in a large text, the line is a later one.
func firstSeen(text string, read int, message string) int {
	start := lineStart(text, read)
	for step, tries := 1, 0; start > 0 && (tries+1)*start < searchYAML && tries < 12; tries++ {
		before := start
		for i := 0; i < step && before > 0; i++ {
			before = lineStart(text, before-1)
		}
		switch {
		case tries == 0 && !failsWith(text[:start], message):
			return start
		case failsWith(text[:before], message):
			start = before
			step *= 2
		case step == 1:
			return before
		default:
			step = 1
		}
	}
	return start
}

// namedLine is the line that the reader names, with a line put before the text since it names no first one.
func namedLine(text string, more int) int {
	var n yaml.Node
	err := decodeYAML(yaml.NewDecoder(strings.NewReader("\n"+text)), &n)
	want := 0
	if err != nil {
		if m := yamlLineName.FindStringSubmatch(strings.TrimPrefix(err.Error(), "yaml: ")); m != nil {
			want, _ = strconv.Atoi(m[1])
		}
	}
	line := 2 - more
	for i, r := range text {
		if line >= want {
			return i
		}
		if yamlBreak(text, i, r) {
			line++
		}
	}
	return lineStart(text, len(strings.TrimRight(text, "\r\n ")))
}

func failsWith(text, message string) bool {
	var n yaml.Node
	err := decodeYAML(yaml.NewDecoder(strings.NewReader(text)), &n)
	return err != nil && !errors.Is(err, io.EOF) && yamlMessage(err) == message
}

// lineStart is where the line of a byte begins.
func lineStart(text string, at int) int {
	return strings.LastIndexByte(text[:min(max(at, 0), len(text))], '\n') + 1
}

// aheadYAML is how many characters the reader looks ahead.
const aheadYAML = 4

// byteReader gives a byte at a time and so knows how far its reader has come.
type byteReader struct {
	text string
	read int
}

func (r *byteReader) Read(p []byte) (int, error) {
	if r.read >= len(r.text) || len(p) == 0 {
		return 0, io.EOF
	}
	p[0] = r.text[r.read]
	r.read++
	return 1, nil
}
