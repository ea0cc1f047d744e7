package toolschema

import (
	"fmt"
	"strings"
)

// MaxChanges is how many changes are told of one schema; the last one counts the rest.
const MaxChanges = 100

// A Change is one thing that was rewritten, or that could not be kept, and why.
type Change struct {
	Tool string // the tool's name, of an export; else ""
	Path string // JSON pointer into the schema as it stood: "#" is the schema itself
	Rule string // what asked for it: a rule of Rules, a step of Normalize, one of NameChanges, "text", "strict", or "more"
	What string // what was there, and what was made of it: one line
}

// String is one line: tool, path, what and rule.
func (c Change) String() string {
	s := c.Path + ": " + c.What + " [" + c.Rule + "]"
	if c.Tool != "" {
		s = c.Tool + " " + s
	}
	return strings.Map(printable, s)
}

// changes collects up to MaxChanges of them.
type changes struct {
	tool string
	list []Change
	more int
}

func (c *changes) add(at *loc, rule, format string, a ...any) {
	if len(c.list) >= MaxChanges-1 {
		c.more++
		return
	}
	c.list = append(c.list, Change{Tool: c.tool, Path: at.String(), Rule: rule, What: fmt.Sprintf(format, a...)})
}

func (c *changes) all() []Change {
	if c.more == 0 {
		return c.list
	}
	return append(c.list[:len(c.list):len(c.list)], Change{Tool: c.tool, Path: "#", Rule: "more", What: fmt.Sprintf("%d more changes", c.more)})
}

// shown is a value's text, short enough to be told.
func (t *tree) shown() string {
	b := t.text()
	if len(b) > 400 {
		b = b[:400]
	}
	return clip(strings.ToValidUTF8(string(b), "\uFFFD"))
}
