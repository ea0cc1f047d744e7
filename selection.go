package toolsource

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/toolsource/toolsource/grade"
)

// A Selection is the snapshot that a program runs on: specs, callables, joined grade, description and docs of
// chosen tools. It never changes; a tool that is gone since fails with ErrUnavailable. Its tools go by their
// alias where they were selected by one.
type Selection struct {
	revision uint64
	tools    []Tool // Spec.Name is the alias
	index    map[string]int
	grade    grade.Grade
}

// Select chooses tools by name; of none it is the empty selection, whose grade is Pure. A name given twice
// counts once. Tools whose gate says no are left out; each gate is asked once per tool, and no longer than
// ctx lasts. An unknown name is an error, and nothing is selected.
func (tb *Toolbox) Select(ctx context.Context, names ...string) (*Selection, error) {
	picks := make([]pick, 0, len(names))
	seen := make(map[string]struct{}, len(names))
	for _, n := range names {
		if _, twice := seen[n]; !twice {
			seen[n] = struct{}{}
			picks = append(picks, pick{alias: n, name: n})
		}
	}
	return tb.pick(ctx, picks)
}

// SelectAs chooses tools by name and calls them by alias. The order is that of the aliases.
func (tb *Toolbox) SelectAs(ctx context.Context, aliases map[string]string) (*Selection, error) {
	var picks []pick
	for _, alias := range slices.Sorted(maps.Keys(aliases)) {
		if err := checkName(alias); err != nil {
			return nil, &CallError{Tool: alias, Phase: "select", Kind: KindBadArguments, Err: err, Remedy: "choose another alias"}
		}
		picks = append(picks, pick{alias: alias, name: aliases[alias]})
	}
	return tb.pick(ctx, picks)
}

type pick struct{ alias, name string }

func (tb *Toolbox) pick(ctx context.Context, picks []pick) (*Selection, error) {
	if tb.closed.Load() {
		return nil, &CallError{Phase: "select", Kind: KindClosed, Remedy: "the Toolbox was closed"}
	}
	snap := tb.snap.Load()
	entries := make([]*entry, len(picks))
	var errs []error
	for i, p := range picks {
		e, ok := snap.get(p.name)
		switch {
		case !ok:
			errs = append(errs, snap.missing(p.name))
		case e.err != nil:
			errs = append(errs, e.err)
		}
		entries[i] = e
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	offered, err := askGates(ctx, entries)
	if err != nil {
		return nil, err
	}
	s := &Selection{revision: snap.revision, index: make(map[string]int, len(picks))}
	grades := make([]grade.Grade, 0, len(picks))
	for i, e := range entries {
		if !offered[i] {
			continue
		}
		s.index[picks[i].alias] = len(s.tools)
		s.tools = append(s.tools, e.as(picks[i].alias))
		grades = append(grades, e.spec.Grade)
	}
	s.grade = grade.Join(grades...)
	return s, nil
}

// as is the entry's tool under another name, which its errors then bear as well.
func (e *entry) as(alias string) Tool {
	t := Tool{Spec: *e.spec, Call: e.call}
	if alias == e.spec.Name {
		return t
	}
	t.Spec.Name = alias
	t.Spec.Origin.WireName = e.spec.wireName()
	t.Call = func(ctx context.Context, args map[string]any) (Result, error) {
		res, err := e.call(ctx, args)
		return res, renamed(err, alias)
	}
	return t
}

// renamed is err with another tool name.
func renamed(err error, name string) error {
	switch e := err.(type) {
	case *CallError:
		c := *e
		c.Tool = name
		return &c
	case *ToolError:
		c := *e
		c.Tool = name
		return &c
	}
	return err
}

// askGates asks the gate of each entry's source, all at once, each tool once.
func askGates(ctx context.Context, entries []*entry) ([]bool, error) {
	offered := make([]bool, len(entries))
	asked := make(map[*entry]chan bool)
	for i, e := range entries {
		if !e.layer.gated {
			offered[i] = true
			continue
		}
		if asked[e] == nil {
			answer := make(chan bool, 1)
			asked[e] = answer
			own := *e.own
			go func() {
				offers := false
				defer func() { answer <- offers }() // also when the gate ends the goroutine
				offers = Offered(ctx, e.layer.Source, own)
			}()
		}
	}
	answers := make(map[*entry]bool, len(asked))
	for e, answer := range asked {
		select {
		case answers[e] = <-answer:
		case <-ctx.Done():
			return nil, &CallError{
				Tool: e.spec.Name, Source: e.layer.name, Phase: "gate", Kind: KindOf(ctx.Err()), Err: context.Cause(ctx),
				Remedy: "the host did not say in time whether it offers the tool",
			}
		}
	}
	for i, e := range entries {
		offered[i] = offered[i] || answers[e]
	}
	return offered, nil
}

// Tool gives a selected tool by the name or alias it was selected under.
func (s *Selection) Tool(name string) (Tool, bool) {
	i, ok := s.index[name]
	if !ok {
		return Tool{}, false
	}
	return s.tools[i], true
}

// Resolve gives a selected tool's callable. A name outside the selection is an ErrUnknownTool.
func (s *Selection) Resolve(name string) (Callable, error) {
	if t, ok := s.Tool(name); ok {
		return t.Call, nil
	}
	names := make([]string, len(s.tools))
	for i := range s.tools {
		names[i] = s.tools[i].Spec.Name
	}
	return nil, &CallError{
		Tool: name, Phase: "resolve", Kind: KindUnknownTool, Remedy: suggestion(name, names),
		Err: errors.New("the selection does not have it"),
	}
}

// Spec gives a selected tool's spec, named as it was selected.
func (s *Selection) Spec(name string) (ToolSpec, bool) {
	t, ok := s.Tool(name)
	return t.Spec, ok
}

// Tools lists the selected specs in the order of selection.
func (s *Selection) Tools() []ToolSpec {
	specs := make([]ToolSpec, len(s.tools))
	for i := range s.tools {
		specs[i] = s.tools[i].Spec
	}
	return specs
}

// Grade is the join of the tools' grades; of the empty selection it is Pure.
func (s *Selection) Grade() grade.Grade { return s.grade }

// Describe renders one line per tool for a prompt, by the names they were selected under; of no names: all.
func (s *Selection) Describe(names ...string) string {
	if len(names) == 0 {
		return describe(s.Tools())
	}
	var specs []ToolSpec
	for _, n := range names {
		if spec, ok := s.Spec(n); ok {
			specs = append(specs, spec)
		}
	}
	return describe(specs)
}

// Docs lists the tools' docs, each once, in the order of the tools.
func (s *Selection) Docs() []string {
	var docs []string
	for i := range s.tools {
		if d := s.tools[i].Spec.Docs; d != "" && !slices.Contains(docs, d) {
			docs = append(docs, d)
		}
	}
	return docs
}

// Revision is the Toolbox's revision that the selection was made from.
func (s *Selection) Revision() uint64 { return s.revision }
