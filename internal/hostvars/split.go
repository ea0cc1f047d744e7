package hostvars

import (
	"strings"
	"unicode"
)

const workspaceBase = "workspaceFolderBasename"

// context is what a name in braces means with BracesContext.
var context = map[string]Kind{
	"workspaceFolder": Workspace,
	workspaceBase:     Workspace,
	"userHome":        Home,
	"pathSeparator":   Separator,
	"/":               Separator,
}

// piece is a variable or the text between two.
type piece struct {
	ref     *Ref
	literal string
	escaped bool // the literal is ${ written as $${
}

// split cuts a text into pieces, in time linear in its length: whatever looks for the end of a variable stops
// where another may begin, but for a default, which takes what it has seen.
func split(text string, n Notation) []piece {
	var out []piece
	lastBrace := strings.LastIndexByte(text, '}')
	start, i := 0, 0
	cut := func(p piece, end int) {
		if i > start {
			out = append(out, piece{literal: text[start:i]})
		}
		out = append(out, p)
		start, i = end, end
	}
	for i < len(text) {
		rest := text[i:]
		switch {
		case n&Escape != 0 && strings.HasPrefix(rest, "$${"):
			cut(piece{literal: "${", escaped: true}, i+3)
			continue
		case rest[0] == '$', rest[0] == '{':
			if ref, size := variable(rest, n, i <= lastBrace); size > 0 {
				cut(piece{ref: ref}, i+size)
				continue
			}
			if strings.HasPrefix(rest, "${") {
				i++ // of ${env:X} the part {env:X} is no variable
			}
		}
		i++
	}
	if start < len(text) {
		out = append(out, piece{literal: text[start:]})
	}
	return out
}

// variable reads one at the start of s and says how many bytes it takes; 0: there is none. closable says
// that a } follows somewhere.
func variable(s string, n Notation, closable bool) (*Ref, int) {
	switch {
	case strings.HasPrefix(s, "${{"):
		return template(s, n)
	case strings.HasPrefix(s, "${"):
		return braces(s, n, closable)
	case s[0] == '{':
		return curly(s, n)
	}
	if n&Dollar == 0 {
		return nil, 0
	}
	if name := bareName(s[1:]); name != "" {
		return &Ref{Kind: Env, Name: name}, 1 + len(name)
	}
	return nil, 0
}

// template reads ${{ kind.NAME }}.
func template(s string, n Notation) (*Ref, int) {
	inner, ok := inside(s[3:])
	end := 3 + len(inner) + 1
	if !ok || !strings.HasPrefix(s[end:], "}") {
		return nil, 0
	}
	of, name, _ := strings.Cut(strings.TrimSpace(inner), ".")
	if name == "" || strings.ContainsFunc(name, unicode.IsSpace) {
		return nil, 0
	}
	kind := Kind("")
	switch {
	case of == "secrets" && n&TemplateSecret != 0:
		kind = Secret
	case of == "inputs" && n&TemplateInput != 0:
		kind = Input
	case of == "env" && n&TemplateEnv != 0:
		kind = Env
	default:
		return nil, 0
	}
	return &Ref{Kind: kind, Name: name}, end + 1
}

// braces reads ${...}.
func braces(s string, n Notation, closable bool) (*Ref, int) {
	name := nameIn(s[2:])
	after := s[2+len(name):]
	if n&BracesDefault != 0 && name != "" && closable && strings.HasPrefix(after, ":-") {
		if end := strings.IndexByte(after, '}'); end > 0 {
			return &Ref{Kind: Env, Name: name, HasDefault: true, Default: after[2:end]}, 2 + len(name) + end + 1
		}
	}
	inner, ok := inside(s[2:])
	if !ok {
		return nil, 0
	}
	size := 2 + len(inner) + 1
	if kind, ok := context[inner]; ok && n&BracesContext != 0 {
		return &Ref{Kind: kind, Name: inner}, size
	}
	if n&Braces != 0 && name != "" && name == inner {
		return &Ref{Kind: Env, Name: name}, size
	}
	if ref := prefixed(inner, n&BracesEnv != 0, n&BracesInput != 0, n&BracesFile != 0); ref != nil {
		return ref, size
	}
	return nil, 0
}

// curly reads {env:NAME} and {file:path}.
func curly(s string, n Notation) (*Ref, int) {
	if n&(CurlyEnv|CurlyFile) == 0 {
		return nil, 0
	}
	inner, ok := inside(s[1:])
	if !ok {
		return nil, 0
	}
	if ref := prefixed(inner, n&CurlyEnv != 0, false, n&CurlyFile != 0); ref != nil {
		return ref, 1 + len(inner) + 1
	}
	return nil, 0
}

// prefixed reads env:NAME, input:id or file:path. White space around a name is not part of it.
func prefixed(inner string, env, input, file bool) *Ref {
	of, name, _ := strings.Cut(inner, ":")
	name = strings.TrimSpace(name)
	switch {
	case name == "":
		return nil
	case of == "env" && env && nameIn(name) == name:
		return &Ref{Kind: Env, Name: name}
	case of == "input" && input:
		return &Ref{Kind: Input, Name: name}
	case of == "file" && file:
		return &Ref{Kind: File, Name: name}
	}
	return nil
}

// inside is the text up to the next }, if no variable may begin and no line ends before it.
func inside(s string) (string, bool) {
	end := strings.IndexAny(s, "}{$\r\n")
	if end < 0 || s[end] != '}' {
		return "", false
	}
	return s[:end], true
}

// nameIn is the name that s begins with, as it may stand in braces.
func nameIn(s string) string {
	for i, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_.-()", r) {
			return s[:i]
		}
	}
	return s
}

// bareName is the name that s begins with, as it may stand after a $.
func bareName(s string) string {
	i := 0
	for i < len(s) && (s[i] == '_' || 'a' <= s[i] && s[i] <= 'z' || 'A' <= s[i] && s[i] <= 'Z' || i > 0 && '0' <= s[i] && s[i] <= '9') {
		i++
	}
	return s[:i]
}
