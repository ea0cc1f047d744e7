package toolsource

import "unicode"

// breaksLine reports whether a character can end a line, move the cursor or hide what follows: white space,
// controls, line and paragraph separators, and format characters such as those that turn the reading
// direction.
func breaksLine(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}
