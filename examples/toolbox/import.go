package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/sources/hostconfig"
)

// imported is a host file as import --json prints it.
type imported struct {
	Format  string          `json:"format"`
	File    string          `json:"file"`
	Entries []importedEntry `json:"entries"`
	Report  []importedNote  `json:"report"`
	Inputs  []importedInput `json:"inputs"`
	Written *string         `json:"written"` // file that --write wrote, or null
}

// importedEntry is one server, with values as the file wrote them. A limit that the file does not give is
// null, and so are allow and deny where there is no list: an empty allow list lets no tool through.
type importedEntry struct {
	ID               string            `json:"id"`
	Name             string            `json:"name"`
	Transport        string            `json:"transport"`
	Command          string            `json:"command"`
	Args             []string          `json:"args"`
	Env              map[string]string `json:"env"`
	EnvFile          string            `json:"env_file"`
	Cwd              string            `json:"cwd"`
	URL              string            `json:"url"`
	Headers          map[string]string `json:"headers"`
	ConnectTimeoutMS *float64          `json:"connect_timeout_ms"`
	CallTimeoutMS    *float64          `json:"call_timeout_ms"`
	Enabled          bool              `json:"enabled"`
	Required         bool              `json:"required"`
	Allow            []string          `json:"allow"`
	Deny             []string          `json:"deny"`
	Approvals        approvals         `json:"approvals"`
	File             string            `json:"file"`
	Line             int               `json:"line"`
}

// approvals are what the file says may run without asking: words of its program that raise no trust.
type approvals struct {
	Tools []string          `json:"tools"`
	Modes map[string]string `json:"modes"`
	Trust string            `json:"trust"`
}

type importedNote struct {
	Server string `json:"server"`
	Field  string `json:"field"`
	Action string `json:"action"`
	Reason string `json:"reason"`
	Remedy string `json:"remedy"`
	File   string `json:"file"`
	Line   int    `json:"line"`
}

// importedInput is a value that the file wants to be asked for. Its default may be a secret.
type importedInput struct {
	ID          string   `json:"id"`
	Type        string   `json:"type"`
	Description string   `json:"description"`
	HasDefault  bool     `json:"has_default"`
	Password    bool     `json:"password"`
	Options     []string `json:"options"`
	Variable    string   `json:"variable"` // of the environment, where the value is taken from
	Line        int      `json:"line"`
}

func (c *command) importFile(context.Context) error {
	if len(c.args) == 0 {
		return fmt.Errorf("%w: import wants a file, or - for standard input", errUsage)
	}
	if c.force && c.write == "" {
		return fmt.Errorf("%w: --force goes with --write", errUsage)
	}
	f, err := c.readFile(c.args[0])
	if err != nil {
		return fileError{err}
	}
	doc := imported{Format: f.Format, File: f.Name, Entries: []importedEntry{}, Report: []importedNote{}, Inputs: []importedInput{}}
	notes := f.Report
	if c.write != "" && len(f.Entries) > 0 {
		more, err := writeEntries(c.write, f.Entries, c.force)
		if err != nil {
			return err
		}
		notes = slices.Concat(notes, more)
		doc.Written = &c.write
	}
	if !c.json {
		return c.showImport(f, notes)
	}
	for _, e := range f.Entries {
		doc.Entries = append(doc.Entries, entryOf(e))
	}
	for _, n := range notes {
		doc.Report = append(doc.Report, noteOf(n))
	}
	for _, in := range f.Inputs {
		doc.Inputs = append(doc.Inputs, importedInput{
			ID: in.ID, Type: in.Type, Description: in.Description, HasDefault: in.HasDefault, Password: in.Password,
			Options: list(in.Options), Variable: inputVariable(in.ID), Line: in.Line,
		})
	}
	return c.print(doc)
}

// stdinName is what standard input is called in messages.
const stdinName = "<stdin>"

// longestFile bounds what is read from standard input.
const longestFile = 16 << 20

func (c *command) readFile(name string) (*hostconfig.File, error) {
	here, err := os.Getwd() // of files that hold servers of several projects, those of this folder count
	if err != nil {
		here = ""
	}
	o := &hostconfig.Options{Format: c.format, Workspace: here}
	if name != "-" {
		return hostconfig.Read(name, o)
	}
	data, err := io.ReadAll(io.LimitReader(c.in, longestFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("standard input: %w", err)
	case len(data) > longestFile:
		return nil, errors.New("standard input is longer than 16 MiB, which is no file of servers")
	}
	return hostconfig.Parse(stdinName, data, o)
}

func entryOf(e hostconfig.Entry) importedEntry {
	return importedEntry{
		ID: e.ID, Name: e.Name, Transport: e.Transport, Command: e.Command, Args: list(e.Args), Env: revealed(e.Env),
		EnvFile: e.EnvFile, Cwd: e.Cwd, URL: e.URL, Headers: revealed(e.Headers),
		ConnectTimeoutMS: milliseconds(e.ConnectTimeout), CallTimeoutMS: milliseconds(e.CallTimeout),
		Enabled: e.Enabled, Required: e.Required, Allow: e.Allow, Deny: e.Deny,
		Approvals: approvals{Tools: list(e.Approvals.Tools), Modes: dict(e.Approvals.Modes), Trust: e.Approvals.Trust},
		File:      e.File, Line: e.Line,
	}
}

func noteOf(n hostconfig.Note) importedNote {
	return importedNote{Server: n.Server, Field: n.Field, Action: n.Action, Reason: n.Reason, Remedy: n.Remedy, File: n.File, Line: n.Line}
}

// list is a list that JSON shows as one though it is empty.
func list(l []string) []string {
	if l == nil {
		return []string{}
	}
	return l
}

func dict(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

func revealed(m map[string]toolsource.Secret) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = v.Reveal()
	}
	return out
}

func milliseconds(d time.Duration) *float64 {
	if d == 0 {
		return nil
	}
	ms := float64(d) / float64(time.Millisecond)
	return &ms
}

// showImport prints a table of the servers and then the report, server by server.
func (c *command) showImport(f *hostconfig.File, notes []hostconfig.Note) error {
	var b strings.Builder
	b.WriteString(c.screen.indented("", 0, fmt.Sprintf("%s: a file of format %s with %s.", f.Name, f.Format, count(len(f.Entries), "server"))))
	if len(f.Entries) > 0 {
		b.WriteString("\n")
		t := &table{head: []string{"SERVER", "TRANSPORT", "STATE", "LINE", "RUNS OR CALLS"}, style: func(column int, cell string) string {
			if column == 2 && cell != "on" {
				return dim
			}
			return ""
		}}
		for _, e := range f.Entries {
			state := "on"
			if !e.Enabled {
				state = "disabled"
			}
			t.addParts([]string{e.ID, e.Transport, state, fmt.Sprint(e.Line)}, about(e)...)
		}
		if err := t.print(&b, c.screen); err != nil {
			return err
		}
	}
	c.showReport(&b, f, notes)
	for i, in := range f.Inputs {
		if i == 0 {
			b.WriteString("\nIt wants to be asked for these; toolbox takes them from the environment:\n")
		}
		text := in.ID + ", from " + inputVariable(in.ID)
		if in.Description != "" {
			text += ": " + in.Description
		}
		b.WriteString(c.screen.indented("  ", 4, text))
	}
	switch {
	case c.write != "" && len(f.Entries) == 0:
		b.WriteString("\nThere is no server, so nothing was written.\n")
	case c.write != "":
		fmt.Fprintf(&b, "\nWrote %s. See how it does: toolbox doctor --config %s\n", clean(c.write), clean(shellWord(c.write)))
	}
	_, err := io.WriteString(c.out, b.String())
	return err
}

// about tells what a server runs or calls, and the names of what it is given, never their values.
func about(e hostconfig.Entry) []string {
	parts := []string{entryLaunch(e)}
	add := func(what string, names []string) {
		if len(names) > 0 {
			parts = append(parts, what+" "+strings.Join(names, ", "))
		}
	}
	add("env", slices.Sorted(maps.Keys(e.Env)))
	add("headers", slices.Sorted(maps.Keys(e.Headers)))
	for _, f := range []struct{ what, text string }{{"env file", e.EnvFile}, {"in", e.Cwd}} {
		if f.text != "" {
			parts = append(parts, f.what+" "+f.text)
		}
	}
	switch {
	case e.Allow != nil && len(e.Allow) == 0:
		parts = append(parts, "allows no tool")
	default:
		add("allows", e.Allow)
	}
	add("denies", e.Deny)
	if e.Required {
		parts = append(parts, "required")
	}
	return parts
}

// showReport prints the report of one file: what concerns all of it, then each server in the file's order.
// That a server was taken as it is, the table has said.
func (c *command) showReport(b *strings.Builder, f *hostconfig.File, notes []hostconfig.Note) {
	ids := []string{""}
	for _, e := range f.Entries {
		ids = append(ids, e.ID)
	}
	by := map[string][]hostconfig.Note{}
	for _, n := range notes {
		if n.Action == hostconfig.Taken && n.Server != "" && n.Field == "" && n.Remedy == "" {
			continue
		}
		if by[n.Server] == nil && !slices.Contains(ids, n.Server) {
			ids = append(ids, n.Server)
		}
		by[n.Server] = append(by[n.Server], n)
	}
	if len(by) == 0 {
		b.WriteString("\nEverything was taken as it is.\n")
	}
	for _, id := range ids {
		if len(by[id]) == 0 {
			continue
		}
		title := "The file as a whole"
		if id != "" {
			title = fmt.Sprintf("Server %q", id)
		}
		b.WriteString("\n" + c.screen.paint(bold, clean(title)) + "\n")
		for _, n := range by[id] {
			c.showNote(b, f, n)
		}
	}
}

// actionWidth is that of the longest action.
const actionWidth = len(hostconfig.Rewritten)

func (c *command) showNote(b *strings.Builder, f *hostconfig.File, n hostconfig.Note) {
	text := n.Reason
	if n.Field != "" {
		text = n.Field + ": " + text
	}
	place := fmt.Sprintf("line %d", n.Line)
	if n.File != "" && n.File != f.Name {
		place = fmt.Sprintf("%s:%d", n.File, n.Line)
	}
	if n.Line > 0 {
		text = place + ": " + text
	}
	action := n.Action + strings.Repeat(" ", max(actionWidth-len(n.Action), 0))
	indent := 2 + actionWidth + 2
	b.WriteString(c.screen.indented("  "+c.screen.paint(actionStyle(n.Action), action)+"  ", indent, text))
	if n.Remedy != "" {
		b.WriteString(c.screen.indented(strings.Repeat(" ", indent)+"do: ", indent+4, n.Remedy))
	}
}

func actionStyle(action string) string {
	switch action {
	case hostconfig.Refused:
		return red
	case hostconfig.Rewritten:
		return yellow
	case hostconfig.Taken:
		return green
	}
	return dim
}

// formatNames lists the formats that are known, for help.
func formatNames() string {
	names := []string{}
	for _, f := range hostconfig.Formats() {
		names = append(names, f.Name)
	}
	return "Known formats: " + strings.Join(names, ", ") + "."
}
