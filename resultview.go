package toolsource

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// DefaultModelText is how many bytes of text a View has if nothing else is said.
const DefaultModelText = 2_000_000

// ViewOptions of Result.ForModel. The zero value and nil work.
type ViewOptions struct {
	// MaxText is the most bytes of text altogether; beyond it the middle is left out, and a line says how much.
	// 0: DefaultModelText; negative: no limit.
	MaxText int
	// Place says where a block's bytes can be had, such as a file that the host has written them to under
	// Content.FileName; "" keeps the block as it is. nil: blocks with bytes stay blocks.
	Place func(c Content) string
}

// ForModel is the result as blocks for a model: text, images, audio and bytes in their order. What a model
// cannot read becomes a line of text: a link (which is never fetched), and a block of a kind not known here.
// A Value that no block shows is added as JSON, in a text block at the end; one that a text block shows,
// as JSON or as it is, is not said twice. Characters of the Unicode tag block, which people do not see and
// models do, are taken out of texts, unless they spell a flag of a region, and a line says so. A block whose
// bytes are none is a line as well, since the APIs of models refuse it. The result itself stays.
func (r Result) ForModel(o *ViewOptions) []Content {
	var opt ViewOptions
	if o != nil {
		opt = *o
	}
	if opt.MaxText == 0 {
		opt.MaxText = DefaultModelText
	}
	var out []Content
	hidden := 0
	text := func(s string) {
		s, n := withoutTags(s)
		hidden += n
		out = append(out, Content{Type: ContentText, Text: s})
	}
	for _, c := range r.Content {
		switch {
		case c.Raw != nil:
			text(fmt.Sprintf("[a block of the kind %q, which is not known here: %s]", c.Type, c.Raw))
		case c.Type == ContentResourceLink:
			text(linkText(c))
		case len(c.Data) == 0 && (c.Data != nil || c.Type == ContentImage || c.Type == ContentAudio):
			text(fmt.Sprintf("[%s, 0 bytes]", c.kindText()))
		case c.Data == nil:
			if strings.TrimSpace(c.Text) != "" {
				text(c.Text)
			}
		default:
			if opt.Place != nil {
				if place := opt.Place(c); place != "" {
					text(fmt.Sprintf("[%s, %d bytes, at %s]", c.kindText(), len(c.Data), place))
					continue
				}
			}
			out = append(out, c)
		}
	}
	if !r.shown(out) {
		text(valueText(r.Value))
	}
	if hidden > 0 {
		out = append(out, Content{Type: ContentText, Text: fmt.Sprintf("[%d invisible tag characters were taken out]", hidden)})
	}
	if opt.MaxText > 0 {
		out, _ = capTexts(out, opt.MaxText)
	}
	return out
}

func (c Content) kindText() string {
	if c.MIMEType == "" {
		return string(c.Type)
	}
	return string(c.Type) + " " + c.MIMEType
}

func linkText(c Content) string {
	parts := []string{c.URI}
	for _, s := range []string{c.Title, c.MIMEType, c.Description} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if c.Size != nil {
		parts = append(parts, fmt.Sprintf("%d bytes", *c.Size))
	}
	name := c.Name
	if name == "" {
		name = "a resource"
	}
	return fmt.Sprintf("[link to %s: %s]", name, strings.Join(parts, ", "))
}

// shown reports whether the blocks say what Value says.
func (r Result) shown(blocks []Content) bool {
	if r.Value == nil {
		return true
	}
	if len(r.Content) > 0 && r.derived() {
		return true
	}
	value := canonical(r.Value) // once: there may be many blocks
	for _, c := range blocks {
		if c.Data == nil && says(c.Text, value) {
			return true
		}
	}
	m, ok := r.Value.(map[string]any)
	if !ok || len(m) != 1 {
		return false
	}
	in, wrapped := m["result"]
	if !wrapped {
		return false
	}
	if list, ok := in.([]any); ok {
		return eachSays(blocks, list)
	}
	s, ok := in.(string)
	return ok && len(blocks) == 1 && blocks[0].Text == s
}

// eachSays reports whether there is a text block for each item, in order.
func eachSays(blocks []Content, items []any) bool {
	if len(blocks) != len(items) || len(items) == 0 {
		return false
	}
	for i, it := range items {
		s, isText := it.(string)
		if blocks[i].Data != nil || !(isText && s == blocks[i].Text || says(blocks[i].Text, canonical(it))) {
			return false
		}
	}
	return true
}

// derived reports whether Value is what a program sees of Content, so that it says nothing more.
func (r Result) derived() bool {
	if s, ok := r.Value.(string); ok {
		return len(r.Content) == 1 && r.Content[0].Text == s
	}
	list, ok := r.Value.([]any)
	if !ok || len(list) != len(r.Content) {
		return false
	}
	for i, v := range list {
		c := &r.Content[i]
		switch v := v.(type) {
		case string:
			if c.Text != v {
				return false
			}
		case Blob:
			if !bytes.Equal(v.Data, c.Data) {
				return false
			}
		case map[string]any:
			if c.Raw == nil && c.Type != ContentResource && c.Type != ContentResourceLink {
				return false
			}
		default:
			if c.Raw == nil {
				return false
			}
		}
	}
	return true
}

// says reports whether a text is the value, which is canonical: as it is, or as JSON, whatever its order,
// indent and escapes. true and 1 are two things.
func says(text string, v any) bool {
	if s, ok := v.(string); ok && s == text {
		return true
	}
	text = strings.TrimSpace(text)
	if text == "" || !json.Valid([]byte(text)) {
		return false
	}
	var x any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	return dec.Decode(&x) == nil && reflect.DeepEqual(canonical(x), v)
}

// withoutTags takes the characters of the Unicode tag block out of a text, except in flags. Bytes that are no
// UTF-8 stay.
func withoutTags(s string) (string, int) {
	if !strings.Contains(s, "\U000E0000"[:2]) { // the first bytes of all of them
		return s, 0
	}
	var b strings.Builder
	gone := 0
	for len(s) > 0 {
		n := flagAt(s)
		if n == 0 {
			var r rune
			if r, n = utf8.DecodeRuneInString(s); isTag(r) {
				gone++
				s = s[n:]
				continue
			}
		}
		b.WriteString(s[:n])
		s = s[n:]
	}
	return b.String(), gone
}

const (
	blackFlag = "\U0001F3F4"
	cancelTag = '\U000E007F'
	mostCode  = 6 // letters and digits of a region's code: two for the country, up to four for the part
)

func isTag(r rune) bool { return r >= 0xE0000 && r <= 0xE007F }

// flagAt is the length of a flag at the start: a black flag, the code of a region in tags, and the tag that
// ends it. 0: there is none. A longer code is none, so that no message passes for a flag.
func flagAt(s string) int {
	rest, ok := strings.CutPrefix(s, blackFlag)
	if !ok {
		return 0
	}
	for i := 0; i <= mostCode; i++ {
		r, n := utf8.DecodeRuneInString(rest)
		rest = rest[n:]
		letter := r >= 0xE0061 && r <= 0xE007A || r >= 0xE0030 && r <= 0xE0039
		switch {
		case r == cancelTag && i > 0:
			return len(s) - len(rest)
		case !letter:
			return 0
		}
	}
	return 0
}

// ModelMeta is Meta without the keys that the protocol keeps for itself: those in whose prefix, before the
// slash, the second label is "modelcontextprotocol" or "mcp" (MCP 2025-11-25, _meta), or any that another one
// follows (MCP 2025-06-18). nil if nothing is left.
func (r Result) ModelMeta() map[string]any {
	var out map[string]any
	for k, v := range r.Meta {
		if reservedMeta(k) {
			continue
		}
		if out == nil {
			out = map[string]any{}
		}
		out[k] = v
	}
	return out
}

func reservedMeta(key string) bool {
	prefix, _, ok := strings.Cut(key, "/")
	if !ok {
		return false
	}
	labels := strings.Split(prefix, ".")
	for i, l := range labels {
		if (l == "modelcontextprotocol" || l == "mcp") && (i == 1 || i < len(labels)-1) {
			return true
		}
	}
	return false
}

// encodedSize is about how many bytes a block has on the wire, without annotations.
func (c Content) encodedSize() int {
	n := len(c.Text) + base64.StdEncoding.EncodedLen(len(c.Data)) + len(c.Raw)
	if c.Type == ContentResourceLink {
		n += len(c.URI) + len(c.Name) + len(c.Title) + len(c.Description) + len(c.MIMEType)
	}
	return n
}
