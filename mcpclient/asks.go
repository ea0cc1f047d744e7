package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/internal/wire"
)

// The requests that a server may make of us. The SDK answers ping by itself.
const (
	methodSample = "sampling/createMessage"
	methodElicit = "elicitation/create"
	methodRoots  = "roots/list"
)

// codeRefused is that of an answer by which the host, not the protocol, refuses.
const codeRefused = -1

// refusal is why a server does not get what it asked for, in words that it may read.
type refusal struct {
	code int64
	text string
}

func (r *refusal) Error() string { return r.text }

func refuse(format string, args ...any) error {
	return &refusal{codeRefused, fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) error {
	return &refusal{codeInvalidParams, fmt.Sprintf(format, args...)}
}

// gate keeps a server's limits, over all its sessions. It is made at its first request.
type gate struct {
	mu      sync.Mutex
	recent  map[string][]time.Time // by method: when the last were let through
	running int
	rounds  int  // answers in a row that used tools
	refused bool // it was said once that a request was
}

func (s *Server) theGate() *gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gate == nil {
		s.gate = &gate{recent: map[string][]time.Time{}}
	}
	return s.gate
}

// window is over which requests are counted.
const window = time.Minute

// enter lets a request through, which then leaves, or says why not.
func (g *gate) enter(method string, l *AskLimits) error {
	most := l.PerMinute
	if method == methodRoots {
		most *= 6
	}
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	last := slices.DeleteFunc(g.recent[method], func(t time.Time) bool { return now.Sub(t) >= window })
	g.recent[method] = last
	switch {
	case len(last) >= most:
		return refuse("rate limit: more than %d requests for %s within a minute; the next is let through in %v",
			most, method, (window - now.Sub(last[0])).Round(time.Second))
	case g.running >= l.AtOnce:
		return refuse("too many requests at once: %d wait for their answers", g.running)
	}
	g.recent[method] = append(last, now)
	g.running++
	return nil
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
}

// asking are the requests of a server that it may take back.
type asking struct {
	mu sync.Mutex
	m  map[string]context.CancelCauseFunc // by id, as the server wrote it; nil: there was none yet
}

var errTakenBack = errors.New("the server took its request back")

func (a *asking) add(id string, cancel context.CancelCauseFunc) (done func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.m == nil {
		a.m = map[string]context.CancelCauseFunc{}
	}
	a.m[id] = cancel
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.m, id)
	}
}

func (a *asking) takeBack(id string) {
	a.mu.Lock()
	cancel := a.m[id]
	a.mu.Unlock()
	if cancel != nil {
		cancel(errTakenBack)
	}
}

// ask takes a request that the server makes by itself, as servers of the handshake eras do.
func (s *session) ask(r wire.PeerRequest) bool {
	switch r.Method {
	case methodSample, methodElicit, methodRoots:
	default:
		return false
	}
	if !s.srv.spawn(func() { s.reply(r) }) {
		r.Drop() // all is about to end
	}
	return true
}

// reply answers a request of the server.
func (s *session) reply(r wire.PeerRequest) {
	cause := s.causeOf(r.Slot)
	ctx, cancel := context.WithCancelCause(cause.ctx)
	defer cancel(nil)
	defer s.asking.add(string(r.ID), cancel)()
	result, err := s.answer(ctx, r.Conn.Done(), r.Method, r.Params, cause)
	if errors.Is(context.Cause(ctx), errTakenBack) {
		r.Drop() // and waits for no answer
		return
	}
	out, cancelOut := context.WithTimeout(context.Background(), notifyTime)
	defer cancelOut()
	if err = r.Reply(out, result, s.refused(r.Method, err)); err != nil {
		s.srv.log.Debug("the server did not get its answer", "method", r.Method, "err", s.srv.redact.err(err))
	}
}

// refused is an error as the server gets it; nil for nil.
func (s *session) refused(method string, err error) *wire.RPCError {
	if err == nil {
		return nil
	}
	s.noteRefusal("a request of the server was refused", method, err)
	e := &wire.RPCError{Code: codeRefused, Message: s.srv.redact.text(err.Error())}
	var r *refusal
	if errors.As(err, &r) {
		e.Code = r.code
	}
	return e
}

// noteRefusal says the first refusal of a server aloud: one that goes on asking is not to fill the log.
func (s *session) noteRefusal(what, method string, err error) {
	g := s.srv.theGate()
	g.mu.Lock()
	level := slog.LevelInfo
	if g.refused {
		level = slog.LevelDebug
	}
	g.refused = true
	g.mu.Unlock()
	s.srv.log.Log(context.Background(), level, what, "method", method, "err", s.srv.redact.err(err))
}

// causeOf finds the call that made the server ask: the one on whose stream it asks, or the only one there is.
// Without one the context has no values.
func (s *session) causeOf(slot *wire.Slot) report {
	token := ""
	if slot != nil {
		token = slot.Token
	}
	if c, ok := s.reports.cause(token); ok {
		return c
	}
	return report{ctx: context.Background()}
}

// answer is what the server gets for a request, in any era.
func (s *session) answer(ctx context.Context, done <-chan struct{}, method string, params json.RawMessage, cause report) (json.RawMessage, error) {
	needs := map[string]offer{methodSample: offerSampling, methodElicit: offerElicitation, methodRoots: offerRoots}[method]
	if needs == 0 || s.set.offers&needs == 0 {
		return nil, &refusal{codeNoMethod, "method not found: " + method + " was not declared"}
	}
	l := s.limits()
	if len(params) > l.MaxMessage {
		return nil, refuse("%s: the request has %d bytes, more than the limit of %d", method, len(params), l.MaxMessage)
	}
	s.reports.keep()
	a := &asked{session: s, gate: s.srv.theGate(), limits: &l, done: done, call: cause.call, token: cause.token}
	var result json.RawMessage
	var err error
	switch method {
	case methodSample:
		result, err = a.sample(ctx, params)
	case methodElicit:
		result, err = a.elicit(ctx, params)
	default:
		result, err = a.roots(ctx)
	}
	if err == nil && len(result) > l.MaxMessage {
		return nil, refuse("%s: the answer has %d bytes, more than the limit of %d", method, len(result), l.MaxMessage)
	}
	return result, err
}

// asked is one request of a server.
type asked struct {
	*session
	gate   *gate
	limits *AskLimits
	done   <-chan struct{} // closed when the session has ended
	call   string          // wire name of the tool whose call caused it; "": not known
	token  string          // of that call's progress; "": not known
}

// handle runs a handler under the limits. One that does not return in time is left behind.
func handle[T any](ctx context.Context, a *asked, method string, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	var none T
	if err := a.gate.enter(method, a.limits); err != nil {
		return none, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errHandlerTime)
	defer cancel()
	type answer struct {
		v   T
		err error
	}
	reply := make(chan answer, 1) // room for the one answer, so that it can come late
	go func() {
		got := answer{err: errPanicked}
		defer func() {
			if v := recover(); v != nil {
				got = answer{err: fmt.Errorf("%w: %v", errPanicked, v)}
			}
			a.gate.leave()
			reply <- got
		}()
		got.v, got.err = f(ctx)
	}()
	alive := time.NewTicker(patience)
	defer alive.Stop()
	for {
		select {
		case got := <-reply:
			if got.err != nil && errors.Is(context.Cause(ctx), errHandlerTime) {
				got.err = errHandlerTime
			}
			return got.v, got.err
		case <-ctx.Done():
			return none, context.Cause(ctx)
		case <-a.done:
			return none, toolsource.ErrSessionLost
		case <-alive.C:
			if a.token != "" {
				a.reports.again(a.token, "waiting for the answer to "+method)
			}
		}
	}
}

// patience is how often a call is told that it waits for the host, whose time is not the server's silence.
const patience = 5 * time.Second

var errHandlerTime = fmt.Errorf("timed out: %w", context.DeadlineExceeded)

// roots answers roots/list.
func (a *asked) roots(ctx context.Context) (json.RawMessage, error) {
	list, err := handle(ctx, a, methodRoots, a.limits.Roots, func(ctx context.Context) ([]Root, error) {
		return a.srv.opt.Handlers.Roots(ctx, a.srv.id)
	})
	if err != nil {
		return nil, refuse("%s failed: %s", methodRoots, a.told(err))
	}
	if list == nil {
		list = []Root{}
	}
	return json.Marshal(map[string]any{"roots": list})
}

// told is the text of an error of the host as a server may read it.
func (a *asked) told(err error) string {
	if errors.Is(err, toolsource.ErrPanic) {
		return "internal error"
	}
	return clipText(plain(a.srv.redact.text(err.Error())), 200)
}

// paramsOf are the members of a request's parameters.
func paramsOf(params json.RawMessage) (members, error) {
	t, err := parseJSON(params)
	if err == nil {
		err = wantObject(t)
	}
	if err != nil {
		return nil, invalid("params %v", err)
	}
	return t.members(nil), nil
}

// notification is one without parameters.
func notification(method string) jsonrpc.Message { return &jsonrpc.Request{Method: method} }
