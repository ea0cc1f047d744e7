package hostconfig

import (
	"maps"
	"regexp"
	"strings"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/childenv"
	"github.com/toolsource/toolsource/internal/hostvars"
)

// variables is how the values of an entry are to be read. Entries share it; it does not change once a file
// is read.
type variables struct {
	program  string
	notation hostvars.Notation
	fields   fields
	mcphost  bool                         // ${env://NAME:-default} beside the notation
	passed   map[string]passed            // by field: values that stand for a variable that the file names
	local    map[string]toolsource.Secret // variables before those of the environment
	inputs   map[string]Input             // what the file says of what is asked for
}

// passed is a value that stands for a variable: the program has no notation for it, or another.
type passed struct {
	name, before string
	text         string // as it stands in the entry; another one there is no longer this
	optional     bool   // where it is not set, the value is left out
}

func (v *variables) pass(field string, p passed) {
	if v.passed == nil {
		v.passed = map[string]passed{}
	}
	v.passed[passedKey(field)] = p
}

func (v *variables) has(field string) bool {
	_, ok := v.passed[passedKey(field)]
	return ok
}

// of is the passed value that a field of an entry still has.
func (v *variables) of(field, text string) (passed, bool) {
	if v == nil {
		return passed{}, false
	}
	p, ok := v.passed[passedKey(field)]
	return p, ok && p.text == text
}

// passedKey is the path of a field; the case of a header's name does not count.
func passedKey(field string) string {
	if strings.HasPrefix(field, "headers.") {
		return strings.ToLower(field)
	}
	return field
}

// bit is the set that a path of a field is in.
func bit(field string) fields {
	switch head, _, _ := strings.Cut(strings.SplitN(field, "[", 2)[0], "."); head {
	case "command":
		return inCommand
	case "args":
		return inArgs
	case "env":
		return inEnv
	case "url":
		return inURL
	case "headers":
		return inHeaders
	}
	return inPlaces
}

// notationOf is what is expanded in a field.
func (v *variables) notationOf(field string) hostvars.Notation {
	if v == nil || v.fields&bit(field) == 0 {
		return none
	}
	return v.notation
}

var mcphostVariable = regexp.MustCompile(`\$\{env://([A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?)\}`)

// read is a text and the notation to read it by.
func (v *variables) read(field, text string) (string, hostvars.Notation) {
	n := v.notationOf(field)
	if v == nil || !v.mcphost || bit(field)&v.fields == 0 {
		return text, n
	}
	var b strings.Builder
	for {
		at := mcphostVariable.FindStringSubmatchIndex(text)
		if at == nil {
			b.WriteString(escape(text))
			return b.String(), hostvars.Own
		}
		b.WriteString(escape(text[:at[0]]) + "${" + text[at[2]:at[3]] + "}")
		text = text[at[1]:]
	}
}

func escape(text string) string { return strings.ReplaceAll(text, "${", "$${") }

var placeholder = regexp.MustCompile(`<[A-Za-z][A-Za-z0-9_ -]{2,}>`)

// foreign reports what looks like a variable and is none of this program.
func (s *server) foreign() {
	s.entry.each(func(field, text string) {
		if _, ok := s.vars.of(field, text); ok || text == "" {
			return
		}
		if name, ok := strings.CutPrefix(field, "env."); ok {
			s.injects(name, text)
		}
		n := s.vars.notationOf(field)
		if s.vars.mcphost {
			text = mcphostVariable.ReplaceAllString(text, "x")
		}
		if placeholder.MatchString(text) {
			s.note(Taken, field, "holds words in angle brackets, as if the value were still to be filled in", "write the value", s.lineOf(field))
		}
		if len(hostvars.Foreign(text, n)) > 0 {
			s.note(Taken, field, "holds what looks like a variable, which is not expanded by "+s.d.Program+"; it is sent as it stands", "write the value, or a variable that is expanded", s.lineOf(field))
		}
	})
}

// injects reports a variable with which no server is started unless its own configuration allows it.
func (s *server) injects(name, value string) {
	if reader := childenv.Injects(name, value); reader != "" {
		s.note(Taken, "env."+name, "has "+reader+" run code that the command does not name; the server is not started with it", allowEnv, s.lineOf("env"))
	}
}

const allowEnv = "remove it, or allow it by allow_env in a configuration of your own"

// lineOf is the line of the key that a field comes from.
func (s *server) lineOf(field string) int {
	head, _, _ := strings.Cut(strings.SplitN(field, "[", 2)[0], ".")
	if line, ok := s.seen[head]; ok {
		return line
	}
	return s.line
}

// clone is a copy that shares nothing but how values are read.
func (e Entry) clone() Entry {
	e.Args = append([]string(nil), e.Args...)
	e.Env, e.Headers = maps.Clone(e.Env), maps.Clone(e.Headers)
	if e.Allow != nil {
		e.Allow = append([]string{}, e.Allow...)
	}
	e.Deny = append([]string(nil), e.Deny...)
	return e
}
