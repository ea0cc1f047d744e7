package toolschema

import (
	"fmt"
	"strings"
	"unicode"
)

// NameChanges tells which tools Names calls by another name than their server does, or not at all, and why:
// one change for each reason, with the wire name as Tool and one of these rules.
//
//	name-missing     it is empty or stood in the list before: the tool is left out
//	name-hidden      characters that show nothing or turn the reading direction
//	name-look-alike  letters of other scripts that look like Latin ones
//	name-character   other characters that no identifier has
//	name-digit       it starts with a digit
//	name-reserved    a word that a language keeps for itself
//	name-long        longer than MaxName
//	name-alike       another tool's name comes to the same: all of those carry a hash
func NameChanges(wire, names []string) []Change {
	var out []Change
	for i, w := range wire {
		if i >= len(names) || names[i] == w && w != "" {
			continue
		}
		out = append(out, explainName(w, names[i], false)...)
	}
	return out
}

// QualifiedChanges is NameChanges for Qualified. A server id that cannot stand in a name as it is has the
// rule server-id, with the id as Tool.
func QualifiedChanges(server string, wire []string, others ...string) []Change {
	var out []Change
	word := serverWord(server, others)
	if word != server {
		out = append(out, Change{Tool: server, Path: "server", Rule: "server-id", What: fmt.Sprintf("is %s in the names of its tools, so that a name belongs to one server and tool only", word)})
	}
	for i, name := range Qualified(server, wire, others...) {
		if name == "" || name != "mcp__"+word+"__"+wire[i] {
			out = append(out, explainName(wire[i], name, true)...)
		}
	}
	return out
}

// explainName says why a tool is called as it is.
func explainName(w, name string, qualified bool) []Change {
	var out []Change
	say := func(rule, format string, a ...any) {
		out = append(out, Change{Tool: w, Path: "name", Rule: rule, What: fmt.Sprintf(format, a...)})
	}
	if name == "" {
		say("name-missing", "is empty or stood in the list before; the tool is left out")
		return out
	}
	clean, edits := Clean(w)
	for _, e := range edits {
		say("name-hidden", "is called %s: %s", name, e)
	}
	rest := 0
	alike := false
	for _, r := range clean {
		switch {
		case lookAlikes[r] != 0 && !alike:
			alike = true
			say("name-look-alike", "is called %s: %q (U+%04X) looks like %q", name, r, r, lookAlikes[r])
		case lookAlikes[r] == 0 && r != '_' && !isLetter(r):
			rest++
		}
	}
	if rest > 0 {
		say("name-character", "is called %s: %d characters are no letters, digits or underscores of ASCII", name, rest)
	}
	c, letters := cleaned(w)
	if !qualified {
		if letters && unicode.IsDigit(rune(c[0])) {
			say("name-digit", "is called %s: no identifier starts with a digit", name)
		}
		if reserved[c] {
			say("name-reserved", "is called %s: a language keeps the word %s for itself", name, c)
		}
	}
	if base := len(c); base > MaxName || qualified && len(name) == MaxName && !strings.HasSuffix(name, "__"+c) {
		say("name-long", "is called %s: a name has at most %d characters", name, MaxName)
	} else if strings.Contains(name, "_") && carriesHash(name) && letters && !strings.HasSuffix(name, c) && !strings.HasSuffix(name, c+"_") {
		say("name-alike", "is called %s: another tool's name comes to the same", name)
	}
	if len(out) == 0 {
		say("name-character", "is called %s", name)
	}
	return out
}

// carriesHash reports whether a name ends as those do that carry a hash.
func carriesHash(name string) bool {
	i := strings.LastIndexByte(name, '_')
	for _, digits := range hashDigits[1:] {
		if len(name)-i-1 == digits && strings.Trim(name[i+1:], "0123456789abcdef") == "" {
			return true
		}
	}
	return false
}
