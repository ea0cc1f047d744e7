// Package mcpclient connects to MCP servers: over standard input and output of a child, streamable HTTP and
// the older HTTP transport with events. It is the only package that knows the MCP SDK.
//
//	srv, err := mcpclient.New(mcpclient.ServerConfig{ID: "files", Command: "npx", Args: []string{"-y", "..."}}, nil)
//	defer srv.Close()
//	listing, err := srv.List(ctx)
//	res, err := srv.Call(ctx, "read_file", map[string]any{"path": "go.mod"}, mcpclient.CallOptions{})
//
// A Server outlives its sessions: it connects when first needed, and again when a session is lost, see
// toolsource.Bridge. The SDK keeps the protocol (handshake, ids, cancellation, requests of the server);
// listings and results are read here from the bytes that the server sent, so that property order, absent
// hints, large integers and unknown content survive, and one odd tool costs only itself.
//
// A child starts in a process group of its own, with a small base environment beside what its
// configuration declares, in the directory that its configuration names, else in Options.Workspace, and in
// the process's own only where neither is known. Its command is looked up on its own PATH.
//
// # Failures
//
// Calls fail with *toolsource.CallError or *toolsource.ToolError, connecting with *ConnectError, listings
// of single tools with *ToolProblem, configurations with *ConfigError. What a server is configured with
// under Env, but for PATH, HOME and the like, under Headers and under Secrets never shows in errors, logs and
// the tail of standard error, from four bytes on, nor does what looks like a credential, as "Bearer x" and
// "token=x".
//
// Everything exported is safe for concurrent use.
package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/internal/wire"
)

// Server is one MCP server and the session with it.
type Server struct {
	opt       Options
	log       *slog.Logger
	redact    redactor
	catalogue *catalogue
	id        string

	attempts atomic.Uint64 // to connect, so far

	life    context.Context // of the worker
	end     context.CancelFunc
	running sync.WaitGroup // the worker, and what else is not a Bridge's

	mu      sync.Mutex
	closed  bool
	line    *line     // to which calls go
	old     []*line   // which updates have replaced, and which still have calls
	conn    wire.Conn // of the last attempt; nil: none
	current *session  // the last that was ready
	waits   []*firstWait
	gate    *gate     // of the server's requests; nil: there was none yet
	crowd   *audience // who hears what the server tells; nil: nobody yet
}

// New makes a server from its configuration. It does no I/O; all that is wrong with the configuration is
// in the error, one *ConfigError each.
func New(cfg ServerConfig, opts *Options) (*Server, error) {
	s := &Server{id: cfg.ID}
	s.catalogue = newCatalogue(&s.running, func() { s.work(s.life) })
	if opts != nil {
		s.opt = *opts
	}
	set, err := s.newSettings(cfg)
	if err != nil {
		return nil, err
	}
	s.log = s.opt.Logger
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.log = s.log.With("server", s.id)
	s.redact.configure(&set.cfg)
	s.life, s.end = context.WithCancel(context.Background())
	s.line = s.newLine(set)
	return s, nil
}

func sourceName(id string) string { return "mcp:" + id }

// ID is the configuration's.
func (s *Server) ID() string { return s.id }

// Config is the configuration with its defaults filled in.
func (s *Server) Config() ServerConfig { return s.settings().cfg }

// Limits are those that the configuration sets for a tool, or for the server. Zero fields are not set.
func (s *Server) Limits(wireName string) toolsource.Limits {
	set := s.settings()
	return set.cfg.Tools[wireName].Limits.Or(set.own)
}

// connect is a Bridge's dial.
func (s *Server) connect(ctx context.Context, l *line) (*session, error) {
	sess, err := s.dial(ctx, l)
	s.mu.Lock()
	if err == nil && s.line == l {
		s.current = sess
	}
	s.mu.Unlock()
	s.catalogue.poke() // the next listing may be due at another time
	if err == nil {
		s.greet(sess)
	}
	return sess, err
}

// firstWait is somebody who waits for a listing over a line that may have no session yet.
type firstWait struct {
	line   *line
	failed func(error) // does not block
}

// connectFailed frees those who wait for the first listing over a line, once Status shows the failure.
func (s *Server) connectFailed(l *line, err error) {
	s.mu.Lock()
	waits := slices.Clone(s.waits)
	s.mu.Unlock()
	for _, w := range waits {
		if w.line == l {
			w.failed(err)
		}
	}
}

func (s *Server) setConn(c wire.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = c
}

// live is the session that calls would go to; nil: there is none now.
func (s *Server) live() *session {
	s.mu.Lock()
	sess := s.current
	if sess != nil && sess.line != s.line {
		sess = nil
	}
	s.mu.Unlock()
	if sess == nil || sess.ended() {
		return nil
	}
	return sess
}

// onFailure has failed called with the next errors of connecting over a line, until stop.
func (s *Server) onFailure(l *line, failed func(error)) (stop func()) {
	w := &firstWait{l, failed}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = append(s.waits, w)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waits = slices.DeleteFunc(s.waits, func(o *firstWait) bool { return o == w })
		if len(s.waits) == 0 {
			s.waits = nil
		}
	}
}

// Start connects, if there is no session yet, and lists. It returns when there is a session, when an
// attempt failed, or when ctx ends; the server goes on trying by itself.
func (s *Server) Start(ctx context.Context) error {
	_, err := s.list(ctx)
	return err
}

// List lists the server's tools. It connects if there is no session, and returns the error of the attempt
// if that fails, while the server goes on trying by itself: Watch tells when it succeeds. A listing that is
// two seconds old or less, with no change announced since, is not asked for again.
//
// A lazy server that was not connected to yet is not connected to for this if Options.Cache knows its
// tools: these are then listed, and Watch tells when the server, once it is there, has others.
func (s *Server) List(ctx context.Context) (Listing, error) {
	if l, ok := s.lazily(ctx); ok {
		return l, nil
	}
	return s.list(ctx)
}

func (s *Server) list(ctx context.Context) (Listing, error) {
	if ctx.Err() == nil && s.live() != nil {
		if l, ok := s.catalogue.fresh(); ok {
			return l, nil // without waiting for a place
		}
	}
	line := s.enter()
	defer s.leave(line)
	limit := line.set.Load().cfg.Connect
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := s.onFailure(line, func(err error) { cancel(attemptFailed{err}) })
	defer stop()
	o := s.listOptions(line)
	l, err := toolsource.Do(ctx, line.bridge, o, func(ctx context.Context, sess *session) (Listing, error) {
		if l, ok := s.catalogue.fresh(); ok {
			return l, nil
		}
		ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer to tools/list within %v: %w", limit, context.DeadlineExceeded))
		defer cancel()
		return s.listOn(ctx, sess)
	})
	if err == nil {
		return l, nil
	}
	s.catalogue.owe()
	var failed attemptFailed
	if errors.As(context.Cause(ctx), &failed) {
		return Listing{}, failed.err
	}
	return Listing{}, s.listError(err)
}

// listOptions bound a listing by the limit of connecting, once for the session and once for the listing:
// what a call may take has nothing to do with it.
func (s *Server) listOptions(l *line) toolsource.CallOptions {
	most := 2 * l.set.Load().cfg.Connect
	return toolsource.CallOptions{Tool: "tools/list", Limit: most, Silence: most, Replay: toolsource.ReplayAlways}
}

// attemptFailed is why a wait for a listing was given up.
type attemptFailed struct{ err error }

func (a attemptFailed) Error() string { return a.err.Error() }

// Last is the last listing and does no I/O; ok is false if there was none yet.
func (s *Server) Last() (l Listing, ok bool) {
	l, at, _ := s.catalogue.last()
	return l, !at.IsZero()
}

// Watch has changed called after each change of what List would return, the first listing and those of
// new sessions included, after an update, and when the server is given up for now or is back, until stop.
// Calls come one after another on a goroutine of the server, which they must not hold; one that is under
// way when stop is called may still end after it. Several changes may be told as one, and none is lost.
func (s *Server) Watch(changed func()) (stop func()) { return s.catalogue.watch(changed) }

// Reconnect ends the pause before the next attempt of a server that is down.
func (s *Server) Reconnect() {
	l := s.enter()
	defer s.leave(l)
	l.bridge.Reconnect()
}

// Status is how the server is. It does no I/O and does not block.
func (s *Server) Status() toolsource.SourceStatus {
	s.mu.Lock()
	line, conn, sess := s.line, s.conn, s.current
	way, set := line.way, line.set.Load()
	s.mu.Unlock()
	b := line.bridge.Status()
	l, at, stale := s.catalogue.last()
	if e := set.cached.peek(); at.IsZero() && e != nil {
		l, at = e.listing, e.at
	}
	if way == "" {
		way = set.cfg.Transport
	}
	st := toolsource.SourceStatus{
		Source: sourceName(s.id), Kind: "mcp", State: b.State, Since: b.Since, Err: s.redact.err(b.Err),
		Tools: len(l.Tools), Listed: at, Stale: stale, Problems: l.Problems,
		InFlight: b.InFlight, Queued: b.Queued, QueueTime: b.QueueTime, Abandoned: b.Abandoned,
		Attempts: b.Attempts, NextTry: b.NextTry, Epoch: b.Epoch,
		Transport: way, Server: s.id,
	}
	if sess != nil && sess.line == line {
		st.Era, st.ServerInfo = sess.era, s.redact.text(sess.info)
	}
	if conn != nil {
		st.Stderr = conn.Stderr()
	}
	return st
}

// Close ends the calls in flight, the session and the child's whole process group. It returns within
// CloseBound; what has not ended by then is left to itself and makes an error. Servers may be closed side
// by side, and more than once.
func (s *Server) Close() error {
	bound, err := s.closeLines()
	s.end()
	s.catalogue.close()
	return errors.Join(s.redact.err(err), s.wait(bound))
}

// wait waits for what the Bridge does not own.
func (s *Server) wait(bound time.Time) error {
	left := make(chan struct{})
	go func() {
		s.running.Wait()
		close(left)
	}()
	ctx, cancel := context.WithDeadline(context.Background(), bound)
	defer cancel()
	select {
	case <-left:
		return nil
	case <-ctx.Done():
		return &toolsource.SourceError{Source: sourceName(s.id), Op: "close", Err: errors.New("an attempt to connect, a listing, a watcher or the schema cache has not ended in time")}
	}
}

// Format writes the server's id and how it is reached, and none of its secrets.
func (s *Server) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// String is what Format writes.
func (s *Server) String() string { return s.settings().cfg.String() }
