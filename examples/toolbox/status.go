package main

import (
	"context"
	"fmt"
	"time"

	"github.com/toolsource/toolsource"
)

// sourceStatus is one source as status --json prints it. Times are RFC 3339, null where there is none.
type sourceStatus struct {
	Source    string           `json:"source"`
	Kind      string           `json:"kind"`
	State     toolsource.State `json:"state"`
	Since     *time.Time       `json:"since"`
	Error     *string          `json:"error"`
	Tools     int              `json:"tools"`
	Attempts  int              `json:"attempts"`
	NextTry   *time.Time       `json:"next_try"`
	Era       string           `json:"era"`
	Transport string           `json:"transport"`
	Server    string           `json:"server"`
	Problems  []string         `json:"problems"`
	InFlight  int              `json:"in_flight"`
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Round(time.Millisecond)
	return &t
}

func (c *command) status(ctx context.Context) error {
	set, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer set.Close()
	all := []sourceStatus{}
	for _, s := range set.Sources() {
		st := sourceStatus{
			Source: s.Source, Kind: s.Kind, State: s.State, Since: moment(s.Since), Tools: s.Tools, Attempts: s.Attempts,
			NextTry: moment(s.NextTry), Era: s.Era, Transport: s.Transport, Server: s.Server, InFlight: s.InFlight, Problems: []string{},
		}
		if s.Err != nil {
			text := s.Err.Error()
			st.Error = &text
		}
		for _, p := range s.Problems {
			st.Problems = append(st.Problems, p.Error())
		}
		all = append(all, st)
	}
	if c.json {
		return c.print(all)
	}
	t := &table{head: []string{"SOURCE", "KIND", "STATE", "TOOLS", "ERROR"}}
	for _, s := range all {
		text := ""
		if s.Error != nil {
			text = *s.Error
		}
		t.add(s.Source, s.Kind, string(s.State), fmt.Sprint(s.Tools), text)
	}
	return t.print(c.out)
}
