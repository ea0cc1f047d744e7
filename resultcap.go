package toolsource

import (
	"context"
	"fmt"
	"unicode/utf8"
)

// Sink takes a result that was cut, whole, and says where it can be had, for the model and the program: a
// path, a key, an address. It is called before the cut result is given to the caller, with the call's
// context, and may block no longer than the call may.
type Sink func(ctx context.Context, spec ToolSpec, whole Result) (place string, err error)

// MetaWhole is the key of Result.Meta under which the place of the whole result stands, where a Sink took it.
const MetaWhole = "toolsource/whole"

// CapResults is middleware that cuts results to a number of bytes, see Result.Cap. sink may be nil; one that
// fails or panics costs only the place. A tool's error keeps its text up to the same number of bytes.
func CapResults(bytes int, sink Sink) Middleware {
	return func(spec ToolSpec, next Callable) Callable {
		return func(ctx context.Context, args map[string]any) (Result, error) {
			res, err := next(ctx, args)
			if te, ok := err.(*ToolError); ok {
				if short, cut := te.Result.Cap(max(bytes, leastOfError)); cut {
					c := *te
					c.Result = short
					return res, &c
				}
				return res, err
			}
			if err != nil {
				return res, err
			}
			short, cut := res.Cap(bytes)
			if !cut {
				return res, nil
			}
			if sink != nil {
				place := ""
				err := protect(func() (err error) { place, err = sink(ctx, spec, res); return err })
				short = short.placed(place, err)
			}
			return short, nil
		}
	}
}

// leastOfError is how many bytes of a tool's error stay at least: a program and a model live by them.
const leastOfError = 16 << 10

// placed notes where the whole result is.
func (r Result) placed(place string, err error) Result {
	if err != nil || place == "" {
		return r
	}
	meta := make(map[string]any, len(r.Meta)+1)
	for k, v := range r.Meta {
		meta[k] = v
	}
	meta[MetaWhole] = place
	r.Meta = meta
	if len(r.Content) > 0 {
		r.Content = append(r.Content[:len(r.Content):len(r.Content)], Content{Type: ContentText, Text: fmt.Sprintf("[the whole result is at %s]", place)})
	}
	return r
}

// Cap is the result cut to a number of bytes, of its Content and of its Value each, as they are encoded in
// JSON; cut is false, and the result the same, where it is within it. Of texts the beginning (two fifths)
// and the end stay, at whole characters, with a line between them that says how much is missing. Blocks of
// bytes that do not fit become a line of text that says what they were. A Value that is a string is cut as a
// text is, a list of text blocks' values as the blocks are; any other becomes the string of its JSON, cut.
// Truncated is set. The result that it is called on does not change.
func (r Result) Cap(bytes int) (short Result, cut bool) {
	if bytes <= 0 {
		return r, false
	}
	short = r
	size := 0
	for _, c := range r.Content {
		size += c.encodedSize() + len(c.Annotations)
	}
	derived := len(r.Content) > 0 && r.derived()
	if size > bytes {
		content, from := capContent(r.Content, bytes)
		short.Content, cut = content, true
		if derived {
			short.Value = r.cutValue(content, from)
		}
	}
	if !derived || !cut {
		var valueCut bool
		short.Value, valueCut = capValue(short.Value, bytes)
		cut = cut || valueCut
	}
	short.Truncated = short.Truncated || cut
	return short, cut
}

// capContent cuts blocks, and says which block each is from. Annotations, bytes and links that do not fit go
// first; then texts share what is left.
func capContent(blocks []Content, most int) (out []Content, from []int) {
	left := most
	out = make([]Content, 0, len(blocks))
	for _, c := range blocks {
		if len(c.Annotations) > left {
			c.Annotations = nil
		}
		left -= len(c.Annotations)
		n := c.encodedSize() - len(c.Text)
		if n > left {
			bytes := n
			if c.Type != ContentResourceLink {
				bytes = max(len(c.Data), len(c.Raw))
			}
			c = Content{Type: ContentText, Text: fmt.Sprintf("[%s of %d bytes left out%s]", c.kindText(), bytes, source(c)), Annotations: c.Annotations, Meta: c.Meta}
		} else {
			left -= n
		}
		out = append(out, c)
	}
	return capTexts(out, max(left, min(most, leastText)))
}

// leastText is how much text stays beside blocks of bytes that fill the rest.
const leastText = 256

func source(c Content) string {
	if c.URI == "" {
		return ""
	}
	return ", from " + c.URI
}

// cutValue is what a program sees of cut blocks: its value of those that are whole, the text of the others.
func (r Result) cutValue(blocks []Content, from []int) any {
	if _, one := r.Value.(string); one {
		return blocks[0].Text
	}
	values := r.Value.([]any)
	list := make([]any, 0, len(blocks))
	for i, c := range blocks {
		was := &r.Content[from[i]]
		if c.Type == was.Type && c.Text == was.Text && c.URI == was.URI && len(c.Data) == len(was.Data) && len(c.Raw) == len(was.Raw) {
			list = append(list, values[from[i]])
			continue
		}
		list = append(list, c.Text)
	}
	return list
}

// capTexts cuts the texts of blocks to a number of bytes altogether, and says which block each is from. The
// first and the last part stay.
func capTexts(blocks []Content, most int) (out []Content, from []int) {
	total := 0
	for _, c := range blocks {
		total += len(c.Text)
	}
	head := most * headShare / 100
	tail := most - head
	at, noted := 0, false
	for i, c := range blocks {
		start := at
		at += len(c.Text)
		if total > most && len(c.Text) > 0 && at > head && start < total-tail {
			first, last, note := "", "", ""
			if start < head {
				first = wholeRunes(c.Text[:head-start])
			}
			if at > total-tail {
				last = c.Text[total-tail-start:]
				for len(last) > 0 && !utf8.RuneStart(last[0]) {
					last = last[1:]
				}
			}
			if !noted {
				note, noted = fmt.Sprintf("\n[... %d of %d bytes left out ...]\n", total-most, total), true
			}
			if c.Text = first + note + last; c.Text == "" {
				continue
			}
		}
		out, from = append(out, c), append(from, i)
	}
	return out, from
}

// headShare is how much of what is kept of a text is its beginning, in hundredths.
const headShare = 40

// wholeRunes drops the part of a character that a cut left at the end.
func wholeRunes(s string) string {
	for range utf8.UTFMax - 1 {
		if r, n := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || n != 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s
}

func capValue(v any, most int) (any, bool) {
	switch x := v.(type) {
	case nil, bool, int64, float64:
		return v, false
	case string:
		return capString(x, most)
	case Blob:
		if len(x.Data) <= most {
			return v, false
		}
		return fmt.Sprintf("[bytes %s: %d left out]", x.MIMEType, len(x.Data)), true
	}
	text := valueText(v)
	if len(text) <= most {
		return v, false
	}
	return capString(text, most)
}

func capString(s string, most int) (any, bool) {
	if len(s) <= most {
		return s, false
	}
	out, _ := capTexts([]Content{{Text: s}}, most)
	return out[0].Text, true
}
