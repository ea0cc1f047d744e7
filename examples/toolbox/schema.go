package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/sources/toolschema"
)

// exported is what schema --json prints.
type exported struct {
	Provider toolschema.Provider `json:"provider"`
	Tools    json.RawMessage     `json:"tools"` // as the API takes them
	Names    []exportedName      `json:"names"`
	Changes  []exportChange      `json:"changes"`
	LeftOut  []leftOut           `json:"left_out"`
}

type exportedName struct {
	Name   string `json:"name"` // what the model calls
	Tool   string `json:"tool"`
	Strict bool   `json:"strict"`
}

type exportChange struct {
	Tool string `json:"tool"`
	Path string `json:"path"`
	Rule string `json:"rule"`
	What string `json:"what"`
}

type leftOut struct {
	Tool   string `json:"tool"`
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
}

// schema prints tools as a model API takes them on standard output, and what was rewritten for it on
// standard error, or with --json both in one document.
func (c *command) schema(ctx context.Context) error {
	known := toolschema.Providers()
	provider := toolschema.Provider(c.provider)
	if !slices.Contains(known, provider) {
		return fmt.Errorf("%w: --provider is %q, want one of %s", errUsage, c.provider, providerNames(known))
	}
	set, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer set.Close()
	specs := set.Tools()
	if len(c.args) > 0 {
		specs = nil
		for _, name := range c.args {
			spec, ok := set.Spec(name)
			if !ok {
				_, err := set.Resolve(name) // says what is like it
				if err == nil {
					err = errors.New("it came this moment; try again")
				}
				return err
			}
			specs = append(specs, spec)
		}
	}
	return c.export(specs, provider)
}

func (c *command) export(specs []toolsource.ToolSpec, provider toolschema.Provider) error {
	e, err := toolschema.Export(specs, provider, nil)
	if err != nil {
		return err
	}
	if !c.json {
		if err := c.print(e.JSON()); err != nil {
			return err
		}
		for _, ch := range e.Changes() {
			c.complain(ch.String())
		}
		for _, l := range e.LeftOut {
			c.complain(l.String())
		}
		return nil
	}
	out := exported{Provider: provider, Tools: e.JSON(), Names: []exportedName{}, Changes: []exportChange{}, LeftOut: []leftOut{}}
	for _, t := range e.Tools {
		out.Names = append(out.Names, exportedName{t.Name, t.Tool, t.Strict})
	}
	for _, ch := range e.Changes() {
		out.Changes = append(out.Changes, exportChange{ch.Tool, ch.Path, ch.Rule, ch.What})
	}
	for _, l := range e.LeftOut {
		out.LeftOut = append(out.LeftOut, leftOut{l.Tool, l.Rule, l.Reason})
	}
	return c.print(out)
}

func providerNames(known []toolschema.Provider) string {
	words := make([]string, len(known))
	for i, k := range known {
		words[i] = string(k)
	}
	return strings.Join(words, ", ")
}
