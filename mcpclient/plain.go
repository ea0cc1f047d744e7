package mcpclient

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain takes out of a server's text what cannot be seen and may deceive whoever reads it: control characters
// but line ends and tabs, and format characters (zero-width, those that turn the reading direction, tags) but
// the two joiners that scripts and emoji need. Bytes that are no UTF-8 become U+FFFD.
func plain(s string) string {
	keep := func(r rune) bool {
		switch r {
		case '\n', '\t', '\u200c', '\u200d':
			return true
		}
		return !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r)
	}
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !keep(r) }) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if keep(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// clipText keeps at most max characters of a text, and says that more followed.
func clipText(s string, max int) string {
	if len(s) <= max {
		return s
	}
	n := 0
	for i := range s {
		if n == max {
			return s[:i] + "... (cut)"
		}
		n++
	}
	return s
}
