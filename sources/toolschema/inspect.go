package toolschema

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Finding is one thing in a text that speaks to a model in place of describing a tool, or that is made to
// be overlooked. It is a guess: the caller decides what follows, and the default is a warning.
type Finding struct {
	Rule string // what was found: "hidden", "look-alike" or one of the patterns
	What string // one line, the words found among them
}

// secretWords are what a description should not ask for.
const secretWords = `(\b(api[ _-]?keys?|passwords?|private[ _-]?keys?|credentials|ssh\s+keys?|id_rsa)\b|\.(env|ssh)\b)`

// patterns are ways to speak to a model. They are looked for in the text without what hides in it, and with
// look-alike letters as the ones that they look like.
var patterns = []struct {
	rule string
	is   *regexp.Regexp
}{
	{"override", regexp.MustCompile(`(?i)\b(ignore|disregard|forget)\s+(all\s+|any\s+)?(of\s+)?(the\s+|your\s+)?(previous|prior|above|earlier|preceding)\s+(instructions?|rules?|prompts?|messages?)`)},
	{"role", regexp.MustCompile(`(?i)\byou\s+are\s+now\s+(an?\b|the\b|in\b|acting\b|my\b|operating\b|no\b|(?-i:[A-Z]))|\byour\s+new\s+(task|role|instructions?)\s+(is|are)\b`)},
	{"system", regexp.MustCompile(`(?i)(^|[\n.!?;:"'(\[>])[ \t]*system\s*:|(?-i:(^|\s)SYSTEM\s*:)|(?i)<\s*/?\s*(system|human|assistant|important|instructions?)\s*>`)},
	{"secrecy", regexp.MustCompile(`(?i)\b(do\s+not|don['’]t|never)\s+((tell|inform|notify|alert)\s+(the\s+|any\s+)?(user|anyone|anybody|human|person|operator|customer)s?\b|` +
		`(mention|reveal|show|disclose)\s+(this|that|it|these|them|anything|your|the\s+(user|system))\b|(mention|reveal|show|disclose)\b[^.]{0,40}\bto\s+(the\s+)?(user|anyone|human))|\bwithout\s+(telling|informing)\s+the\s+user\b`)},
	{"download", regexp.MustCompile(`(?i)\b(curl|wget)\s+(-\S+\s+)*["']?https?://|\bfetch\s*\(\s*["']?https?://|\bcurl\b[^|]*\|\s*(ba|z)?sh\b`)},
	{"decode", regexp.MustCompile(`(?i)\bbase64\s+(-d|--decode|decode)\b`)},
	{"execute", regexp.MustCompile(`(?i)\b(exec|eval)\s*\(|\bimport\s+(subprocess|os|shutil|socket)\b`)},
	{"first", regexp.MustCompile(`(?i)\bbefore\s+(answering|responding|using\s+any|calling\s+any|doing\s+anything)\b|(?-i:\bRECOVERY\s+REQUIRED\b)`)},
	{"copy", regexp.MustCompile(`(?i)\b(always|silently)\b[^.]{0,40}\bbcc\b|\balso\s+(add\s+(an?\s+)?)?bcc\b|\bbcc\s+\S+@\S+`)},
	{"secrets", regexp.MustCompile(`(?i)` + secretWords + `[^.]{0,60}\b(here|include|paste)\b|` +
		`\b(include|paste|send|provide|put)\b[^.]{0,30}\b(your|users?['’]?s?|all|any|every|their|contents?\s+of)\b[^.]{0,30}?` + secretWords + `|` +
		`\b(include|paste|put)\s+(the\s+|an?\s+)?` + secretWords + `[^.]{0,20}\b(here|in|into|as|to)\b`)},
	{"unguarded", regexp.MustCompile(`(?i)--(no-sandbox|allow-network|disable-seatbelt|dangerously-\S+|privileged)\b`)},
}

// Inspect looks for what a description should not hold. It finds what is common and can be evaded; it takes
// nothing out, which Clean does with what is hidden.
func Inspect(s string) []Finding {
	var out []Finding
	clean, edits := Clean(s)
	for _, e := range edits {
		switch e.Rule {
		case "bidi", "tag", "joiner", "selector", "invisible", "control":
			out = append(out, Finding{"hidden", e.String()})
		}
	}
	if hidden := tagText(s); hidden != "" {
		out = append(out, Finding{"hidden", fmt.Sprintf("the tag characters say %q", clip(hidden))})
	}
	seen, alike := folded(clean)
	if alike != "" {
		out = append(out, Finding{"look-alike", fmt.Sprintf("%q mixes letters of scripts that look alike", clip(alike))})
	}
	seen += "\n" + tagText(s)
	for _, p := range patterns {
		if found := p.is.FindString(seen); found != "" {
			out = append(out, Finding{p.rule, fmt.Sprintf("says %q", clip(strings.Join(strings.Fields(found), " ")))})
		}
	}
	return out
}

func (f Finding) String() string { return strings.Map(printable, f.Rule+": "+f.What) }

// tagText is what tag characters spell, flags aside.
func tagText(s string) string {
	var b strings.Builder
	for i, r := range s {
		if r >= 0xE0020 && r <= 0xE007E && !strings.HasSuffix(s[:i], "\U0001F3F4") {
			b.WriteRune(r - 0xE0000)
		}
	}
	if utf8.RuneCountInString(b.String()) <= 5 && strings.Contains(s, "\U0001F3F4") { // the rest of a flag
		return ""
	}
	return b.String()
}

// folded writes letters that look like Latin ones as those, where they stand among Latin ones, and without
// the marks above and below them; alike is the first such word.
func folded(s string) (seen, alike string) {
	words := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
	for _, w := range words {
		latin := strings.ContainsFunc(w, func(r rune) bool { return unicode.Is(unicode.Latin, r) })
		other := strings.ContainsFunc(w, func(r rune) bool { return lookAlikes[r] != 0 && !unicode.Is(unicode.Latin, r) })
		if latin && other && !isSymbol(w) {
			alike = w
			break
		}
	}
	return strings.Map(func(r rune) rune {
		if l := lookAlikes[r]; l != 0 {
			return l
		}
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, s), alike
}

// isSymbol reports whether a word is one of science, as NFκB and TNFα are: Latin capitals and small Greek.
func isSymbol(w string) bool {
	return !strings.ContainsFunc(w, func(r rune) bool {
		return !unicode.IsMark(r) && !(unicode.Is(unicode.Latin, r) && unicode.IsUpper(r)) && !(unicode.Is(unicode.Greek, r) && unicode.IsLower(r))
	})
}

// lookAlikes are letters of other scripts that look like a Latin one.
var lookAlikes = map[rune]rune{
	'а': 'a', 'с': 'c', 'е': 'e', 'о': 'o', 'р': 'p', 'х': 'x', 'у': 'y', 'і': 'i', 'ј': 'j', 'ѕ': 's', 'ԁ': 'd', 'ԛ': 'q', 'ԝ': 'w', 'һ': 'h',
	'А': 'A', 'В': 'B', 'С': 'C', 'Е': 'E', 'Н': 'H', 'І': 'I', 'Ј': 'J', 'К': 'K', 'М': 'M', 'О': 'O', 'Р': 'P', 'Ѕ': 'S', 'Т': 'T', 'Х': 'X', 'У': 'Y',
	'α': 'a', 'ο': 'o', 'ρ': 'p', 'ν': 'v', 'ι': 'i', 'κ': 'k', 'υ': 'u', 'Α': 'A', 'Β': 'B', 'Ε': 'E', 'Ζ': 'Z', 'Η': 'H', 'Ι': 'I', 'Κ': 'K', 'Μ': 'M',
	'Ν': 'N', 'Ο': 'O', 'Ρ': 'P', 'Τ': 'T', 'Υ': 'Y', 'Χ': 'X', 'օ': 'o', 'ո': 'n', 'ս': 'u', 'ɡ': 'g', 'ı': 'i',
}
