package hostconfig

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolsource/toolsource/internal/hostvars"
)

// Merge joins the servers of several files into one list, in the order of the files; a nil file is skipped.
// The notes are those of the merge alone; each file has its own Report.
//
// Of servers with one id the one of the earlier file counts, however many files there are: its connection,
// limits, Enabled, Required and Approvals. A later one that is reached in the same way (transport, command,
// arguments, variables, directory, address, headers, each as written, whatever the program's notation) is the
// same server and is reported as ignored; any other is reported as refused. Either way the lists of tools of
// both hold, since a scope can only narrow: allow-lists intersect, deny-lists unite. A server that an earlier
// file disables stays disabled; one that only a later file disables stays enabled.
func Merge(files []*File) ([]Entry, []Note) {
	var out []Entry
	var notes []Note
	at := map[string]int{}
	for _, f := range files {
		if f == nil {
			continue
		}
		for _, e := range f.Entries {
			i, taken := at[e.ID]
			if !taken {
				at[e.ID] = len(out)
				out = append(out, e.clone())
				continue
			}
			notes = append(notes, out[i].join(e)...)
		}
	}
	return out, notes
}

// join narrows an entry by one of a later scope with the same id.
func (e *Entry) join(later Entry) []Note {
	place := fmt.Sprintf("%s:%d", e.File, e.Line)
	note := Note{File: later.File, Server: later.ID, Line: later.Line, Action: Ignored, Reason: "is the same server as at " + place}
	if e.connection() != later.connection() {
		note.Action, note.Reason, note.Remedy = Refused, "is shadowed by "+place+", which is reached in another way", "rename one of them"
	}
	notes := []Note{note}
	tell := func(field, reason string) {
		notes = append(notes, Note{File: later.File, Server: later.ID, Field: field, Line: later.Line, Action: Rewritten, Reason: reason + " " + place})
	}
	if later.Allow != nil {
		before := e.Allow
		var lost bool
		e.Allow, lost = intersect(e.Allow, later.Allow)
		if lost {
			tell("allow", "patterns that overlap in part, or are too many, cannot be joined and allow nothing; with")
		} else if !slices.Equal(before, e.Allow) {
			tell("allow", "narrows the tools of")
		}
	}
	have := make(map[string]bool, len(e.Deny))
	for _, p := range e.Deny {
		have[p] = true
	}
	for _, p := range later.Deny {
		if !have[p] {
			have[p] = true
			e.Deny = append(e.Deny, p)
			tell("deny", "denies "+quoted(p)+" of")
		}
	}
	return notes
}

// maxCompared bounds how many pairs of patterns are looked at.
const maxCompared = 1_000_000

// intersect is what both lists allow; nil allows every tool. lost says that two patterns have names in
// common that neither of them covers, which a list cannot say, or that there are too many to compare: then
// only what stands in both lists is allowed.
func intersect(a, b []string) (out []string, lost bool) {
	if a == nil {
		return append([]string{}, b...), false
	}
	out = []string{}
	added := map[string]bool{}
	one := func(from, other []string) {
		names := make(map[string]bool, len(other))
		var patterns []string
		for _, p := range other {
			names[p] = true
			if strings.Contains(p, "*") {
				patterns = append(patterns, p)
			}
		}
		if len(from)*len(patterns) > maxCompared {
			patterns, lost = nil, true
		}
		for _, p := range from {
			switch {
			case names[p] || slices.ContainsFunc(patterns, func(o string) bool { return covers(o, p) }):
				if !added[p] {
					added[p] = true
					out = append(out, p)
				}
			case strings.Contains(p, "*") && slices.ContainsFunc(patterns, func(o string) bool { return !covers(p, o) && overlap(p, o) }):
				lost = true
			}
		}
	}
	one(a, b)
	one(b, a)
	return out, lost
}

// covers reports whether a pattern matches every name that another pattern or name stands for: it does if it
// matches its text, since a * there can only have met a * here.
func covers(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	last := parts[len(parts)-1]
	if !ok || !strings.HasSuffix(rest, last) {
		return false
	}
	rest = rest[:len(rest)-len(last)]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return true
}

// overlap reports whether two patterns may have a name in common, by their beginnings and ends.
func overlap(a, b string) bool {
	headA, _, _ := strings.Cut(a, "*")
	headB, _, _ := strings.Cut(b, "*")
	tailA, tailB := a[strings.LastIndexByte(a, '*')+1:], b[strings.LastIndexByte(b, '*')+1:]
	n, m := min(len(headA), len(headB)), min(len(tailA), len(tailB))
	return headA[:n] == headB[:n] && tailA[len(tailA)-m:] == tailB[len(tailB)-m:]
}

// connection is how the server is reached, as text that is equal for equal ways.
func (e *Entry) connection() string {
	var b strings.Builder
	put := func(parts ...string) {
		for _, p := range parts {
			fmt.Fprintf(&b, "%d:%s", len(p), p)
		}
		b.WriteByte('\n')
	}
	put(e.Transport)
	e.each(func(field, text string) {
		if strings.HasPrefix(field, "headers.") {
			field = strings.ToLower(field)
		}
		if text != "" || strings.Contains(field, ".") || strings.Contains(field, "[") {
			put(field, e.meaning(field, text))
		}
	})
	if e.vars != nil {
		for _, k := range slices.Sorted(maps.Keys(e.vars.local)) {
			put("local."+k, e.vars.local[k].Reveal())
		}
	}
	return b.String()
}

// meaning is a text with its variables in one notation for all programs.
func (e *Entry) meaning(field, text string) string {
	mark := func(r hostvars.Ref) string {
		name := r.Name
		if r.Kind == hostvars.File && !isAbs(name) && !strings.HasPrefix(name, "~") {
			name = filepath.Join(filepath.Dir(e.File), name)
		}
		out := "\x00" + string(r.Kind) + "\x01" + name
		if r.HasDefault {
			out += "\x02" + r.Default
		}
		return out + "\x03"
	}
	if p, ok := e.vars.of(field, text); ok {
		out := p.before + mark(hostvars.Ref{Kind: hostvars.Env, Name: p.name})
		if p.optional {
			out += "\x04"
		}
		return out
	}
	text, n := e.vars.read(field, text)
	return hostvars.Rewrite(text, n, mark, nil)
}
