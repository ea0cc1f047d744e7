package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/internal/wire"
)

// dial makes a session: start or connect, shake hands, list. It returns soon after ctx ends; whatever
// comes later is closed.
func (s *Server) dial(ctx context.Context, l *line) (*session, error) {
	if err := s.awaitTurn(ctx, l); err != nil {
		return nil, err
	}
	sess, err := s.reach(ctx, l, l.set.Load())
	if err != nil {
		return nil, err
	}
	listing, err := sess.list(ctx)
	if err != nil {
		err = s.connectError(ctx, "tools/list", sess, err)
		s.running.Go(func() { _ = sess.cs.Close() })
		return nil, err
	}
	s.mu.Lock()
	l.way = sess.way
	s.mu.Unlock()
	s.takeIn(listing, sess)
	return sess, nil
}

// maxHoldOff bounds what a server can ask for.
const maxHoldOff = 10 * time.Minute

// holdOff takes in that a server asked not to be tried for a while.
func (s *Server) holdOff(l *line, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.notYet = time.Now().Add(min(wait, maxHoldOff))
}

// awaitTurn waits until the server may be tried again.
func (s *Server) awaitTurn(ctx context.Context, l *line) error {
	s.mu.Lock()
	wait := time.Until(l.notYet)
	s.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return &ConnectError{Server: s.id, Step: "start", Err: fmt.Errorf("the server asked not to be tried for another %v", wait.Round(time.Second)), Remedy: "wait"}
	}
}

// reach tries the transports in their order until there is a session. Only a refusal that says that this
// is the wrong transport leads to the next, and only until the server was connected to for the first time.
func (s *Server) reach(ctx context.Context, l *line, set *settings) (*session, error) {
	s.mu.Lock()
	ways := set.ways
	if l.way != "" {
		ways = []string{l.way}
	}
	s.mu.Unlock()
	var failed []error
	for i, way := range ways {
		sess, err := s.negotiate(ctx, attemptOf{l, set, way})
		if err == nil {
			return sess, nil
		}
		failed = append(failed, err)
		if i+1 == len(ways) || ctx.Err() != nil || !wrongTransport(way, err) {
			break
		}
		s.log.Debug("trying the other transport", "err", err)
	}
	return nil, s.reachError(ways, failed)
}

// wrongTransport reports whether an error says that the endpoint does not speak a transport.
func wrongTransport(way string, err error) bool {
	var st *StatusError
	if !errors.As(err, &st) {
		return false
	}
	switch st.Status {
	case 400, 404, 405:
		return true
	case 200: // an answer that is no stream of events
		return way == TransportSSE
	}
	return false
}

// reachError is the one error of an attempt over one or both transports, streamable HTTP first.
func (s *Server) reachError(ways []string, failed []error) error {
	if len(failed) == 1 {
		return failed[0]
	}
	if ways[0] == TransportSSE {
		slices.Reverse(failed)
	}
	e := &ConnectError{Server: s.id, Step: "initialize"}
	causes := make([]error, 2)
	for i, err := range failed {
		causes[i] = err
		var ce *ConnectError
		if errors.As(err, &ce) {
			causes[i], e.Remedy = ce.Err, ce.Remedy
		}
		for _, kind := range []error{toolsource.ErrNeedsAuth, toolsource.ErrForbidden} {
			if errors.Is(err, kind) {
				e.kinds = append(e.kinds, kind)
			}
		}
	}
	if errors.Is(failed[0], toolsource.ErrPermanent) && errors.Is(failed[1], toolsource.ErrPermanent) {
		e.kinds = append(e.kinds, toolsource.ErrPermanent)
	}
	e.Err = bothFailed{fmt.Sprintf("over streamable HTTP: %v; over the older transport with events: %v", causes[0], causes[1]), causes}
	return e
}

// bothFailed has the text of two causes.
type bothFailed struct {
	text   string
	causes []error
}

func (b bothFailed) Error() string   { return b.text }
func (b bothFailed) Unwrap() []error { return b.causes }

// attemptOf is what a session is to be made of.
type attemptOf struct {
	line *line
	set  *settings
	way  string
}

// handshake makes a connection and initialises it. The session is there with an error too, unless the
// connection could not even be tried.
func (s *Server) handshake(ctx context.Context, a attemptOf, era string) (*session, error) {
	sess := &session{srv: s, line: a.line, set: a.set, way: a.way, seq: s.attempts.Add(1)}
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
	done := make(chan connected, 1) // room for the one result, so that it can come late
	s.running.Go(func() {
		cs, err := sess.set.client.Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: era})
		done <- connected{cs, err}
	})
	var c connected
	select {
	case c = <-done:
		if c.err != nil && ctx.Err() != nil {
			c.err = context.Cause(ctx)
		}
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
	e := &ConnectError{Server: s.id, Step: step, Err: err}
	cfg := &sess.set.cfg
	var st *wire.StatusError
	var rpc *jsonrpc.Error
	var call *toolsource.CallError
	answered := errors.As(err, &rpc) && rpc.Code != codeRejected && rpc.Code != codeClosing && rpc.Code != codeServerClosing
	tail := ""
	if conn := sess.conn; conn != nil {
		if !answered && sess.over(ctx) && conn.Err() != nil {
			e.Err = conn.Err() // with the tail of standard error
		} else {
			tail = conn.Stderr()
		}
		s.bury(conn, cfg.CloseBound)
	}
	switch {
	case errors.As(err, &call) && call.Err != nil:
		e.Err = call.Err
	case errors.As(err, &st):
		e.Err = s.exportStatus(st)
		if st.RetryAfter > 0 {
			s.holdOff(sess.line, st.RetryAfter)
		}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.Err = fmt.Errorf("no answer to %s within %v: %w", step, cfg.Connect, context.DeadlineExceeded)
		e.Remedy = "raise the connect limit, or see why the server does not answer"
		if step == "initialize" && sess.way == TransportStdio {
			e.Remedy += "; is it an MCP server on stdio?"
		}
	case answered:
		e.Err = &RPCError{Code: rpc.Code, Message: s.redact.text(rpc.Message), Data: s.redact.json(rpc.Data)}
	}
	if tail != "" {
		e.Err = fmt.Errorf("%w; its standard error ends: %s", e.Err, tail)
	}
	e.Err = s.redact.err(e.Err)
	e.classify()
	return e
}

// bury ends a connection, behind the caller's back but not behind Close's.
func (s *Server) bury(conn wire.Conn, bound time.Duration) {
	_ = conn.Close()
	s.running.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		_ = conn.Gone(ctx)
	})
}

// offered is the newest revision that a refusal of the one that was asked for names and that we know; "":
// none.
func offered(asked string, err error) string {
	var names func(era string) bool
	var rpc *RPCError
	var st *StatusError
	switch {
	case errors.As(err, &rpc):
		var data struct{ Supported []string }
		if json.Unmarshal(rpc.Data, &data) != nil {
			return ""
		}
		names = func(era string) bool { return slices.Contains(data.Supported, era) }
	case errors.As(err, &st) && st.Status == 400 && strings.Contains(strings.ToLower(st.Body), "version"):
		names = func(era string) bool { return strings.Contains(st.Body, era) }
	default:
		return ""
	}
	for _, era := range eras {
		if era != asked && names(era) {
			return era
		}
	}
	return ""
}
