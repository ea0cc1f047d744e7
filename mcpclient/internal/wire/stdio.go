package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/procgroup"
)

const (
	// drainTime is how long what a dead child wrote is still read while others hold its pipe.
	drainTime = 200 * time.Millisecond
	// reapTime is how long the exit code is waited for after the child closed a pipe.
	reapTime = 200 * time.Millisecond
)

// NewStdio makes a transport that starts a child and speaks to it in lines. On Linux the child is killed when
// our process ends without closing it. Errors of its Connect wrap
// toolsource.ErrPermanent if the command cannot be run at all.
func NewStdio(cfg StdioConfig, o Options) Transport {
	return &stdioTransport{cfg: cfg, opts: o}
}

type stdioTransport struct {
	cfg  StdioConfig
	opts Options
	made made
}

// Conn implements Transport.
func (t *stdioTransport) Conn() Conn { return t.made.get() }

// Connect starts the child. ctx bounds the start, not the child's life.
func (t *stdioTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	if err := t.made.begin(ctx); err != nil {
		return nil, err
	}
	path, err := procgroup.LookPath(t.cfg.Command, t.cfg.Env, t.cfg.Dir)
	var proc *procgroup.Process
	if err == nil {
		proc, err = procgroup.Start(procgroup.Cmd{
			Path: path, Args: t.cfg.Args, Env: t.cfg.Env, Dir: t.cfg.Dir, StderrTail: stderrKept, DieWithParent: true,
		})
	}
	if err != nil {
		return nil, spawnError(err, t.opts.Redact)
	}
	c := newStdioConn(proc, t.opts)
	t.made.set(c)
	return c, nil
}

// textError has a text of its own, without secrets, over a cause that may hold some.
type textError struct {
	text  string
	cause error
}

func (e *textError) Error() string { return e.text }
func (e *textError) Unwrap() error { return e.cause }

func redactError(err error, redact func(string) string) error {
	if err == nil || redact == nil {
		return err
	}
	return &textError{redact(err.Error()), err}
}

// spawnError is permanent where trying again cannot help.
func spawnError(err error, redact func(string) string) error {
	for _, hopeless := range []error{exec.ErrNotFound, fs.ErrNotExist, fs.ErrPermission, syscall.ENOEXEC, syscall.ENOTDIR} {
		if errors.Is(err, hopeless) {
			return redactError(fmt.Errorf("%w: %w", toolsource.ErrPermanent, err), redact)
		}
	}
	return redactError(err, redact)
}

// Of standard error twice as much is kept as is shown, so that a secret that the tail begins in the middle
// of is cut away rather than shown in part.
const (
	stderrKept  = 8 << 10
	stderrShown = 4 << 10
)

// ExitError says how a child ended by itself.
type ExitError struct {
	Code   int    // -1: a signal ended it, or it still runs
	Reason string // in words: "exited with code 3"
	Stderr string // tail of its standard error, secrets removed
}

// Error is one line.
func (e *ExitError) Error() string {
	if e.Stderr == "" {
		return "the server " + e.Reason
	}
	lines := strings.FieldsFunc(e.Stderr, func(r rune) bool { return r < ' ' })
	text := strings.Join(lines, " | ")
	if n := len(text) - 400; n > 0 {
		text = "..." + strings.ToValidUTF8(text[n:], "")
	}
	return "the server " + e.Reason + ": " + text
}

// stdioConn is a connection to a child. The SDK's reading goroutine reads the pipe itself; goroutines of
// ours are one that waits for the child, one that drains its standard error, and one that writes while lines
// wait.
type stdioConn struct {
	*core
	life
	proc    *procgroup.Process
	w       lineWriter
	lines   lineReader
	backlog []jsonrpc.Message // of a batch; the reading goroutine's own
}

func newStdioConn(proc *procgroup.Process, o Options) *stdioConn {
	c := &stdioConn{core: newCore(o), life: newLife(), proc: proc}
	c.reuses, c.self = true, c
	c.w.writes(proc.Stdin)
	c.lines.max = c.opts.MaxMessage
	c.lines.reads(proc.Stdout)
	proc.OnExit(func() { c.spawn(c.exited) })
	return c
}

// SessionID implements mcp.Connection: there is none.
func (c *stdioConn) SessionID() string { return "" }

// Stderr implements Conn.
func (c *stdioConn) Stderr() string {
	s := strings.ToValidUTF8(c.redact(c.proc.Stderr()), "\uFFFD")
	if n := len(s) - stderrShown; n > 0 {
		s = strings.ToValidUTF8(s[n:], "")
	}
	return strings.TrimSpace(s)
}

// Write implements mcp.Connection. It returns by the end of ctx even if the child does not read.
func (c *stdioConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	defer c.answered(msg)
	out, err := c.prepare(ctx, msg)
	if errors.Is(err, errSkip) {
		return nil
	}
	if err != nil {
		return reject(err)
	}
	out.text.endLine()
	err = c.w.write(ctx, out.text, out.slot())
	if err == nil {
		c.left(out)
		return nil
	}
	c.abandon(out)
	if ctx.Err() != nil {
		return err
	}
	c.broken()
	err = fmt.Errorf("writing to the server: %w", err)
	if s := out.slot(); s != nil && !s.Sent() {
		err = fmt.Errorf("%w: %w", toolsource.ErrNotReached, err)
	}
	return err
}

// broken ends the connection after a failed write, giving the child a moment to say why.
func (c *stdioConn) broken() {
	c.life.mu.Lock()
	first := !c.failing
	c.failing = true
	c.life.mu.Unlock()
	if first {
		c.spawn(func() { c.finish("closed its standard input") })
	}
}

// Read implements mcp.Connection. What is no message is skipped, logged and counted.
func (c *stdioConn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		if len(c.backlog) > 0 {
			msg := c.backlog[0]
			c.backlog = c.backlog[1:]
			return msg, nil
		}
		line, long, err := c.lines.next()
		if err != nil {
			c.finish("closed its standard output")
			if err := c.Err(); err != nil {
				return nil, err
			}
			return nil, io.EOF
		}
		var msg jsonrpc.Message
		switch {
		case long:
			msg = c.tooLong(line)
		case c.lines.torn && !json.Valid(line): // the child ended while it wrote: that ends the call, not this text
			c.noise.add(&c.opts, line, errTorn)
		case line[0] == '[':
			c.batch(line)
		default:
			msg, _, err = c.receive(line, nil, c.lines.own)
			if msg == nil {
				c.unusable(line, err)
			}
		}
		if msg != nil {
			return msg, nil
		}
	}
}

var errTorn = errors.New("standard output ended in the middle of a line")

// batch takes the members of a batch, as protocol versions up to 2025-03-26 allow them.
func (c *stdioConn) batch(line []byte) {
	n := 0
	err := elements(line, func(e []byte) {
		n++
		msg, _, err := c.receive(e, nil, false)
		if msg != nil {
			c.backlog = append(c.backlog, msg)
		} else {
			c.unusable(e, err)
		}
	})
	if err != nil || n == 0 {
		c.noise.add(&c.opts, line, errNoise)
	}
}

// tooLong fails the call that an over-long line answers.
func (c *stdioConn) tooLong(head []byte) jsonrpc.Message {
	cause := fmt.Errorf("a line of more than %d bytes", c.opts.MaxMessage)
	env, _ := scan(head)
	msg, _, _ := c.malformed(head, env, nil, cause)
	c.noise.add(&c.opts, head, cause)
	return msg
}

// exited ends the connection of a child that has ended, even if others hold its pipe. Whoever reads is given a
// moment to find the pipe's end, which ends the connection as well.
func (c *stdioConn) exited() {
	_ = c.proc.Stdout.SetReadDeadline(time.Now().Add(drainTime))
	t := time.NewTimer(drainTime + drainTime/2) // for the case that nobody reads, or that there are no deadlines
	defer t.Stop()
	select {
	case <-t.C:
		c.finish("ended")
	case <-c.done:
	}
}

// finish ends the connection with the reason that the child's end gives, if there is one soon.
func (c *stdioConn) finish(otherwise string) {
	t := time.NewTimer(reapTime)
	defer t.Stop()
	e := &ExitError{Code: -1, Reason: otherwise + " but still runs"}
	select {
	case <-c.done:
		return
	case <-c.proc.Done():
		select {
		case <-c.proc.Drained():
		case <-c.done:
			return
		case <-t.C:
		}
		e.Code = c.proc.ExitCode()
		e.Reason = fmt.Sprintf("exited with code %d", e.Code)
		if err := c.proc.Err(); e.Code < 0 && err != nil {
			e.Reason = "was ended by a " + err.Error()
		}
	case <-t.C:
	}
	e.Stderr = c.Stderr()
	c.shut(e)
}

// Close implements mcp.Connection. It returns at once; Gone waits. The SDK also calls it after a failed
// write, whose cause is then still to be found.
func (c *stdioConn) Close() error {
	c.life.mu.Lock()
	failing := c.failing
	c.life.mu.Unlock()
	if !failing {
		c.shut(nil)
	}
	return nil
}

func (c *stdioConn) shut(cause error) {
	if !c.end(cause) {
		return
	}
	c.proc.HangUp()
	_ = c.w.fail(errClosed)
	go c.reap()
}

var errClosed = errors.New("wire: the connection is closed")

// reap ends the child and all that belongs to it, and then waits for our own goroutines.
func (c *stdioConn) reap() {
	defer c.vanish()
	if err := c.proc.Stop(context.Background(), c.opts.CloseBound); err != nil {
		c.opts.Logger.Warn("the server's processes did not all end", "err", redactError(err, c.opts.Redact))
	}
	c.wg.Wait()
	c.w.wg.Wait()
}
