// Package redact takes secrets out of texts, and out of the ends of texts that were cut.
//
// It finds a secret as it is and as JSON, a URL or a quoted Go string write it. Short values and everyday
// words are left alone: without them a text could not be read, and they keep nothing secret. It cannot find
// what was changed in another way, base64 for one. Beside the secrets that it is told of it knows what
// credentials usually look like, see Shaped.
package redact

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	mask     = "***"
	shortest = 4 // bytes of a value that is taken out
)

var everyday = []string{
	"true", "false", "none", "null", "auto", "always", "never", "info", "debug", "warn", "warning", "error", "trace",
	"test", "development", "production", "local", "localhost", "disabled", "enabled", "1000", "10000",
}

// Set is a set of secrets. The zero value and nil are empty. It does not change and may be used by several
// goroutines at once.
type Set struct {
	forms   []form    // the longer first
	begins  [4]uint64 // a bit for each byte that one begins with
	longest int
}

// form is one way in which a secret may be written, and what stands for it.
type form struct{ text, mask string }

// Counts reports whether a value is taken out at all.
func Counts(value string) bool {
	return len(value) >= shortest && !slices.Contains(everyday, strings.ToLower(value))
}

// New makes the set of those values that count.
func New(values ...string) *Set {
	masks := make(map[string]string, len(values))
	for _, v := range values {
		masks[v] = mask
	}
	return Masked(masks)
}

// Masked makes the set of those values that count, each with what stands in its place.
func Masked(masks map[string]string) *Set {
	s := &Set{}
	for v, m := range masks {
		if !Counts(v) {
			continue
		}
		quoted := strconv.Quote(v)
		for n, text := range []string{v, url.QueryEscape(v), url.PathEscape(v), quoted[1 : len(quoted)-1], jsonText(v, true), jsonText(v, false)} {
			if n > 0 && text == v {
				continue
			}
			s.forms = append(s.forms, form{text, m})
			s.begins[text[0]>>6] |= 1 << (text[0] & 63)
			s.longest = max(s.longest, len(text))
		}
	}
	slices.SortFunc(s.forms, func(a, b form) int {
		return cmp.Or(len(b.text)-len(a.text), strings.Compare(a.text, b.text), strings.Compare(a.mask, b.mask))
	})
	s.forms = slices.Clip(slices.CompactFunc(s.forms, func(a, b form) bool { return a.text == b.text }))
	return s
}

func jsonText(v string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	_ = enc.Encode(v) // a string can be written
	text := strings.TrimSuffix(b.String(), "\n")
	return text[1 : len(text)-1]
}

// Longest is the length of the longest text that is taken out, in bytes; 0 if none is.
func (s *Set) Longest() int {
	if s == nil {
		return 0
	}
	return s.longest
}

type span struct {
	from, to int
	mask     string
}

// find gives where secrets stand, in order. Those that touch or overlap are one.
func (s *Set) find(text string) []span {
	if s.Longest() == 0 {
		return nil
	}
	var found []span
	for i := 0; i < len(text); i++ {
		if s.begins[text[i]>>6]>>(text[i]&63)&1 == 0 {
			continue
		}
		for _, f := range s.forms {
			if !strings.HasPrefix(text[i:], f.text) {
				continue
			}
			if n := len(found); n > 0 && found[n-1].to >= i {
				found[n-1].to = max(found[n-1].to, i+len(f.text))
			} else {
				found = append(found, span{i, i + len(f.text), f.mask})
			}
			break
		}
	}
	return found
}

// Text is a text with *** for each secret, or what else stands in its place.
func (s *Set) Text(text string) string { return replace(text, s.find(text), 0) }

// replace writes text from a place on.
func replace(text string, found []span, from int) string {
	if from == 0 && found == nil {
		return text
	}
	var b strings.Builder
	for _, f := range found {
		if f.to <= from {
			continue
		}
		b.WriteString(text[from:max(f.from, from)])
		b.WriteString(f.mask)
		from = f.to
	}
	b.WriteString(text[from:])
	return b.String()
}

// Tail is the last max bytes of a text with *** for each secret, and for one that the cut goes through. It
// begins with a whole character. Where text is itself the end of a longer one, it has to hold Longest bytes
// more than max, so that no secret shows in part.
func (s *Set) Tail(text string, max int) string {
	from := len(text) - max
	if from <= 0 {
		return s.Text(text)
	}
	for from < len(text) && !utf8.RuneStart(text[from]) && from < len(text)-max+utf8.UTFMax-1 {
		from++
	}
	return replace(text, s.find(text), from)
}
