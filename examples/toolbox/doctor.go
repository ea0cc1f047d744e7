package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/sources"
	"github.com/toolsource/toolsource/sources/hostconfig"
)

// examination is what doctor found, as doctor --json prints it.
type examination struct {
	Config   string    `json:"config"`
	Healthy  bool      `json:"healthy"` // there is no error
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Findings []finding `json:"findings"`
}

// The severities of a finding.
const (
	isOK      = "ok"
	isNote    = "note"
	isWarning = "warning"
	isError   = "error"
)

// What a finding is about, in the order in which they are shown.
const (
	aboutConfig = "configuration"
	aboutHost   = "host file"
	aboutSource = "source"
	aboutTool   = "tool"
)

// finding is one thing that is as it should be, or is not. Times are RFC 3339, null where there is none.
type finding struct {
	Severity  string     `json:"severity"`
	About     string     `json:"about"`
	Subject   string     `json:"subject"` // file, server, source or tool
	State     string     `json:"state"`   // of a source
	Phase     string     `json:"phase"`   // that failed: start, initialize, tools/list, era, transport
	Message   string     `json:"message"`
	Remedy    string     `json:"remedy"`
	Command   string     `json:"command"` // that does it
	File      string     `json:"file"`
	Line      int        `json:"line"`
	Column    int        `json:"column"`
	Stderr    []string   `json:"stderr"` // its last lines
	Attempts  int        `json:"attempts"`
	NextTry   *time.Time `json:"next_try"`
	Era       string     `json:"era"`
	Transport string     `json:"transport"`
	Tools     int        `json:"tools"`
	TookMS    *int64     `json:"took_ms"` // until its tools were there
	Launch    string     `json:"launch"`
	Names     []string   `json:"names"` // of tools that it concerns
}

func (x *examination) add(f finding) {
	if f.Stderr == nil {
		f.Stderr = []string{}
	}
	f.Names = list(f.Names)
	switch f.Severity {
	case isError:
		x.Errors++
	case isWarning:
		x.Warnings++
	}
	x.Findings = append(x.Findings, f)
}

// doctor finds out everything that is wrong, and fails only where it cannot say it.
func (c *command) doctor(ctx context.Context) error {
	x := &examination{Config: c.file(), Findings: []finding{}}
	if err := c.examine(ctx, x); err != nil {
		return err
	}
	order := []string{aboutConfig, aboutHost, aboutSource, aboutTool}
	slices.SortStableFunc(x.Findings, func(a, b finding) int {
		return slices.Index(order, a.About) - slices.Index(order, b.About)
	})
	x.Healthy = x.Errors == 0
	show := c.showExamination
	if c.json {
		show = func(x *examination) error { return c.print(x) }
	}
	if err := show(x); err != nil {
		return err
	}
	if !x.Healthy {
		return errUnwell
	}
	return nil
}

func (c *command) examine(ctx context.Context, x *examination) error {
	cfg, err := sources.Load(c.file(), c.options())
	if err != nil {
		x.unreadable(c.file(), err)
		return nil
	}
	x.hostFiles(c, cfg)
	x.problems(cfg)
	x.reports(cfg)
	for _, u := range c.unset {
		x.add(finding{Severity: isNote, About: aboutHost, Subject: u.variable, Message: "is not set; " + u.reference + " is taken from it", Remedy: "set it in the environment of toolbox"})
	}
	ctx, cancel := c.limited(ctx)
	defer cancel()
	started := time.Now()
	set, err := optional(cfg).Open(ctx)
	if err != nil {
		return err
	}
	defer set.Close()
	x.servers(c, cfg, set, started)
	x.tools(set)
	return nil
}

// optional is the configuration with no server required, so that one that fails does not hide the others.
func optional(cfg *sources.Config) *sources.Config {
	lax := *cfg
	lax.Servers = slices.Clone(cfg.Servers)
	for i := range lax.Servers {
		lax.Servers[i].Config.Required = false
	}
	return &lax
}

// unreadable is a configuration that could not be read at all.
func (x *examination) unreadable(file string, err error) {
	f := finding{Severity: isError, About: aboutConfig, Subject: file, File: file, Message: err.Error()}
	var p *sources.Problem
	if errors.As(err, &p) {
		f.Message, f.Remedy, f.Line, f.Column = p.Message, p.Hint, p.Line, p.Column
	}
	if errors.Is(err, fs.ErrNotExist) {
		f.Message = "there is no such file"
		f.Remedy, f.Command = "name yours with --config, write one, or make one of another program's file", "toolbox import --write "+shellWord(file)+" FILE"
	}
	x.add(f)
}

// hostFiles tells whether they are trusted, and how to agree to them.
func (x *examination) hostFiles(c *command, cfg *sources.Config) {
	told := false // that the agreements cannot be read
	for _, h := range cfg.HostFiles {
		f := finding{Severity: isOK, About: aboutHost, Subject: h.Path, File: h.Path,
			Message: fmt.Sprintf("%s, format %s, trusted", count(len(h.Entries), "server"), h.Format)}
		if !h.Trusted {
			why := "not trusted"
			changed, err := c.changed(h)
			if err != nil && !told {
				told = true
				x.add(finding{Severity: isError, About: aboutHost, Subject: "agreements", Message: err.Error()})
			}
			if changed {
				why = changedSince
			}
			f.Severity, f.Message = isWarning, strings.TrimSuffix(f.Message, "trusted")+why+", so that none of them starts"
			f.Remedy, f.Command = "agree to it, if it may start what awaits consent below", c.agree(h.Path)
		}
		x.add(f)
	}
}

// problems are what is wrong in the configuration and with reading its host files.
func (x *examination) problems(cfg *sources.Config) {
	for _, p := range cfg.Problems {
		f := finding{
			Severity: isError, About: aboutConfig, Subject: p.Key, Message: p.Message, Remedy: p.Hint,
			File: p.File, Line: p.Line, Column: p.Column,
		}
		var cause *sources.Problem
		if errors.As(p.Unwrap(), &cause) { // it says it more exactly
			f.Subject, f.Message, f.Remedy = p.Key+": "+cause.Key, cause.Message, cause.Hint
		}
		if p.Severity == sources.SeverityWarning {
			f.Severity = isWarning
		}
		if p.File != cfg.File {
			f.About = aboutHost
		}
		x.add(f)
	}
}

// reports are the fields of host files that were not taken as they are.
func (x *examination) reports(cfg *sources.Config) {
	for _, r := range cfg.Reports {
		f := finding{About: aboutHost, Subject: r.Server, Message: r.Action + ": " + r.Reason, Remedy: r.Remedy, File: r.File, Line: r.Line}
		if r.Field != "" {
			f.Message = r.Field + " " + f.Message
		}
		another := slices.ContainsFunc(cfg.Servers, func(s sources.Server) bool { return s.Config.ID == r.Server })
		switch {
		case r.Action == hostconfig.Refused && lost(cfg, r) && !another:
			f.Severity = isError
		case r.Action == hostconfig.Refused: // a field, or a server whose name is another's
			f.Severity = isWarning
		case r.Action == hostconfig.Rewritten:
			f.Severity = isNote
		default:
			continue
		}
		x.add(f)
	}
}

// servers tells how each source is, and each server that is none.
func (x *examination) servers(c *command, cfg *sources.Config, set *sources.Set, started time.Time) {
	declared := map[string]sources.Server{}
	for _, s := range cfg.Servers {
		declared["mcp:"+s.Config.ID] = s
	}
	attached := map[string]bool{}
	for _, st := range set.Sources() {
		attached[st.Source] = true
		s, isServer := declared[st.Source]
		f := finding{
			About: aboutSource, Subject: st.Source, State: string(st.State), Attempts: st.Attempts, NextTry: moment(st.NextTry),
			Era: st.Era, Transport: st.Transport, Tools: st.Tools,
		}
		if isServer {
			f.File, f.Line, f.Launch = s.Config.File, s.Config.Line, launch(s)
		}
		f.judge(st, started, c.timeout)
		if f.Severity == isError && s.Config.Required {
			f.Message += "; it is required, so that nothing else opens without it"
		}
		x.add(f)
		for _, p := range st.Problems {
			x.add(toolProblem(st.Source, p))
		}
	}
	for _, s := range cfg.Servers {
		if !attached["mcp:"+s.Config.ID] {
			x.add(c.offFinding(s, cfg))
		}
	}
}

// judge says how a source is.
func (f *finding) judge(st toolsource.SourceStatus, started time.Time, limit time.Duration) {
	switch {
	case st.State == toolsource.StateReady, st.Err == nil && st.State != toolsource.StateDialling:
		f.Severity, f.Message = isOK, count(st.Tools, "tool")
		if st.Kind == "mcp" && st.Since.After(started) {
			ms := st.Since.Sub(started).Milliseconds()
			f.TookMS = &ms
		}
		return
	case st.Err == nil || limit > 0 && cutShort(st.Err):
		f.Severity, f.Message = isError, "has not answered yet"
		if limit > 0 {
			f.Message = fmt.Sprintf("has not answered within %s", limit)
			f.Remedy = "give it longer with --timeout, or see why it does not answer"
		}
	default:
		f.Severity = isError
		f.fail(st.Err)
	}
	f.Stderr = lines(st.Stderr)
	f.Message = withoutTail(f.Message, f.Stderr)
}

// cutShort reports whether it was our own limit that ended an attempt, not the server's.
func cutShort(err error) bool {
	var ce *mcpclient.ConnectError
	var call *toolsource.CallError
	return errors.Is(err, context.DeadlineExceeded) && (!errors.As(err, &ce) || errors.As(ce.Err, &call) && call.Kind == toolsource.KindTimeout)
}

// withoutTail is an error without the end of the standard error, which is shown line by line.
func withoutTail(message string, stderr []string) string {
	message = strings.Join(words(message), " ")
	for i := range stderr {
		tail := strings.Join(words(strings.Join(stderr[i:], " | ")), " ")
		if before, ok := strings.CutSuffix(message, ": "+tail); ok {
			return strings.TrimSuffix(before, "; its standard error ends")
		}
	}
	return message
}

// fail says what failed, in which phase, and what to do.
func (f *finding) fail(err error) {
	f.Message = err.Error()
	var ce *mcpclient.ConnectError
	if !errors.As(err, &ce) {
		return
	}
	f.Phase, f.Message, f.Remedy = phase(ce), strings.TrimPrefix(ce.Err.Error(), "procgroup: "), ce.Remedy
	switch {
	case f.Remedy != "":
	case f.Phase == "start":
		f.Remedy = "install the command, or give its whole path; it is looked for on the PATH of the server's own environment"
	case f.Phase == "era":
		f.Remedy = "update the server, or set its protocol to a revision that it speaks"
	case f.Phase == "transport":
		f.Remedy = "check that the server runs, its url, and its transport, http or sse"
	case f.Transport == mcpclient.TransportStdio:
		f.Remedy = "run its command by hand, and see what it says; it may lack a variable in env"
	}
}

// phase is the step of connecting that failed, more exactly where the error says so.
func phase(ce *mcpclient.ConnectError) string {
	var st *mcpclient.StatusError
	var rpc *mcpclient.RPCError
	var dial *net.OpError
	switch {
	case ce.Step != "initialize":
	case errors.As(ce.Err, &rpc) && strings.Contains(strings.ToLower(rpc.Message), "version"),
		errors.As(ce.Err, &st) && st.Status == 400 && strings.Contains(strings.ToLower(st.Body), "version"):
		return "era"
	case errors.As(ce.Err, &st) && errors.Is(ce, toolsource.ErrPermanent), errors.As(ce.Err, &dial) && dial.Op == "dial":
		return "transport"
	}
	return ce.Step
}

// lastLines bounds what is shown of a server's standard error.
const lastLines = 10

func lines(text string) []string {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	all := strings.Split(text, "\n")
	all = all[max(len(all)-lastLines, 0):]
	for i, l := range all {
		all[i] = strings.TrimRight(l, " \r")
	}
	return all
}

// toolProblem is a tool that was left out, or that is odd.
func toolProblem(source string, err error) finding {
	f := finding{Severity: isWarning, About: aboutTool, Subject: source, Message: err.Error()}
	var tp *mcpclient.ToolProblem
	if errors.As(err, &tp) {
		f.Message = tp.Reason
		if tp.Tool != "" {
			f.Subject = source + " " + tp.Tool
		}
		if tp.LeftOut {
			f.Message = "left out: " + f.Message
		} else {
			f.Severity = isNote
		}
	}
	return f
}

// offFinding is a server that is not attached.
func (c *command) offFinding(s sources.Server, cfg *sources.Config) finding {
	state, why := c.off(s)
	f := finding{
		Severity: isWarning, About: aboutSource, Subject: "mcp:" + s.Config.ID, State: state, Message: state + ": " + why,
		File: s.Config.File, Line: s.Config.Line, Transport: s.Config.Transport, Launch: launch(s),
	}
	said := func(p *sources.Problem) bool { return p.Severity == sources.SeverityError && p.File == s.Config.File }
	switch {
	case state == awaiting:
		f.Message, f.Command = state+" to "+would(s), c.agree(s.Config.File)
	case state == disabled:
		f.Severity = isNote
	case state == badEntry && slices.ContainsFunc(cfg.Problems, said):
		f.Severity, f.Message = isNote, "is off, since its entry is wrong: see above"
	case state == badEntry:
		f.Severity = isError
	}
	return f
}

// declare is what to do where there are no tools.
const declare = "declare some in [[tools]], or servers in [mcp_servers.NAME]"

// tools tells what became of the names.
func (x *examination) tools(set *sources.Set) {
	type move struct{ winner, loser, reason string }
	var moves []move
	names := map[move][]string{}
	for _, s := range set.Shadowed() {
		for _, l := range s.Losers {
			m := move{s.Winner.Source, l.Source, s.Reason}
			if names[m] == nil {
				moves = append(moves, m)
			}
			names[m] = append(names[m], s.Name)
		}
	}
	for _, m := range moves {
		x.add(finding{Severity: isNote, About: aboutTool, Subject: m.loser,

			Message: fmt.Sprintf("lost to %s (%s)", m.winner, m.reason), Names: names[m]})
	}
	own, provisional := 0, []string{}
	all := set.Tools()
	for _, t := range all {
		if t.Origin.Provisional {
			provisional = append(provisional, t.Name)
		}
		if t.Origin.Source != "default" {
			own++
		}
	}
	if len(provisional) > 0 {
		x.add(finding{Severity: isWarning, About: aboutTool, Subject: "names",
			Message: "provisional, since a server that is not up yet may still take them", Names: provisional})
	}
	switch {
	case len(all) == 0:
		x.add(finding{Severity: isError, About: aboutTool, Subject: "none", Message: "there are no tools at all", Remedy: declare})
	case own == 0:
		x.add(finding{Severity: isWarning, About: aboutTool, Subject: "none", Message: "there are no tools but those that ship with the library", Remedy: declare})
	}
}
