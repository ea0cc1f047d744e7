package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/sources"
)

// sourceStatus is one source as status --json prints it. Times are RFC 3339, null where there is none. A
// server that is off is a row as well: its state says why, error what to do.
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
	Launch    string           `json:"launch"` // what a server runs or calls

	would string // of one that awaits consent
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
	all := c.statusOf(set)
	if c.json {
		return c.print(all)
	}
	t := &table{head: []string{"SOURCE", "STATE", "TOOLS", "WHY"}, style: func(column int, cell string) string {
		if column == 1 {
			return stateStyle(cell)
		}
		return ""
	}}
	for _, s := range all {
		text := ""
		switch {
		case s.State == awaiting:
			text = s.would // how to agree has been said on standard error
		case s.Error != nil:
			text = *s.Error
		}
		t.add(s.Source, string(s.State), fmt.Sprint(s.Tools), text)
	}
	return t.print(c.out, c.screen)
}

func (c *command) statusOf(set *sources.Set) []sourceStatus {
	all := []sourceStatus{}
	servers := map[string]sources.Server{}
	for _, s := range set.Config().Servers {
		servers["mcp:"+s.Config.ID] = s
	}
	attached := map[string]bool{}
	for _, s := range set.Sources() {
		attached[s.Source] = true
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
		if server, ok := servers[s.Source]; ok {
			st.Launch = launch(server)
		}
		all = append(all, st)
	}
	for _, s := range set.Config().Servers {
		if !attached["mcp:"+s.Config.ID] {
			all = append(all, c.offStatus(s))
		}
	}
	return all
}

// offStatus is the row of a server that is not attached.
func (c *command) offStatus(s sources.Server) sourceStatus {
	state, why := c.off(s)
	st := sourceStatus{
		Source: "mcp:" + s.Config.ID, Kind: "mcp", State: toolsource.State(state), Error: &why,
		Transport: s.Config.Transport, Server: s.Config.ID, Problems: []string{}, Launch: launch(s), would: "would " + would(s),
	}
	if s.Entry != nil {
		st.Transport = s.Entry.Transport
	}
	return st
}

// off tells that a server is not attached, and why.
func (c *command) off(s sources.Server) (state, why string) {
	place := fmt.Sprintf("%s:%d", short(s.Config.File), s.Config.Line)
	switch s.Off {
	case "":
		return "not approved", "the program that opened the configuration did not approve of it"
	case awaiting:
		return s.Off, fmt.Sprintf("would %s; agree with: %s", would(s), c.agree(s.Config.File))
	case disabled:
		return s.Off, "switched off at " + place
	}
	return s.Off, fmt.Sprintf("its entry at %s is wrong; toolbox doctor says how", place)
}

// stateStyle is the colour of a state.
func stateStyle(state string) string {
	switch {
	case state == string(toolsource.StateReady):
		return green
	case state == disabled || strings.HasPrefix(state, "idle") || strings.HasPrefix(state, "dormant"):
		return dim
	case state == awaiting || state == string(toolsource.StateDialling):
		return yellow
	}
	return red
}
