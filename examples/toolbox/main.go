// Command toolbox lists, calls and inspects the tools of a toolsource configuration, for people and, with
// --json, for scripts. It reads other programs' server files, says what is wrong and what to do, and asks
// before it starts what somebody else's file names. It is a program over the public API and holds no logic
// of its own about tools.
//
// Errors go to standard error, one line each. With --json there is exactly one JSON document on standard
// output, errors included. Exit status: 0; 1 the tool answered with an error; 2 bad arguments, an unknown
// tool, a file that cannot be read, or wrong use of the command; 3 anything else, and doctor found an error.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/sources"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// A command is one run of the program.
type command struct {
	in       io.Reader
	out, err io.Writer
	screen   screen
	verb     string
	args     []string // what follows the verb, without flags

	config     string
	json       bool
	timeout    time.Duration
	trustAll   bool
	trustStore string
	forget     bool
	format     string
	provider   string
	write      string
	force      bool

	unset []unset // what host files asked for and the environment does not have
}

var (
	errUsage  = errors.New("usage")         // wrong use of the command
	errUnwell = errors.New("errors remain") // what doctor found; it has been said
)

func run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	c := &command{in: in, out: out, err: errw, screen: screenOf(out)}
	if len(args) == 0 {
		fmt.Fprint(errw, usage(c.screen))
		return 2
	}
	c.json = saysJSON(args) // also for what is wrong with the flags
	v, err := c.parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		err = c.printHelp(c.verb)
	case err == nil:
		err = v.run(c, ctx)
	}
	return c.report(err)
}

// failure is how an error looks with --json.
type failure struct {
	Error struct {
		Kind       toolsource.Kind `json:"kind"`
		Tool       string          `json:"tool"`
		Source     string          `json:"source"`
		Message    string          `json:"message"`
		Remedy     string          `json:"remedy"`
		MayHaveRun bool            `json:"may_have_run"`
		File       string          `json:"file,omitempty"`
		Line       int             `json:"line,omitempty"`
		Column     int             `json:"column,omitempty"`
	} `json:"error"`
}

// report prints an error and gives the exit status.
func (c *command) report(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUnwell):
		return 3
	}
	kind := kindOf(err)
	for line := range strings.SplitSeq(err.Error(), "\n") {
		c.complain(line)
	}
	if c.json {
		if werr := c.print(failed(kind, err)); werr != nil {
			c.complain(werr.Error())
		}
	}
	switch kind {
	case toolsource.KindTool:
		return 1
	case toolsource.KindBadArguments, toolsource.KindUnknownTool:
		return 2
	}
	return 3
}

func failed(kind toolsource.Kind, err error) failure {
	var f failure
	f.Error.Kind, f.Error.Message = kind, err.Error()
	var ce *toolsource.CallError
	var te *toolsource.ToolError
	var p *sources.Problem
	switch {
	case errors.As(err, &te):
		f.Error.Tool, f.Error.Message, f.Error.MayHaveRun = te.Tool, te.Result.Text(), true
	case errors.As(err, &ce):
		f.Error.Tool, f.Error.Source, f.Error.Remedy, f.Error.MayHaveRun = ce.Tool, ce.Source, ce.Remedy, ce.MayHaveRun
	case errors.As(err, &p):
		f.Error.Remedy, f.Error.File, f.Error.Line, f.Error.Column = p.Hint, p.File, p.Line, p.Column
	}
	return f
}

// complain writes one line to standard error. Nothing in it can move the cursor or look like another line.
func (c *command) complain(text string) {
	fmt.Fprintln(c.err, "toolbox: "+clean(strings.TrimPrefix(text, "toolsource: ")))
}

func kindOf(err error) toolsource.Kind {
	var ce *toolsource.CallError
	var te *toolsource.ToolError
	switch {
	case errors.Is(err, errUsage):
		return toolsource.KindBadArguments
	case errors.As(err, &ce), errors.As(err, &te):
		return toolsource.KindOf(err)
	}
	if k := toolsource.KindOf(err); k != toolsource.KindTool {
		return k
	}
	return toolsource.KindUnavailable // no tool has said anything yet
}

// print writes one JSON document.
func (c *command) print(v any) error {
	enc := json.NewEncoder(c.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
