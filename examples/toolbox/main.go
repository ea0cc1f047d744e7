// Command toolbox lists, calls and inspects the tools of a toolsource configuration, for people and, with
// --json, for scripts. It is a program over the public API and holds no logic of its own about tools.
//
// Errors go to standard error, one line each. With --json there is exactly one JSON document on standard
// output, errors included. Exit status: 0; 1 the tool answered with an error; 2 bad arguments, an unknown
// tool, or wrong use of the command; 3 anything else.
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
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/toolsource/toolsource"
)

const usage = `usage: toolbox COMMAND [flags] [arguments]

  list    [--config F] [--json]                    what tools there are, whose, and what is shadowed
  call    [--config F] [--json] [--timeout D] NAME [JSON | @FILE | -]
                                                   call one tool; its arguments are a JSON object
  status  [--config F] [--json]                    how each source is

Without --config the file is toolsource.toml in this folder.
`

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
	config   string
	json     bool
	timeout  time.Duration
	verb     string
	args     []string // what follows the verb, without flags
}

// errUsage is wrong use of the command.
var errUsage = errors.New("usage")

func run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	c := &command{in: in, out: out, err: errw}
	if len(args) == 0 {
		fmt.Fprint(errw, usage)
		return 2
	}
	c.json = slices.Contains(args, "--json") || slices.Contains(args, "-json") // also for what is wrong with the flags
	err := c.parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp) || err == nil && c.verb == "help":
		_, err = fmt.Fprint(out, usage)
	case err == nil:
		verbs := map[string]func(context.Context) error{"list": c.list, "call": c.call, "status": c.status}
		verb, ok := verbs[c.verb]
		switch {
		case c.verb == "":
			err = fmt.Errorf("%w: there is no command; see toolbox help", errUsage)
		case !ok:
			err = fmt.Errorf("%w: there is no command %q; see toolbox help", errUsage, c.verb)
		default:
			err = verb(ctx)
		}
	}
	return c.report(err)
}

// parse reads flags wherever they stand; what follows "--" is never one. The first word is the verb.
func (c *command) parse(args []string) error {
	fs := flag.NewFlagSet("toolbox", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&c.config, "config", "", "")
	fs.BoolVar(&c.json, "json", c.json, "")
	fs.DurationVar(&c.timeout, "timeout", 0, "")
	for len(args) > 0 {
		if args[0] == "--" {
			c.args = append(c.args, args[1:]...)
			break
		}
		if !strings.HasPrefix(args[0], "-") || args[0] == "-" {
			c.args = append(c.args, args[0])
			args = args[1:]
			continue
		}
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return err
			}
			return fmt.Errorf("%w: %w; see toolbox help", errUsage, err)
		}
		args = fs.Args()
	}
	if len(c.args) > 0 {
		c.verb, c.args = c.args[0], c.args[1:]
	}
	if c.verb != "call" && c.verb != "" && len(c.args) > 0 {
		return fmt.Errorf("%w: %s takes no arguments, got %q", errUsage, c.verb, c.args[0])
	}
	if c.timeout < 0 {
		return fmt.Errorf("%w: --timeout is %s, want a positive duration such as 5s", errUsage, c.timeout)
	}
	return nil
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
	} `json:"error"`
}

// report prints an error and gives the exit status.
func (c *command) report(err error) int {
	if err == nil {
		return 0
	}
	kind := kindOf(err)
	for line := range strings.SplitSeq(err.Error(), "\n") {
		c.complain(line)
	}
	if c.json {
		var f failure
		f.Error.Kind, f.Error.Message = kind, err.Error()
		var ce *toolsource.CallError
		var te *toolsource.ToolError
		switch {
		case errors.As(err, &te):
			f.Error.Tool, f.Error.Message, f.Error.MayHaveRun = te.Tool, te.Result.Text(), true
		case errors.As(err, &ce):
			f.Error.Tool, f.Error.Source, f.Error.Remedy, f.Error.MayHaveRun = ce.Tool, ce.Source, ce.Remedy, ce.MayHaveRun
		}
		if werr := c.print(f); werr != nil {
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

// complain writes one line to standard error. Nothing in it can move the cursor or look like another line.
func (c *command) complain(text string) {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, strings.TrimPrefix(text, "toolsource: "))
	fmt.Fprintln(c.err, "toolbox: "+text)
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
