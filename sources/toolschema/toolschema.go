// Package toolschema reads the JSON Schemas that tools come with: what arguments a tool takes, what it
// returns, whether a call's arguments fit, and what identifiers a server's tool names become. It writes tools
// for the APIs of models, by the rules that those publish, and reads back what a model makes of them.
//
//	Args, Returns, NewBinder     what a schema says, and whether arguments fit it
//	Names, Qualified             identifiers for programs, and names for models
//	Normalize                    a schema in the one form that exports start from
//	Export, Check, Rules         tools for a model API, what it would refuse, and what it asks
//	Exported.Find, Arguments     from what a model calls back to the tool and its own arguments
//	Clean, OneLine, Inspect      texts without what hides in them, and what should not be in them
//
// Whatever is rewritten on the way is told, as a [Change] or an [Edit] with its place and its reason.
//
// Nothing here fails. A schema is read as far as it makes sense, and what does not is a [Problem] with its
// place and its remedy, so that one odd schema costs no tool. References inside the schema are followed,
// others are never fetched. Sizes are bounded by the constants below, so that a hostile schema costs
// little time, memory and stack; what lies past a bound is not read, and reported.
//
// All functions are pure and safe for concurrent use. Their results may share memory with the schema that
// they were given, which must not change afterwards.
package toolschema

import (
	"fmt"
	"strings"
)

// Bounds on what is read of one schema.
const (
	MaxBytes    = 1 << 20 // longest schema; a longer one counts as absent
	MaxDepth    = 100     // nesting of its JSON; deeper values are not looked into
	MaxValues   = 50_000  // JSON values in it; later objects and arrays are not looked into
	MaxArgs     = 1000    // arguments; later ones are accepted by a call but not listed
	MaxProblems = 20      // problems reported; the last one counts the rest
)

// maxHops bounds how many references and combinators are followed without going into a value.
const maxHops = 64

// Problem is one thing about a schema that could not be used as it stands.
type Problem struct {
	Path   string // JSON pointer into the schema: "#" is the schema itself
	Reason string // what is wrong, and what was made of it
	Remedy string // what the tool's author can do; may be ""
}

// Error is one line: path, reason and remedy.
func (p Problem) Error() string {
	s := "schema " + p.Path + ": " + p.Reason
	if p.Remedy != "" {
		s += " (" + p.Remedy + ")"
	}
	return strings.Map(printable, s)
}

// printable replaces what could break a line or hide text.
func printable(r rune) rune {
	if breaksLine(r) {
		return ' '
	}
	return r
}

// A loc is a place in a schema; its text is only made for a problem. nil is the schema itself.
type loc struct {
	up  *loc
	key string
	ref string // where a reference leads, in place of up and key
}

func (l *loc) String() string {
	s := ""
	for ; l != nil; l = l.up {
		if l.ref != "" {
			return l.ref + s
		}
		s = "/" + pointerEscape.Replace(l.key) + s
	}
	return "#" + s
}

// in is the place of a member of what is at l.
func (d *doc) in(l *loc, key string) *loc {
	p := &d.locs.take(1)[0]
	p.up, p.key = l, key
	return p
}

var (
	pointerEscape   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// problems collects up to MaxProblems of them.
type problems struct {
	list []Problem
	more int
}

func (ps *problems) add(at *loc, remedy, format string, a ...any) {
	if len(ps.list) >= MaxProblems-1 {
		ps.more++
		return
	}
	ps.list = append(ps.list, Problem{Path: at.String(), Reason: fmt.Sprintf(format, a...), Remedy: remedy})
}

func (ps *problems) all() []Problem {
	if ps.more == 0 {
		return ps.list
	}
	return append(ps.list[:len(ps.list):len(ps.list)], Problem{Path: "#", Reason: fmt.Sprintf("%d more problems", ps.more)})
}
