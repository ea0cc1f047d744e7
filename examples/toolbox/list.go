package main

import (
	"context"
	"strings"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
)

// listed is one tool as list --json prints it.
type listed struct {
	Name        string                `json:"name"`
	Qualified   string                `json:"qualified"`
	Signature   string                `json:"signature"`
	Description string                `json:"description"`
	Grade       grade.Grade           `json:"grade"`
	Source      string                `json:"source"`
	Kind        string                `json:"kind"`
	Server      string                `json:"server"`
	WireName    string                `json:"wire_name"`
	Precedence  toolsource.Precedence `json:"precedence"`
	Provisional bool                  `json:"provisional"`
	Shadows     []shadowed            `json:"shadows"`
}

// shadowed is a layer that has the name as well and lost it.
type shadowed struct {
	Source     string                `json:"source"`
	Precedence toolsource.Precedence `json:"precedence"`
}

func (c *command) list(ctx context.Context) error {
	set, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer set.Close()
	precedence := map[string]toolsource.Precedence{}
	for _, s := range set.Sources() {
		precedence[s.Source] = s.Precedence
	}
	losers := map[string][]shadowed{}
	for _, s := range set.Shadowed() {
		for _, l := range s.Losers {
			losers[s.Name] = append(losers[s.Name], shadowed{l.Source, l.Precedence})
		}
	}
	all := []listed{}
	for _, s := range set.Tools() {
		l := listed{
			Name: s.Name, Qualified: s.Origin.QualifiedName, Signature: s.Signature(), Description: s.Description, Grade: s.Grade,
			Source: s.Origin.Source, Kind: s.Origin.Kind, Server: s.Origin.Server, WireName: s.Origin.WireName,
			Precedence: precedence[s.Origin.Source], Provisional: s.Origin.Provisional, Shadows: losers[s.Name],
		}
		if l.WireName == "" {
			l.WireName = s.Name
		}
		if l.Qualified == "" {
			l.Qualified = s.Name
		}
		if l.Shadows == nil {
			l.Shadows = []shadowed{}
		}
		all = append(all, l)
	}
	if c.json {
		return c.print(all)
	}
	t := &table{head: []string{"TOOL", "GRADE", "SOURCE", "SHADOWS"}}
	for _, l := range all {
		var hidden []string
		for _, s := range l.Shadows {
			hidden = append(hidden, s.Source)
		}
		t.add(l.Signature, l.Grade.String(), l.Source, strings.Join(hidden, ", "))
	}
	return t.print(c.out, c.screen)
}
