package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/procgroup"
	"github.com/toolsource/toolsource/mcpclient/internal/wire"
)

// session is one connection to the server, from its handshake to its end.
type session struct {
	srv  *Server
	seq  uint64 // of the attempts to connect, this is the one
	cs   *mcp.ClientSession
	conn wire.Conn
	era  string // revision that was agreed on
	info string // name and version that the server gives itself

	live    atomic.Bool // conn and cs are set; until then changes of the list do not count, as it is listed anyway
	closing atomic.Bool // Close was called: what then fails was not lost
	reports *reports
	tools   atomic.Pointer[map[string]toolFacts] // what the last listing says, by wire name
}

// toolFacts is what a call has to know of its tool.
type toolFacts struct {
	unwrap bool // structured content {"result": x} means x
}

func (s *session) Done() <-chan struct{} { return s.conn.Done() }

func (s *session) Err() error {
	if err := s.conn.Err(); err != nil {
		return s.srv.redact.err(err)
	}
	return io.EOF
}

// Close ends the connection first: the SDK's own Close waits for calls and handlers, which then end.
func (s *session) Close(ctx context.Context) error {
	s.closing.Store(true)
	_ = s.conn.Close()
	closed := make(chan struct{})
	go func() { // its owner is this function, as long as ctx lets it wait
		defer close(closed)
		_ = s.cs.Close()
	}()
	err := s.conn.Gone(ctx)
	select {
	case <-closed:
	case <-ctx.Done():
		err = errors.Join(err, ctx.Err())
	}
	return s.srv.redact.err(err)
}

// Ping asks whether the server is alive. Any answer says so, a refusal too.
func (s *session) Ping(ctx context.Context) error {
	if s.era >= Era20260728 {
		return nil // there is no ping any more
	}
	err := s.cs.Ping(ctx, nil)
	var answer *jsonrpc.Error
	if err == nil || errors.As(err, &answer) && answer.Code != codeRejected {
		return nil
	}
	return s.srv.redact.err(err)
}

// The SDK's codes for requests that got no answer: its connection refused to send them, or is closing. A
// server that answers with one of them is not heard, but for a call, where the slot brings the answer.
const (
	codeClosing       = -32003
	codeServerClosing = -32004
	codeRejected      = -32005
)

// lists reports what the last listing says of a tool.
func (s *session) lists(name string) (toolFacts, bool) {
	if m := s.tools.Load(); m != nil {
		f, ok := (*m)[name]
		return f, ok
	}
	return toolFacts{}, false
}

func (s *session) setTools(l Listing) {
	m := make(map[string]toolFacts, len(l.Tools))
	for _, t := range l.Tools {
		m[t.Name] = toolFacts{unwrap: isEnvelope(t.OutputSchema)}
	}
	s.tools.Store(&m)
}

// list asks for the whole listing.
func (s *session) list(ctx context.Context) (Listing, error) {
	init := s.cs.InitializeResult()
	if init == nil || init.Capabilities == nil || init.Capabilities.Tools == nil {
		s.setTools(Listing{})
		return Listing{}, nil
	}
	r := &listReader{server: s.srv.cfg.ID, maxTools: s.srv.cfg.MaxTools, maxPages: s.srv.cfg.MaxPages}
	l, err := r.readAll(ctx, s.page)
	if err == nil {
		s.setTools(l)
	}
	return l, err
}

func (s *session) page(ctx context.Context, cursor string) (json.RawMessage, error) {
	slot := &wire.Slot{}
	res, err := s.cs.ListTools(wire.WithSlot(ctx, slot), &mcp.ListToolsParams{Cursor: cursor})
	return s.raw(ctx, slot, res, err)
}

// raw is the raw result of a request that was made with a slot.
func (s *session) raw(ctx context.Context, slot *wire.Slot, res any, err error) (json.RawMessage, error) {
	var got *wire.Slot
	if errors.As(err, &got) && got == slot {
		switch {
		case slot.RPC != nil:
			return nil, s.srv.rpcError(slot.RPC)
		case slot.Bad != nil:
			return nil, &toolsource.CallError{Phase: "call", Kind: toolsource.KindProtocol, MayHaveRun: true,
				Remedy: tellAuthor, Err: s.srv.redact.err(slot.Bad)}
		}
		return slot.Raw, nil
	}
	s.conn.Forget(slot)
	if err == nil { // the SDK decoded it after all: slower, and less exact, but right
		return json.Marshal(res)
	}
	return nil, s.failure(ctx, slot, err)
}

// failure says why a request has no answer.
func (s *session) failure(ctx context.Context, slot *wire.Slot, err error) error {
	if ctx.Err() != nil { // the caller left; nobody reads this but the Bridge
		return s.unsent(slot, context.Cause(ctx))
	}
	var st *wire.StatusError
	if errors.As(err, &st) {
		e := s.srv.statusError(st)
		if errors.Is(err, toolsource.ErrSessionLost) {
			e.Kind, e.Err = toolsource.KindSessionLost, errors.Join(toolsource.ErrNotReached, e.Err)
		}
		return e
	}
	if s.ended(ctx) {
		if s.closing.Load() {
			return s.unsent(slot, context.Canceled) // the Bridge knows why
		}
		return s.unsent(slot, fmt.Errorf("%w: %w", toolsource.ErrSessionLost, s.Err()))
	}
	e := &toolsource.CallError{Phase: "call", Kind: toolsource.KindOutcomeUnknown, MayHaveRun: true, Err: s.srv.redact.err(err)}
	switch {
	case errors.Is(err, toolsource.ErrNeedsAuth):
		e.Kind, e.MayHaveRun, e.Remedy = toolsource.KindNeedsAuth, false, signIn
	case errors.Is(s.unsent(slot, err), toolsource.ErrNotReached):
		return s.srv.redact.err(s.unsent(slot, err))
	case errors.Is(err, toolsource.ErrProtocol):
		e.Kind, e.Remedy = toolsource.KindProtocol, tellAuthor
	}
	return e
}

// lastWords is how long a connection that failed has to say why.
const lastWords = 500 * time.Millisecond

// ended reports whether the connection has ended. A child's is given a moment, since a pipe that breaks is
// seen before the exit that broke it.
func (s *session) ended(ctx context.Context) bool {
	select {
	case <-s.conn.Done():
		return true
	default:
	}
	if s.srv.cfg.Transport != TransportStdio {
		return false
	}
	t := time.NewTimer(lastWords)
	defer t.Stop()
	select {
	case <-s.conn.Done():
		return true
	case <-ctx.Done():
	case <-t.C:
	}
	return false
}

func (s *session) unsent(slot *wire.Slot, err error) error {
	if slot.Sent() || errors.Is(err, toolsource.ErrNotReached) {
		return err
	}
	return fmt.Errorf("%w: %w", toolsource.ErrNotReached, err)
}

// reports leads progress to the calls that wait for it.
type reports struct {
	next atomic.Uint64
	mu   sync.Mutex
	to   map[string]context.Context
}

func newReports() *reports { return &reports{to: map[string]context.Context{}} }

func (r *reports) add(ctx context.Context) (token string) {
	token = strconv.FormatUint(r.next.Add(1), 10)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to[token] = ctx
	return token
}

func (r *reports) remove(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.to, token)
}

func (r *reports) deliver(token string, p toolsource.Progress) {
	r.mu.Lock()
	ctx := r.to[token]
	r.mu.Unlock()
	if ctx != nil {
		toolsource.ReportProgress(ctx, p)
	}
}

// dial makes a session: start or connect, shake hands, list. It returns soon after ctx ends; whatever
// comes later is closed. A server that refuses the protocol revision and names others is asked again, once,
// for the best that both know.
func (s *Server) dial(ctx context.Context) (*session, error) {
	s.startWorker()
	sess, err := s.handshake(ctx, s.era())
	var rpc *RPCError
	if errors.As(err, &rpc) && ctx.Err() == nil {
		if other := s.otherEra(rpc); other != "" {
			sess, err = s.handshake(ctx, other)
		}
	}
	if err != nil {
		return nil, err
	}
	l, err := sess.list(ctx)
	if err != nil {
		err = s.connectError(ctx, "tools/list", sess, err)
		s.running.Go(func() { _ = sess.cs.Close() })
		return nil, err
	}
	s.catalogue.set(l, sess)
	return sess, nil
}

// handshake makes a connection and initialises it.
func (s *Server) handshake(ctx context.Context, era string) (*session, error) {
	sess := &session{srv: s, seq: s.attempts.Add(1), reports: newReports()}
	t, err := s.transport(sess)
	if err != nil {
		return nil, err
	}
	return sess, s.initialize(ctx, sess, t, era)
}

// initialize makes a session of a transport.
func (s *Server) initialize(ctx context.Context, sess *session, t wire.Transport, era string) error {
	type connected struct {
		cs  *mcp.ClientSession
		err error
	}
	client := mcp.NewClient(s.implementation(), &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	done := make(chan connected, 1) // room for the one result, so that it can come late
	s.running.Go(func() {
		cs, err := client.Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: era})
		done <- connected{cs, err}
	})
	var c connected
	select {
	case c = <-done:
	case <-ctx.Done(): // a connection that comes later is closed by the SDK, since the handshake then fails
		c.err = context.Cause(ctx)
	}
	sess.conn = t.Conn()
	s.setConn(sess.conn)
	if c.err != nil {
		return s.connectError(ctx, "initialize", sess, c.err)
	}
	sess.cs = c.cs
	sess.describe()
	sess.live.Store(true)
	return nil
}

// otherEra is the newest revision that a refusal of ours offers and that we know; "": none.
func (s *Server) otherEra(refusal *RPCError) string {
	var data struct{ Supported []string }
	if json.Unmarshal(refusal.Data, &data) != nil {
		return ""
	}
	asked := s.era()
	for _, era := range eras {
		if era != asked && slices.Contains(data.Supported, era) {
			return era
		}
	}
	return ""
}

func (s *session) describe() {
	if init := s.cs.InitializeResult(); init != nil {
		s.era = init.ProtocolVersion
		if i := init.ServerInfo; i != nil {
			s.info = i.Name
			if i.Version != "" {
				s.info += " " + i.Version
			}
		}
	}
}

// connectError ends what there is of a session and says why there is none.
func (s *Server) connectError(ctx context.Context, step string, sess *session, err error) error {
	e := &ConnectError{Server: s.cfg.ID, Step: step, Err: err}
	var st *wire.StatusError
	var rpc *jsonrpc.Error
	var call *toolsource.CallError
	answered := errors.As(err, &rpc) && rpc.Code != codeRejected && rpc.Code != codeClosing && rpc.Code != codeServerClosing
	tail := ""
	if conn := sess.conn; conn != nil {
		if !answered && sess.ended(ctx) && conn.Err() != nil {
			e.Err = conn.Err() // with the tail of standard error
		} else {
			tail = conn.Stderr()
		}
		s.bury(conn)
	}
	switch {
	case errors.As(err, &call) && call.Err != nil:
		e.Err = call.Err
	case errors.As(err, &st):
		e.Err = s.exportStatus(st)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.Err = fmt.Errorf("no answer to %s within %v: %w", step, s.cfg.Connect, context.DeadlineExceeded)
		e.Remedy = "raise the connect limit, or see why the server does not answer"
		if step == "initialize" && s.cfg.Transport == TransportStdio {
			e.Remedy += "; is it an MCP server on stdio?"
		}
	case answered:
		e.Err = &RPCError{Code: rpc.Code, Message: s.redact.text(rpc.Message), Data: rpc.Data}
	}
	if tail != "" {
		e.Err = fmt.Errorf("%w; its standard error ends: %s", e.Err, tail)
	}
	e.Err = s.redact.err(e.Err)
	e.classify()
	return e
}

// bury ends a connection, behind the caller's back but not behind Close's.
func (s *Server) bury(conn wire.Conn) {
	_ = conn.Close()
	s.running.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.cfg.CloseBound)
		defer cancel()
		_ = conn.Gone(ctx)
	})
}

// era is the revision to ask for. Without one in the configuration it is the newest that is spoken by
// servers of every age.
func (s *Server) era() string {
	if s.cfg.Era == EraAuto {
		return Era20251125
	}
	return s.cfg.Era
}

func (s *Server) implementation() *mcp.Implementation {
	i := &mcp.Implementation{Name: s.opt.ClientName, Version: s.opt.ClientVersion}
	if i.Name == "" {
		i.Name = "toolsource"
	}
	if i.Version == "" {
		i.Version = "0"
	}
	return i
}

// transport makes the connection for one session.
func (s *Server) transport(sess *session) (wire.Transport, error) {
	o := wire.Options{
		Logger:     s.log,
		MaxMessage: s.cfg.MaxMessage,
		CloseBound: s.cfg.CloseBound,
		Redact:     s.redact.text,
		Progress:   sess.reports.deliver,
		Notify: func(method string, _ json.RawMessage) {
			if method == "notifications/tools/list_changed" && sess.live.Load() {
				s.catalogue.announce(sess)
			}
		},
	}
	switch s.cfg.Transport {
	case TransportStdio:
		c, err := s.child()
		if err != nil {
			return nil, err
		}
		return wire.NewStdio(c, o), nil
	case TransportSSE:
		return wire.NewSSE(s.http(), o), nil
	}
	return wire.NewHTTP(s.http(), o), nil
}

// child resolves the command on the child's own PATH.
func (s *Server) child() (wire.StdioConfig, error) {
	c := wire.StdioConfig{Args: s.cfg.Args, Env: s.env, Dir: expandHome(s.cfg.dir(s.opt.Workspace), s.env)}
	permanent := func(err error, remedy string) error {
		return &ConnectError{Server: s.cfg.ID, Step: "start", Remedy: remedy, Err: s.redact.err(err), kinds: []error{toolsource.ErrPermanent}}
	}
	if c.Dir != "" {
		if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
			return c, permanent(fmt.Errorf("its working directory %s is no folder", c.Dir), "create it, or set another")
		}
	}
	file, err := procgroup.LookPath(expandHome(s.cfg.Command, s.env), s.env, c.Dir)
	if err != nil {
		return c, permanent(err, "install it, give its full path as command, or put its folder into PATH in env")
	}
	c.Command = file
	return c, nil
}

func (s *Server) http() wire.HTTPConfig {
	headers := http.Header{}
	for name, v := range s.cfg.Headers {
		headers.Set(name, v.Reveal())
	}
	return wire.HTTPConfig{
		URL:       s.cfg.URL,
		Headers:   func(context.Context) (http.Header, error) { return headers, nil },
		OAuth:     s.opt.OAuth,
		Transport: s.opt.HTTPTransport,
	}
}
