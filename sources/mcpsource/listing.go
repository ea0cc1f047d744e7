package mcpsource

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/sources/toolschema"
)

// listing is what a Discover made of the server's listing.
type listing struct {
	specs    []toolsource.ToolSpec
	problems []error
}

func (s *Source) read(raw mcpclient.Listing) *listing {
	l, opt := &listing{problems: slices.Clone(raw.Problems)}, s.opt.Load()
	var tools []*mcpclient.Tool
	var wire []string
	for i := range raw.Tools {
		if t := &raw.Tools[i]; opt.allows(t.Name) {
			tools, wire = append(tools, t), append(wire, t.Name)
		}
	}
	names, qualified := s.names(opt, wire), toolschema.Qualified(s.server.ID(), wire, opt.Others...)
	l.specs = make([]toolsource.ToolSpec, 0, len(tools))
	for i, t := range tools {
		if names[i] == "" {
			l.report(s, t.Name, true, "no name can be made of it")
			continue
		}
		spec := s.spec(t, opt.Overrides[t.Name], l)
		spec.Name, spec.Origin.QualifiedName = names[i], qualified[i]
		l.specs = append(l.specs, spec)
	}
	s.reportNames(opt, wire, names, l)
	s.addUtilities(&raw, opt, l)
	if !raw.Truncated {
		s.reportUnused(raw, opt, l)
	}
	return l
}

func (l *listing) report(s *Source, tool string, leftOut bool, reason string) {
	l.problems = append(l.problems, &mcpclient.ToolProblem{Server: s.server.ID(), Tool: tool, LeftOut: leftOut, Reason: reason})
}

func (s *Source) spec(t *mcpclient.Tool, over Override, l *listing) toolsource.ToolSpec {
	cfg := s.server.Config()
	args, problems := toolschema.Args(t.InputSchema)
	for _, p := range problems {
		l.report(s, t.Name, false, "input schema: "+p.Error())
	}
	effective, err := s.effective(t, over)
	if err != nil {
		l.report(s, t.Name, false, fmt.Sprintf("the configured grade is not used: %v", err))
	}
	claimed := grade.Unknown
	if t.Hints != nil {
		claimed = grade.FromHints(t.Hints)
	}
	clean := func(what, text string) string {
		cleaned, edits := toolschema.Clean(text)
		if len(edits) > 0 {
			l.report(s, t.Name, false, what+": "+edits[0].String())
		}
		return cleaned
	}
	for i := range args {
		args[i].Description = clean("description of "+args[i].Name, args[i].Description)
	}
	return toolsource.ToolSpec{
		Title: clean("title", t.Title), Description: clean("description", t.Description),
		Args: args, Returns: toolschema.Returns(t.OutputSchema),
		Grade: effective, Examples: over.Examples, Docs: over.Docs,
		InputSchema: t.InputSchema, OutputSchema: t.OutputSchema,
		Limits: over.Limits.Or(s.server.Limits(t.Name)),
		Origin: toolsource.Origin{
			Kind: kind, Source: s.name, Server: cfg.ID, WireName: t.Name,
			File: cfg.File, Line: cfg.Line, Trust: cfg.Trust, Hints: t.Hints, Claimed: claimed,
		},
		Meta: t.Meta,
	}
}

// reportNames tells which tools are called what nobody would guess from their server's name for them, and
// why. An underscore in place of a dash or a dot needs no word: Origin.WireName has what was there.
func (s *Source) reportNames(opt *Options, wire, names []string, l *listing) {
	changes := toolschema.NameChanges(wire, names)
	if opt.Qualified {
		changes = toolschema.QualifiedChanges(s.server.ID(), wire, opt.Others...)
	}
	for _, c := range changes {
		switch c.Rule {
		case "name-hidden", "name-look-alike", "name-reserved", "name-long", "name-alike":
			l.report(s, c.Tool, false, c.What)
		}
	}
}

// reportUnused names patterns and overrides that mean no tool of the server: they are likely misspelt.
func (s *Source) reportUnused(raw mcpclient.Listing, opt *Options, l *listing) {
	used := func(pattern string) bool {
		return slices.ContainsFunc(raw.Tools, func(t mcpclient.Tool) bool { return matches(pattern, t.Name) })
	}
	for _, list := range []struct {
		key      string
		patterns []string
	}{{"allow", opt.Allow}, {"deny", opt.Deny}} {
		for _, p := range list.patterns {
			if _, err := path.Match(p, ""); err != nil {
				l.report(s, "", false, fmt.Sprintf("%s: the pattern %q is malformed, and taken as a plain name", list.key, p))
			}
			if !used(p) {
				l.report(s, "", false, fmt.Sprintf("%s: %q matches none of its tools", list.key, p))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(opt.Overrides)) {
		if !slices.ContainsFunc(raw.Tools, func(t mcpclient.Tool) bool { return t.Name == name }) && !opt.hasUtility(name) {
			l.report(s, "", false, fmt.Sprintf("overrides: it has no tool %q", name))
		}
	}
}

// allows reports whether the filters let a tool through.
func (o *Options) allows(wire string) bool {
	in := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, wire) })
	}
	return (o.Allow == nil || in(o.Allow)) && !in(o.Deny)
}

// matches is path.Match without its special place for slashes, which are letters like others in the name
// of a tool. A malformed pattern matches itself only.
func matches(pattern, wire string) bool {
	noSlash := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, err := path.Match(noSlash(pattern), noSlash(wire))
	return ok || err != nil && pattern == wire
}
