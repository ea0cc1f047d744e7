package toolschema

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxLine is how many characters OneLine keeps if it is not told.
const MaxLine = 1024

// An Edit is one kind of thing that was taken out of a text, or changed in it.
type Edit struct {
	Rule  string // one of the words at Clean
	Count int    // how often
	At    int    // byte of the text where it is first
	What  string // the first one: a character as U+202E, or what else it is
}

func (e Edit) String() string {
	if e.Rule == "cut" {
		return editWords[e.Rule] + ": " + e.What
	}
	return fmt.Sprintf("%s: %d, the first is %s at byte %d", editWords[e.Rule], e.Count, e.What, e.At)
}

// editWords say what each rule does.
var editWords = map[string]string{
	"utf8":      "bytes that are no UTF-8 are replaced",
	"line":      "white space is made one space",
	"control":   "control characters are taken out",
	"bidi":      "characters that turn the reading direction are taken out",
	"tag":       "tag characters outside a flag are taken out",
	"joiner":    "joiners that join nothing are taken out",
	"selector":  "variation selectors that select nothing are taken out",
	"invisible": "invisible characters are taken out",
	"cut":       "the text is cut",
}

// Clean takes out of a text what a reader does not see and a model does, and tells what it took. Lines and
// tabs stay. The rules:
//
//	utf8       bytes that are no UTF-8 become U+FFFD
//	line       a carriage return is a line's end with the line feed behind it, and alone; U+2028, U+2029,
//	           U+0085, vertical tabs and form feeds are one too
//	control    other control characters, and whole escape sequences of a terminal, are taken out
//	bidi       characters that turn the reading direction are taken out: U+061C, U+200E, U+200F,
//	           U+202A to U+202E, U+2066 to U+2069
//	tag        U+E0000 to U+E007F are taken out, except in the flag of a region: U+1F3F4, three to six tag
//	           letters or digits, U+E007F
//	joiner     U+200D stays between emoji, and it and U+200C stay between letters of scripts that join them,
//	           as Arabic and those of India do, and their marks; U+200D also at the end of a word of Arabic
//	           letters, or behind the mark of such a script
//	selector   U+FE0E and U+FE0F stay behind a symbol or a digit, and one other selector behind an
//	           ideograph or the letter of a script that has such forms
//	invisible  U+00AD, U+034F, U+115F, U+1160, U+17B4, U+17B5, U+180E but between Mongolian letters, U+200B, U+2060 to U+2065,
//	           U+206A to U+206F, U+3164, U+FEFF, U+FFA0, U+FFF9 to U+FFFB and U+1D173 to U+1D17A are taken out
//
// Letters that look like others stay: Inspect tells of them.
func Clean(s string) (string, []Edit) { return cleanText(s, false) }

// OneLine is Clean for a single line of at most max characters, MaxLine if max is 0: line ends, tabs and runs
// of spaces become one space, and what is longer ends in "…", never inside of what is seen as one character.
func OneLine(s string, max int) (string, []Edit) {
	if max <= 0 {
		max = MaxLine
	}
	s, edits := cleanText(s, true)
	if n := utf8.RuneCountInString(s); n > max {
		short := cut(s, max)
		edits = append(edits, Edit{"cut", 1, len(short), fmt.Sprintf("%d characters, and %d are kept", n, max)})
		s = short
	}
	return s, edits
}

// cut keeps at most max characters, the last of which says that more followed.
func cut(s string, max int) string {
	if utf8.RuneCountInString(s) <= max {
		return s
	}
	runes := []rune(s)
	end := max - 1
	for end > 0 && (joinsBefore(runes[end]) || runes[end-1] == zwj) {
		end--
	}
	return strings.TrimRightFunc(string(runes[:end]), unicode.IsSpace) + "…"
}

// joinsBefore reports whether a character belongs to the one before it.
func joinsBefore(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc) || r == zwj || isSelector(r) || isTag(r) || r >= 0x1F3FB && r <= 0x1F3FF
}

const (
	zwnj = '\u200c'
	zwj  = '\u200d'

	vowelSeparator = '\u180e' // of Mongolian
	blackFlag      = 0x1F3F4
	cancelTag      = 0xE007F
	escapeRune     = 0x1b
)

func isTag(r rune) bool { return r >= 0xE0000 && r <= 0xE007F }
func isSelector(r rune) bool {
	return r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF || r >= 0x180B && r <= 0x180D || r == 0x180F
}

// isPlain reports whether a text has nothing that any rule is about, as most have.
func isPlain(s string, line bool) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= utf8.RuneSelf || c == 0x7f || c < ' ' && (line || c != '\n' && c != '\t') || line && c == ' ' && (i == 0 || i == len(s)-1 || s[i-1] == ' ') {
			return false
		}
	}
	return true
}

// A cleaner goes through a text once.
type cleaner struct {
	runes []rune
	at    []int // byte of each
	out   strings.Builder
	last  rune // last that was kept
	base  rune // last that was kept and is no mark
	edits []Edit
}

func cleanText(s string, line bool) (string, []Edit) {
	if isPlain(s, line) {
		return s, nil
	}
	c := &cleaner{}
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				c.note("utf8", i, fmt.Sprintf("byte %#x", s[i]))
			}
		}
		c.runes, c.at = append(c.runes, r), append(c.at, i)
	}
	for i := 0; i < len(c.runes); {
		i += c.step(i, line)
	}
	out := c.out.String()
	if line {
		if trimmed := strings.TrimSuffix(out, " "); trimmed != out {
			c.note("line", len(s), "white space at the end")
			out = trimmed
		}
	}
	return out, c.edits
}

func (c *cleaner) note(rule string, at int, what string) {
	i := slices.IndexFunc(c.edits, func(e Edit) bool { return e.Rule == rule })
	if i < 0 {
		c.edits = append(c.edits, Edit{Rule: rule, At: at, What: what})
		i = len(c.edits) - 1
	}
	c.edits[i].Count++
}

func (c *cleaner) keep(r rune) int {
	c.out.WriteRune(r)
	c.last = r
	if !unicode.IsMark(r) {
		c.base = r
	}
	return 1
}

func (c *cleaner) take(rule string, i, n int) int {
	c.note(rule, c.at[i], fmt.Sprintf("U+%04X", c.runes[i]))
	return n
}

// rune is one near i, 0 outside.
func (c *cleaner) rune(i int) rune {
	if i < 0 || i >= len(c.runes) {
		return 0
	}
	return c.runes[i]
}

// step handles what stands at i, and is how many characters that was.
func (c *cleaner) step(i int, line bool) int {
	r := c.runes[i]
	switch {
	case unicode.IsSpace(r) || r == 0x2028 || r == 0x2029:
		return c.space(i, line)
	case r == escapeRune:
		return c.take("control", i, c.escape(i))
	case unicode.IsControl(r):
		return c.take("control", i, 1)
	case r == 0x061C || r == 0x200E || r == 0x200F || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069:
		return c.take("bidi", i, 1)
	case r == blackFlag:
		n := c.flag(i)
		for j := range max(n, 1) {
			c.keep(c.runes[i+j])
		}
		return max(n, 1)
	case isTag(r):
		return c.take("tag", i, 1)
	case r == zwj || r == zwnj:
		if c.joins(i) {
			return c.keep(r)
		}
		return c.take("joiner", i, 1)
	case isSelector(r):
		if c.selects(r) {
			return c.keep(r)
		}
		return c.take("selector", i, 1)
	case r == vowelSeparator && unicode.Is(unicode.Mongolian, c.last) && unicode.IsLetter(c.last) && unicode.Is(unicode.Mongolian, c.rune(i+1)) && unicode.IsLetter(c.rune(i+1)):
		return c.keep(r)
	case isInvisible(r):
		return c.take("invisible", i, 1)
	}
	return c.keep(r)
}

// space handles white space: as it is, or a run of it as one space.
func (c *cleaner) space(i int, line bool) int {
	r := c.runes[i]
	if !line {
		switch r {
		case '\n', '\t':
			return c.keep(r)
		case '\r', '\v', '\f', 0x85, 0x2028, 0x2029:
			c.keep('\n')
			n := 1
			if r == '\r' && c.rune(i+1) == '\n' {
				n = 2
			}
			return c.take("line", i, n)
		}
		return c.keep(r)
	}
	n := 1
	for unicode.IsSpace(c.rune(i+n)) || c.rune(i+n) == 0x2028 || c.rune(i+n) == 0x2029 {
		n++
	}
	switch first := c.out.Len() == 0; {
	case first || c.last == ' ': // what was taken out stood between two
	case n == 1 && r != '\n' && r != '\t' && unicode.Is(unicode.Zs, r):
		return c.keep(r)
	default:
		c.keep(' ')
	}
	return c.take("line", i, n)
}

// escape is how long a terminal's escape sequence is.
func (c *cleaner) escape(i int) int {
	n := 1
	switch c.rune(i + 1) {
	case '[':
		for n = 2; c.rune(i+n) >= 0x20 && c.rune(i+n) <= 0x3f; n++ {
		}
		if r := c.rune(i + n); r >= 0x40 && r <= 0x7e {
			n++
		}
	case ']':
		const most = 200 // a longer one is no title, and its text shows
		for n = 2; n < most && c.rune(i+n) >= ' '; n++ {
		}
		switch {
		case c.rune(i+n) == 7:
			n++
		case c.rune(i+n) == escapeRune && c.rune(i+n+1) == '\\':
			n += 2
		default:
			n = 2
		}
	}
	return n
}

// flag is how long the flag of a region is that starts here, 0 if none does.
func (c *cleaner) flag(i int) int {
	n := 1
	for r := c.rune(i + n); r >= 0xE0030 && r <= 0xE0039 || r >= 0xE0061 && r <= 0xE007A; r = c.rune(i + n) {
		n++
	}
	if n < 4 || n > 7 || c.rune(i+n) != cancelTag {
		return 0
	}
	return n + 1
}

// joins reports whether a joiner stands where it changes what is seen.
func (c *cleaner) joins(i int) bool {
	before, after := c.last, c.rune(i+1)
	if c.runes[i] == zwj && (isEmoji(before) || before == 0xFE0F || before >= 0x1F3FB && before <= 0x1F3FF) && isEmoji(after) {
		return true
	}
	if unicode.Is(unicode.Inherited, before) { // a mark that several scripts have
		before = c.base
	}
	if !unicode.In(before, joining...) || !unicode.IsLetter(before) && !unicode.IsMark(before) {
		return false
	}
	if (unicode.IsLetter(after) || unicode.IsMark(after)) && unicode.In(after, joining...) {
		return true
	}
	// At a word's end it shows the form that a letter has before another, or that has no vowel.
	ends := !unicode.IsLetter(after) && !unicode.IsMark(after) && !isHidden(after)
	return c.runes[i] == zwj && ends && (unicode.IsMark(before) || unicode.Is(unicode.Arabic, before))
}

// isHidden reports whether a character is one of those that do not show.
func isHidden(r rune) bool {
	return isInvisible(r) || isTag(r) || isSelector(r) || unicode.Is(unicode.Cf, r) || unicode.IsControl(r) && !unicode.IsSpace(r)
}

// joining are scripts whose letters change with a joiner between them.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mandaic, unicode.Nko, unicode.Mongolian, unicode.Phags_Pa, unicode.Manichaean, unicode.Hanifi_Rohingya,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada,
	unicode.Newa, unicode.Tirhuta, unicode.Grantha, unicode.Kaithi, unicode.Sharada, unicode.Modi, unicode.Chakma, unicode.Meetei_Mayek, unicode.Limbu,
	unicode.Sundanese, unicode.Tai_Tham, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Javanese, unicode.Balinese, unicode.Adlam,
}

// isEmoji reports whether a character may be a picture.
func isEmoji(r rune) bool {
	return r >= 0x1F000 && r <= 0x1FAFF || r >= 0x2190 && r <= 0x21FF || r >= 0x2300 && r <= 0x23FF || r >= 0x2460 && r <= 0x27BF ||
		r >= 0x2900 && r <= 0x2BFF || r == 0xA9 || r == 0xAE || r == 0x203C || r == 0x2049 || r == 0x2122 || r == 0x2139 ||
		r == 0x3030 || r == 0x303D || r == 0x3297 || r == 0x3299
}

// selects reports whether a variation selector has a form to select of what stands before it.
func (c *cleaner) selects(r rune) bool {
	switch {
	case r == 0xFE0E || r == 0xFE0F:
		return isEmoji(c.last) || c.last >= '0' && c.last <= '9' || c.last == '#' || c.last == '*'
	case r < 0xFE00:
		return unicode.Is(unicode.Mongolian, c.last) && unicode.IsLetter(c.last)
	case r < 0xFE0E:
		return unicode.In(c.last, unicode.Han, unicode.Sm, unicode.Phags_Pa, unicode.Myanmar) || c.last == '0' || strings.ContainsRune("、。！，．：；？", c.last)
	}
	return unicode.Is(unicode.Han, c.last)
}

// isInvisible reports whether a character shows nothing and joins nothing.
func isInvisible(r rune) bool {
	switch {
	case r >= 0x2060 && r <= 0x2065, r >= 0x206A && r <= 0x206F, r >= 0xFFF9 && r <= 0xFFFB, r >= 0x1D173 && r <= 0x1D17A:
		return true
	}
	return slices.Contains([]rune{0xAD, 0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x200B, 0x3164, 0xFEFF, 0xFFA0}, r)
}
