package toolsource

import (
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// signature is "name(a, b) -> returns".
func signature(s *ToolSpec, name string) string {
	var b strings.Builder
	b.WriteString(name)
	b.WriteByte('(')
	for i := range s.Args {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(oneLine(s.Args[i].Name))
	}
	b.WriteString(") -> ")
	if s.Returns == "" {
		b.WriteString("Any")
	} else {
		b.WriteString(oneLine(s.Returns))
	}
	return b.String()
}

// Signature is "name(a, b) -> returns" on one line.
func (s ToolSpec) Signature() string { return signature(&s, oneLine(s.Name)) }

// describe renders one line per tool, whatever its description holds.
func describe(specs []ToolSpec) string {
	var b strings.Builder
	for i := range specs {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("  ")
		b.WriteString(specs[i].Signature())
		if d := strings.TrimSpace(oneLine(specs[i].Description)); d != "" {
			b.WriteString(": ")
			b.WriteString(shorten(d, maxDescribed))
		}
	}
	return b.String()
}

// maxDescribed is how many characters of a description a line has.
const maxDescribed = 1024

// shorten keeps at most the first characters of a text; an ellipsis says that more followed.
func shorten(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	at := 0
	for range most - 1 {
		_, n := utf8.DecodeRuneInString(s[at:])
		at += n
	}
	return strings.TrimRight(s[:at], " ") + "\u2026"
}

// quoteAll lists words in quotes, sorted.
func quoteAll(words []string) string {
	words = append([]string(nil), words...)
	sort.Strings(words)
	for i, w := range words {
		words[i] = strconv.Quote(w)
	}
	return strings.Join(words, ", ")
}

// near lists up to max of the names that are close to want, the closest first.
func near(want string, names []string, most int) []string {
	type scored struct {
		name string
		d    int
	}
	limit := 1 + len(want)/4
	lower := strings.ToLower(want)
	var close []scored
	for _, n := range names {
		l := strings.ToLower(n)
		d := limit + 1
		if diff := len(l) - len(lower); diff <= limit && -diff <= limit {
			d = editDistance(lower, l, limit)
		}
		if d > limit && len(lower) >= 3 && (strings.Contains(l, lower) || strings.Contains(lower, l) && len(l) >= 3) {
			d = limit
		}
		if d <= limit {
			close = append(close, scored{n, d})
		}
	}
	sort.Slice(close, func(i, j int) bool {
		if close[i].d != close[j].d {
			return close[i].d < close[j].d
		}
		return close[i].name < close[j].name
	})
	var out []string
	for i := 0; i < len(close) && i < most; i++ {
		out = append(out, close[i].name)
	}
	return out
}

// editDistance counts the insertions, deletions, replacements and swaps of neighbours that turn a into b,
// and gives up above limit.
func editDistance(a, b string, limit int) int {
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		best := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
			best = min(best, cur[j])
		}
		if best > limit {
			return best
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
