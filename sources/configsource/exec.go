package configsource

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/childenv"
	"github.com/toolsource/toolsource/internal/procgroup"
	"github.com/toolsource/toolsource/internal/redact"
	"github.com/toolsource/toolsource/internal/specdoc"
)

const (
	defaultOutput = 1 << 20                // bytes of standard output that are kept
	stderrTail    = 8 << 10                // bytes of standard error that an error shows
	stopBound     = time.Second            // from telling a command to end to its last process gone; killed at half
	outputRest    = 200 * time.Millisecond // for what a command that has ended left in its pipe
)

// command is a definition of provider "exec".
type command struct {
	life  *lifetime
	space *workspace

	tool      string
	argv      argv
	stdin     string // "none", "json" or the name of an argument
	output    string // "text", "json" or "lines"
	dir       string // within the workspace
	env       map[string]toolsource.Secret
	lookup    func(string) (string, bool)
	maxOutput int
	okCodes   []int
	limits    toolsource.Limits
	secrets   *redact.Set
}

// execProvider runs a command without a shell. Its keys:
//
//	command     ["prog", "-n", "{arg}", ["--max", "{n}"]]: see argv.expand
//	stdin       "none", "json" (all arguments as an object) or "{arg}" (one as text)
//	output      "text" (less one line end), "json" or "lines"
//	dir         working directory within the workspace; without it the workspace
//	env         beside a small base environment; ${VAR} and ${VAR:-default} are expanded
//	max_output  bytes kept of standard output, head and tail; more is cut
//	ok_codes    exit codes that are no error; [0]
func execProvider(s *Source, lookup func(string) (string, bool)) Provider {
	return NewProvider(func(def Definition) (toolsource.Callable, error) {
		c, err := newCommand(def, lookup)
		if err != nil {
			return nil, err
		}
		c.life, c.space = s.life, s.space
		if s.space.dir == "" {
			return nil, errNoWorkspace
		}
		return c.run, nil
	}, "command", "stdin", "output", "dir", "env", "max_output", "ok_codes")
}

var errNoWorkspace = errors.New("needs a workspace, and there is none; set Options.Workspace")

func newCommand(def Definition, lookup func(string) (string, bool)) (*command, error) {
	s := settings{config: def.Config}
	c := &command{tool: def.Spec.Name, lookup: lookup, limits: def.Spec.Limits, dir: s.str("dir"), maxOutput: s.number("max_output", defaultOutput)}
	c.stdin, c.output = s.str("stdin"), s.str("output")
	items, env, codes := s.list("command"), s.strMap("env"), s.list("ok_codes")
	if s.err != nil {
		return nil, s.err
	}
	var err error
	if c.argv, err = parseArgv(items, def.Spec.Args); err != nil {
		return nil, err
	}
	if err := c.streams(def.Spec.Args); err != nil {
		return nil, err
	}
	if c.okCodes, err = exitCodes(codes); err != nil {
		return nil, err
	}
	if c.dir != "" && !filepath.IsLocal(filepath.FromSlash(c.dir)) {
		return nil, badKey("dir", "give a path relative to the workspace", "is outside the workspace")
	}
	if lookup == nil {
		lookup = osLookup
	}
	if c.env, err = specdoc.ExpandAll(env, lookup); err != nil {
		return nil, badKey("env", "set the variable, or write ${NAME:-default}", "%w", err)
	}
	values := make([]string, 0, len(c.env))
	for _, v := range c.env {
		values = append(values, v.Reveal())
	}
	c.secrets = redact.New(values...)
	return c, nil
}

func (c *command) streams(args []toolsource.ArgSpec) error {
	switch c.stdin {
	case "":
		c.stdin = "none"
	case "none", "json":
	default:
		e, err := parseTemplate(c.stdin)
		declared := err == nil && len(e) == 1 && slices.ContainsFunc(args, func(a toolsource.ArgSpec) bool { return a.Name == e[0].arg })
		if !declared {
			return badKey("stdin", `want "none", "json" or "{NAME}" of a declared argument`, "cannot be %q", c.stdin)
		}
	}
	switch c.output {
	case "":
		c.output = "text"
	case "text", "json", "lines":
	default:
		return badKey("output", `want "text", "json" or "lines"`, "cannot be %q", c.output)
	}
	return nil
}

func exitCodes(list []any) ([]int, error) {
	if list == nil {
		return []int{0}, nil
	}
	codes := make([]int, len(list))
	for i, v := range list {
		n, ok := v.(int64)
		if !ok || n < 0 || n > 1<<31-1 {
			return nil, badKey(fmt.Sprintf("ok_codes[%d]", i), "", "want an exit code, 0 or more")
		}
		codes[i] = int(n)
	}
	return codes, nil
}

// run is the Callable.
func (c *command) run(ctx context.Context, args map[string]any) (toolsource.Result, error) {
	if !c.life.begin() {
		return toolsource.Result{}, toolsource.ErrClosed
	}
	defer c.life.wg.Done()
	start, err := c.prepare(args)
	if err != nil {
		return toolsource.Result{}, err
	}
	input, err := c.input(args)
	if err != nil {
		return toolsource.Result{}, err
	}
	if limit := shorter(toolsource.LimitsFrom(ctx).Or(c.limits)); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: the command ran longer than %v", toolsource.ErrTimeout, limit))
		defer cancel()
	}
	if err := ctx.Err(); err != nil {
		return toolsource.Result{}, context.Cause(ctx)
	}
	p, err := procgroup.Start(start)
	if err != nil {
		return toolsource.Result{}, unavailable(err)
	}
	out, err := c.attend(ctx, p, input)
	if err != nil {
		return toolsource.Result{}, err
	}
	return c.result(p, out)
}

func shorter(l toolsource.Limits) time.Duration {
	if l.Silence > 0 && (l.Ceiling <= 0 || l.Silence < l.Ceiling) {
		return l.Silence
	}
	return max(l.Ceiling, 0)
}

func unavailable(err error) error {
	return &toolsource.CallError{Phase: "start", Kind: toolsource.KindUnavailable, Err: fmt.Errorf("%w: %w", toolsource.ErrNotReached, err), Remedy: "check command, dir and PATH"}
}

func (c *command) prepare(args map[string]any) (procgroup.Cmd, error) {
	argv, err := c.argv.expand(args)
	if err != nil {
		return procgroup.Cmd{}, err
	}
	dir, err := c.space.folder(c.dir)
	if err != nil {
		return procgroup.Cmd{}, unavailable(err)
	}
	env := childenv.Of(c.env, c.lookup)
	path, err := procgroup.LookPath(argv[0], env, dir)
	if err != nil {
		return procgroup.Cmd{}, unavailable(err)
	}
	if err := checkBatch(runtime.GOOS, path, argv[1:]); err != nil {
		return procgroup.Cmd{}, err
	}
	return procgroup.Cmd{Path: path, Args: argv[1:], Env: env, Dir: dir, StderrTail: stderrTail + c.secrets.Longest()}, nil
}

// checkBatch refuses what cmd.exe would read as more than an argument: Windows runs batch files through it.
func checkBatch(goos, path string, args []string) error {
	ext := strings.ToLower(filepath.Ext(path))
	if goos != "windows" || ext != ".bat" && ext != ".cmd" {
		return nil
	}
	for _, a := range args {
		if strings.ContainsAny(a, "\"%&|<>^!()\r\n") {
			return fmt.Errorf("%w: a batch file cannot take an argument with one of \"%%&|<>^!() or a line break in it", toolsource.ErrBadArguments)
		}
	}
	return nil
}

// input is what goes to standard input; nil for nothing.
func (c *command) input(args map[string]any) ([]byte, error) {
	switch c.stdin {
	case "none":
		return nil, nil
	case "json":
		return plainJSON(args)
	}
	switch v := args[strings.Trim(c.stdin, "{}")].(type) {
	case nil:
		return nil, nil
	case string:
		return []byte(v), nil
	case toolsource.Blob:
		return v.Data, nil
	default:
		return plainJSON(v)
	}
}

// attend feeds the command and reads it until it has ended or ctx has; then whatever is left of its process
// group is ended. It returns when the group is gone, and its two helpers with it.
func (c *command) attend(ctx context.Context, p *procgroup.Process, input []byte) (*output, error) {
	out := newOutput(c.maxOutput, stderrTail+c.secrets.Longest())
	read, written := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(read)
		out.readFrom(p.Stdout)
	}()
	go func() {
		defer close(written)
		_, _ = p.Stdin.Write(input) // a command need not read all of it
		_ = p.Stdin.Close()
	}()
	finished := false
	select {
	case <-p.Done():
		select {
		case <-read:
			finished = true
		case <-time.After(outputRest): // a process that it left behind holds the pipe
			finished = true
		case <-ctx.Done():
		}
	case <-ctx.Done():
	case <-c.life.ctx.Done():
	}
	stopErr := p.Stop(c.life.ctx, stopBound)
	await(read, outputRest)
	await(written, outputRest)
	switch {
	case finished:
		return out, nil
	case ctx.Err() == nil:
		return nil, &toolsource.CallError{Phase: "call", Kind: toolsource.KindClosed, MayHaveRun: true, Err: toolsource.ErrClosed}
	}
	return nil, c.cut(ctx, p, stopErr)
}

// await waits for a helper, which ends once its pipe is closed. Where closing does not free it, as on
// Windows, it ends with the last process that holds the pipe.
func await(helper <-chan struct{}, most time.Duration) {
	select {
	case <-helper:
	case <-time.After(most):
	}
}

// cut is the error of a command that was ended before it was done.
func (c *command) cut(ctx context.Context, p *procgroup.Process, stopErr error) error {
	e := &toolsource.CallError{Phase: "call", Kind: toolsource.KindTimeout, MayHaveRun: true, Err: context.Cause(ctx)}
	if errors.Is(ctx.Err(), context.Canceled) {
		e.Kind = toolsource.KindCancelled
	}
	if tail := c.stderr(p); tail != "" {
		e.Err = fmt.Errorf("%w; it last said: %s", e.Err, tail)
	}
	if stopErr != nil {
		e.Err = fmt.Errorf("%w; %w", e.Err, stopErr)
	}
	return e
}

func (c *command) stderr(p *procgroup.Process) string { return c.shown(p.Stderr(), stderrTail) }

// shown is the end of what a command said, as an error may show it. text holds Longest bytes more than most
// where it was cut.
func (c *command) shown(text string, most int) string {
	return strings.TrimSpace(valid(c.secrets.Tail(text, most)))
}

// result reads the output of a command that has ended.
func (c *command) result(p *procgroup.Process, out *output) (toolsource.Result, error) {
	code := p.ExitCode()
	if code < 0 || !slices.Contains(c.okCodes, code) {
		return toolsource.Result{}, c.failed(p, code, out)
	}
	text, cut := out.text()
	r := toolsource.Result{Truncated: cut, Meta: map[string]any{"exit_code": int64(code)}}
	switch c.output {
	case "json":
		v, err := specdoc.Decode([]byte(text))
		if cut {
			err = fmt.Errorf("it is longer than max_output, %d bytes", c.maxOutput)
		}
		if err != nil {
			what := c.secrets.Text(err.Error()) // which may repeat a part of the output
			return toolsource.Result{}, &toolsource.CallError{Phase: "result", Kind: toolsource.KindProtocol, MayHaveRun: true, Err: errors.New("the command's output is not JSON: " + what)}
		}
		r.Value = v
	case "lines":
		r.Value = lines(text)
	default:
		r.Value = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	}
	return r, nil
}

// failed is the error of a command that ended badly, with what it said.
func (c *command) failed(p *procgroup.Process, code int, out *output) error {
	what := fmt.Sprintf("exit code %d", code)
	if code < 0 {
		what = fmt.Sprintf("the command ended badly: %v", p.Err())
	}
	said := c.stderr(p)
	if said == "" {
		said = c.shown(out.last(stderrTail+c.secrets.Longest()), min(stderrTail, c.maxOutput))
	}
	if said != "" {
		what += ": " + said
	}
	return &toolsource.ToolError{Tool: c.tool, Result: toolsource.Result{
		Content: []toolsource.Content{{Type: toolsource.ContentText, Text: what}},
		Meta:    map[string]any{"exit_code": int64(code)},
	}}
}

func lines(text string) []any {
	out := []any{}
	for l := range strings.Lines(text) {
		out = append(out, strings.TrimSuffix(strings.TrimSuffix(l, "\n"), "\r"))
	}
	return out
}
