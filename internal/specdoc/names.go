package specdoc

import "strings"

const maxName = 64

// reserved are the words that cannot name a function in one of Python, Starlark, JavaScript and Go.
var reserved = words(`
	and as assert async await break case catch chan class const continue debugger def default defer del
	delete do elif else enum eval except export extends fallthrough false False finally for from func
	function global go goto if implements import in instanceof interface is lambda let load new
	None nonlocal not null or package pass private protected public raise range return select static
	struct super switch this throw true True try typeof var void while with yield`)

func words(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(list) {
		m[w] = true
	}
	return m
}

func isIdentifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// CheckName says what is wrong with the name of a tool, as the end of a sentence, and what would be right;
// "" if nothing is.
func CheckName(name string) (msg, hint string) {
	switch {
	case len(name) > maxName:
		return "is longer than 64 bytes", "shorten it"
	case !isIdentifier(name):
		return "is not an identifier, so programs could not call it", `use "` + clean(name) + `"`
	case reserved[name]:
		return "is a reserved word in a language that programs are written in", `use "` + name + `_"`
	}
	return "", ""
}

// clean is a name like s that is an identifier.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, s)
	if !isIdentifier(s) {
		s = "_" + s
	}
	return s
}
