package toolschema

import (
	"regexp/syntax"
	"strconv"
	"strings"
)

// unreadPattern says why an API that compiles patterns with Python's re refuses one, "" if it does not. What
// is in doubt counts as refused. Lookaround is what some refuse beside that.
func unreadPattern(pattern string, lookaround bool) string {
	r := patternReader{text: pattern}
	switch ok := r.read(); {
	case !ok:
		return "Python's re does not read it"
	case r.looks && !lookaround:
		return "it looks around"
	}
	return ""
}

// A patternReader writes a pattern of Python as one of Go, which then says whether it is sound. What is only
// in Python is written as something in its place.
type patternReader struct {
	text   string
	at     int
	out    strings.Builder
	groups int
	looks  bool
}

func (r *patternReader) next(prefix string) bool {
	if strings.HasPrefix(r.text[r.at:], prefix) {
		r.at += len(prefix)
		return true
	}
	return false
}

func (r *patternReader) read() bool {
	for r.at < len(r.text) {
		ok := true
		switch c := r.text[r.at]; c {
		case '\\':
			_, ok = r.escape(false)
		case '(':
			ok = r.group()
		case '[':
			ok = r.class()
		case '{':
			ok = r.repeat()
		default:
			r.out.WriteByte(c)
			r.at++
		}
		if !ok {
			return false
		}
	}
	_, err := syntax.Parse(r.out.String(), syntax.Perl)
	return err == nil
}

// escape reads what follows a backslash; set says that it stands for several characters.
func (r *patternReader) escape(inClass bool) (set, ok bool) {
	r.at++
	if r.at == len(r.text) {
		return false, false
	}
	c := r.text[r.at]
	r.at++
	switch {
	case strings.IndexByte("dDsSwW", c) >= 0:
		r.out.WriteString(`\` + string(c))
		return true, true
	case strings.IndexByte("afnrtv", c) >= 0, !inClass && strings.IndexByte("AbB", c) >= 0:
		r.out.WriteString(`\` + string(c))
	case inClass && c == 'b', c == '0':
		r.out.WriteString(`\x00`)
	case !inClass && c == 'Z':
		r.out.WriteString(`\z`)
	case c == 'x' || c == 'u' || c == 'U':
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
		if r.at+digits > len(r.text) {
			return false, false
		}
		n, err := strconv.ParseUint(r.text[r.at:r.at+digits], 16, 32)
		if err != nil || n > 0x10FFFF {
			return false, false
		}
		r.at += digits
		r.out.WriteString(`\x{` + strconv.FormatUint(n, 16) + `}`)
	case c >= '1' && c <= '9': // a group that is read already
		if inClass || int(c-'0') > r.groups || r.at < len(r.text) && r.text[r.at] >= '0' && r.text[r.at] <= '9' {
			return false, false
		}
		r.out.WriteString("(?:)")
	case isLetter(rune(c)):
		return false, false
	case c >= 0x80:
		r.out.WriteByte(c)
	default:
		r.out.WriteString(`\` + string(c))
	}
	return false, true
}

// group reads what a parenthesis opens.
func (r *patternReader) group() bool {
	start := r.at
	r.at++
	switch {
	case !r.next("?"):
		r.groups++
		r.out.WriteByte('(')
		return true
	case r.next(":"):
	case r.next("="), r.next("!"), r.next("<="), r.next("<!"):
		r.looks = true
	case r.next("P<"):
		name, _, closed := strings.Cut(r.text[r.at:], ">")
		if !closed || name == "" || name[0] >= '0' && name[0] <= '9' || strings.ContainsFunc(name, func(c rune) bool { return c != '_' && !isLetter(c) }) {
			return false
		}
		r.at += len(name) + 1
		r.groups++
	default:
		for r.next("i") || r.next("m") || r.next("s") {
		}
		if start == 0 && r.next(")") {
			return true
		}
		if !r.next(":") {
			return false
		}
	}
	r.out.WriteString("(?:")
	return true
}

// class reads what stands in brackets.
func (r *patternReader) class() bool {
	r.at++
	r.out.WriteByte('[')
	if r.next("^") {
		r.out.WriteByte('^')
	}
	set, ranged := false, false // of what stood before: several characters, and the end of a range
	for first := true; ; first = false {
		if r.at == len(r.text) {
			return false
		}
		c := r.text[r.at]
		switch {
		case c == ']' && !first:
			r.at++
			r.out.WriteByte(']')
			return true
		case c == '-' && !first && !ranged && r.at+1 < len(r.text) && r.text[r.at+1] != ']':
			if set {
				return false
			}
			r.at++
			r.out.WriteByte('-')
			if s, ok := r.classItem(); s || !ok {
				return false
			}
			set, ranged = false, true
			continue
		}
		var ok bool
		if set, ok = r.classItem(); !ok {
			return false
		}
		ranged = false
	}
}

// classItem reads one character, or what stands for several.
func (r *patternReader) classItem() (set, ok bool) {
	c := r.text[r.at]
	if c == '\\' {
		return r.escape(true)
	}
	if strings.IndexByte("[]-^", c) >= 0 {
		r.out.WriteByte('\\')
	}
	r.out.WriteByte(c)
	r.at++
	for c >= 0xC0 && r.at < len(r.text) && r.text[r.at]&0xC0 == 0x80 { // the rest of one
		r.out.WriteByte(r.text[r.at])
		r.at++
	}
	return false, true
}

// repeat reads a brace, which counts or stands for itself.
func (r *patternReader) repeat() bool {
	inner, _, closed := strings.Cut(r.text[r.at+1:], "}")
	low, high, two := strings.Cut(inner, ",")
	if !closed || inner == "" || inner == "," || strings.Trim(low+high, "0123456789") != "" {
		r.out.WriteString(`\{`)
		r.at++
		return true
	}
	r.at += len(inner) + 2
	r.out.WriteString("{1}") // Go counts no further than to 1000
	if len(low) > 9 || len(high) > 9 {
		return false
	}
	least, _ := strconv.Atoi(low)
	most, err := strconv.Atoi(high)
	return !two || err != nil || least <= most
}

// patterns leaves out the patterns that the API does not read.
func (x *exporter) patterns(t *tree) *tree {
	if !x.python {
		return t
	}
	t = t.rewrite(nil, func(s *tree, at *loc) *tree {
		if p, ok := s.get("pattern").str(); ok {
			if why := unreadPattern(p, x.lookaround); why != "" {
				x.add(at, "pattern", "pattern %s is left out: %s; the tool checks it", s.get("pattern").shown(), why)
				s.drop("pattern")
				s.loose = true
			}
		}
		named := s.get("patternProperties")
		kept := newObject()
		for _, m := range named.entries() {
			if why := unreadPattern(m.key, x.lookaround); why != "" {
				x.add(at, "pattern", "the properties called like %q are not described: %s", clip(m.key), why)
				continue
			}
			kept.members = append(kept.members, m)
		}
		if len(kept.members) < len(named.entries()) {
			s.loose = true
			s.set("patternProperties", kept)
			for _, rest := range [...]string{"additionalProperties", "unevaluatedProperties"} {
				if s.drop(rest) != nil {
					x.add(at, "pattern", "%s is left out: it spoke of names unlike those", rest)
				}
			}
		}
		return s
	})
	return negations(t, &x.changes)
}
