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
// under Env and Headers never shows in errors, logs and the tail of standard error, from four bytes on.
//
// Everything exported is safe for concurrent use.
package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/childenv"
	"github.com/toolsource/toolsource/mcpclient/internal/wire"
)

// Server is one MCP server and the session with it.
type Server struct {
	cfg       ServerConfig      // complete
	own       toolsource.Limits // as configured, without defaults
	opt       Options
	log       *slog.Logger
	redact    redactor
	env       []string // of the child
	bridge    *toolsource.Bridge[*session]
	catalogue *catalogue

	attempts atomic.Uint64 // to connect, so far

	life    context.Context // of the worker
	end     context.CancelFunc
	working sync.Once
	running sync.WaitGroup // the worker, and what is left of attempts to connect

	mu      sync.Mutex
	conn    wire.Conn // of the last attempt; nil: none
	current *session  // the last that was ready
	failing map[*func(error)]struct{}
}

// New makes a server from its configuration. It does no I/O; all that is wrong with the configuration is
// in the error, one *ConfigError each.
func New(cfg ServerConfig, opts *Options) (*Server, error) {
	own := toolsource.Limits{Silence: cfg.Silence, Ceiling: cfg.Ceiling}
	cfg, err := cfg.resolved()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, own: own, catalogue: newCatalogue(), failing: map[*func(error)]struct{}{}}
	if opts != nil {
		s.opt = *opts
	}
	s.log = s.opt.Logger
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.log = s.log.With("server", cfg.ID)
	s.redact = newRedactor(&cfg)
	if cfg.Transport == TransportStdio {
		s.env = childenv.Of(cfg.Env, s.opt.LookupEnv)
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.bridge = toolsource.NewBridge(s.connect, &toolsource.BridgeOptions{
		Name:        sourceName(cfg.ID),
		Connect:     cfg.Connect,
		Jitter:      s.opt.Jitter,
		Silence:     cfg.Silence,
		Ceiling:     cfg.Ceiling,
		MaxInFlight: cfg.MaxInFlight,
		Keepalive:   cfg.Keepalive,
		IdleStop:    cfg.IdleStop,
		MaxLifetime: cfg.MaxLifetime,
		CloseBound:  cfg.CloseBound,
		Logger:      s.log,
	})
	return s, nil
}

func sourceName(id string) string { return "mcp:" + id }

// ID is the configuration's.
func (s *Server) ID() string { return s.cfg.ID }

// Config is the configuration with its defaults filled in.
func (s *Server) Config() ServerConfig { return s.cfg }

// Limits are those that the configuration sets for a tool, or for the server. Zero fields are not set.
func (s *Server) Limits(wireName string) toolsource.Limits {
	return s.cfg.Tools[wireName].Limits.Or(s.own)
}

// connect is the Bridge's dial. A failure also frees those who wait for the first listing.
func (s *Server) connect(ctx context.Context) (*session, error) {
	sess, err := s.dial(ctx)
	s.mu.Lock()
	if err == nil {
		s.current = sess
	}
	var tell []*func(error)
	if err != nil {
		for f := range s.failing {
			tell = append(tell, f)
		}
	}
	s.mu.Unlock()
	for _, f := range tell {
		(*f)(err)
	}
	return sess, err
}

func (s *Server) setConn(c wire.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = c
}

// onFailure has f called with the next errors of connecting, until stop. f does not block.
func (s *Server) onFailure(f func(error)) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing[&f] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.failing, &f)
	}
}

// Start connects, if there is no session yet, and lists. It returns when there is a session, when an
// attempt failed, or when ctx ends; the server goes on trying by itself.
func (s *Server) Start(ctx context.Context) error {
	_, err := s.List(ctx)
	return err
}

// List lists the server's tools. It connects if there is no session, and returns the error of the attempt
// if that fails, while the server goes on trying by itself: Watch tells when it succeeds. A listing that is
// two seconds old or less, with no change announced since, is not asked for again.
func (s *Server) List(ctx context.Context) (Listing, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := s.onFailure(func(err error) { cancel(attemptFailed{err}) })
	defer stop()
	o := toolsource.CallOptions{Tool: "tools/list", Replay: toolsource.ReplayAlways}
	l, err := toolsource.Do(ctx, s.bridge, o, func(ctx context.Context, sess *session) (Listing, error) {
		if l, ok := s.catalogue.fresh(); ok {
			return l, nil
		}
		ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.Connect, fmt.Errorf("no answer to tools/list within %v: %w", s.cfg.Connect, context.DeadlineExceeded))
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

// attemptFailed is why a wait for a listing was given up.
type attemptFailed struct{ err error }

func (a attemptFailed) Error() string { return a.err.Error() }

// Last is the last listing and does no I/O; ok is false if there was none yet.
func (s *Server) Last() (l Listing, ok bool) {
	l, at, _ := s.catalogue.last()
	return l, !at.IsZero()
}

// Watch has changed called after each change of what List would return, the first listing and those of
// new sessions included, until stop. Calls come one after another on a goroutine of the server, which they
// must not hold; one that is under way when stop is called may still end after it. Several changes may be
// told as one, and none is lost.
func (s *Server) Watch(changed func()) (stop func()) { return s.catalogue.watch(changed) }

func (s *Server) startWorker() {
	s.working.Do(func() { s.running.Go(func() { s.work(s.life) }) })
}

// Reconnect ends the pause before the next attempt of a server that is down.
func (s *Server) Reconnect() { s.bridge.Reconnect() }

// Status is how the server is. It does no I/O and does not block.
func (s *Server) Status() toolsource.SourceStatus {
	b := s.bridge.Status()
	l, at, stale := s.catalogue.last()
	st := toolsource.SourceStatus{
		Source: sourceName(s.cfg.ID), Kind: "mcp", State: b.State, Since: b.Since, Err: s.redact.err(b.Err),
		Tools: len(l.Tools), Listed: at, Stale: stale, Problems: l.Problems,
		InFlight: b.InFlight, Queued: b.Queued, QueueTime: b.QueueTime, Abandoned: b.Abandoned,
		Attempts: b.Attempts, NextTry: b.NextTry, Epoch: b.Epoch,
		Transport: s.cfg.Transport, Server: s.cfg.ID,
	}
	s.mu.Lock()
	conn, sess := s.conn, s.current
	s.mu.Unlock()
	if sess != nil {
		st.Era, st.ServerInfo = sess.era, sess.info
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
	bound := time.Now().Add(s.cfg.CloseBound)
	err := s.bridge.Close()
	s.end()
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
		return &toolsource.SourceError{Source: sourceName(s.cfg.ID), Op: "close", Err: fmt.Errorf("an attempt to connect has not ended within %v", s.cfg.CloseBound)}
	}
}

// Format writes the server's id and how it is reached, and none of its secrets.
func (s *Server) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.cfg.String()) }

// String is what Format writes.
func (s *Server) String() string { return s.cfg.String() }
