package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/internal/wire"
)

// session is one connection to the server, from its handshake to its end.
type session struct {
	srv  *Server
	line *line
	set  *settings // it was made with
	way  string    // its transport
	seq  uint64    // of the attempts to connect, this is the one
	cs   *mcp.ClientSession
	conn wire.Conn
	era  string // revision that was agreed on
	// asked is the revision to ask this server for without a probe; zero: the probe costs nothing with it.
	asked knownEra
	info  string // name and version that the server gives itself

	live    atomic.Bool // conn and cs are set; until then changes of the list do not count, as it is listed anyway
	closing atomic.Bool // Close was called: what then fails was not lost
	reports reports
	asking  asking
	tools   atomic.Pointer[[]toolFacts] // what the last listing says, sorted by name
}

// toolFacts is what a call has to know of its tool.
type toolFacts struct {
	name   string             // on the wire
	unwrap bool               // structured content {"result": x} means x
	params *wire.HeaderParams // arguments that headers repeat; nil: none
}

func (s *session) Done() <-chan struct{} { return s.conn.Done() }

func (s *session) ended() bool {
	select {
	case <-s.conn.Done():
		return true
	default:
		return false
	}
}

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
	if all := s.tools.Load(); all != nil {
		if i, ok := slices.BinarySearchFunc(*all, name, func(f toolFacts, name string) int { return strings.Compare(f.name, name) }); ok {
			return (*all)[i], true
		}
	}
	return toolFacts{}, false
}

func (s *session) setTools(l Listing) {
	all := make([]toolFacts, len(l.Tools))
	for i, t := range l.Tools {
		all[i] = toolFacts{name: t.Name, unwrap: isEnvelope(t.OutputSchema)}
		if s.mirrors() {
			all[i].params, _ = wire.ParseHeaderParams(t.InputSchema)
		}
	}
	slices.SortFunc(all, func(a, b toolFacts) int { return strings.Compare(a.name, b.name) })
	s.tools.Store(&all)
}

// mirrors reports whether headers of requests repeat arguments.
func (s *session) mirrors() bool { return s.way == TransportHTTP && s.era >= Era20260728 }

// callable leaves out what cannot be called over this transport.
func (s *session) callable(l *Listing) {
	if !s.mirrors() {
		return
	}
	l.Tools = slices.DeleteFunc(l.Tools, func(t Tool) bool {
		_, err := wire.ParseHeaderParams(t.InputSchema)
		if err != nil {
			l.Problems = append(l.Problems, &ToolProblem{Server: s.srv.id, Tool: t.Name, LeftOut: true, Reason: "input schema: " + err.Error(), Remedy: authorRemedy})
		}
		return err != nil
	})
}

// announces reports whether the server can tell that its list changed. Over HTTP from 2026-07-28 on it
// cannot be relied on: the stream that would carry it is not opened again once it was cut.
func (s *session) announces() bool {
	init := s.cs.InitializeResult()
	can := init != nil && init.Capabilities != nil && init.Capabilities.Tools != nil && init.Capabilities.Tools.ListChanged
	return can && !(s.era >= Era20260728 && s.way != TransportStdio)
}

// The shortest and the longest time that a server's hint can set between two listings, and the time
// without one.
const (
	relistShortest = 10 * time.Second
	relistLongest  = time.Hour
	relistDefault  = 5 * time.Minute
)

// relistEvery is the time from a listing with this hint to the next; 0: only a change causes one. A hint of
// 0 is none: it does not make every use ask again.
func (s *session) relistEvery(hint time.Duration) time.Duration {
	asked := s.line.set.Load().cfg.Relist
	modern := s.era >= Era20260728
	switch {
	case asked < 0 || s.announces():
		return 0
	case asked > 0:
		return asked
	case modern && hint > 0:
		return min(max(hint, relistShortest), relistLongest)
	case modern && s.way != TransportStdio:
		return relistDefault
	}
	return 0
}

// list asks for the whole listing.
func (s *session) list(ctx context.Context) (Listing, error) {
	has := s.capabilities()
	if has.Tools == nil {
		s.setTools(Listing{})
		return Listing{Resources: has.Resources != nil, Prompts: has.Prompts != nil}, nil
	}
	cfg := &s.line.set.Load().cfg
	r := &listReader{server: s.srv.id, maxTools: cfg.MaxTools, maxPages: cfg.MaxPages}
	l, err := r.readAll(ctx, s.page)
	for _, p := range l.Problems { // which quote the server
		if p, ok := p.(*ToolProblem); ok {
			p.Reason = s.srv.redact.text(p.Reason)
		}
	}
	if err == nil {
		l.Resources, l.Prompts = has.Resources != nil, has.Prompts != nil
		s.callable(&l)
		s.setTools(l)
	}
	return l, err
}

// capabilities are what the server declares.
func (s *session) capabilities() *mcp.ServerCapabilities {
	if init := s.cs.InitializeResult(); init != nil && init.Capabilities != nil {
		return init.Capabilities
	}
	return &mcp.ServerCapabilities{}
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
	lost := errors.Is(err, toolsource.ErrSessionLost)
	if errors.As(err, &st) && (!lost || errors.Is(err, toolsource.ErrNotReached)) { // else another call was refused, and took the session with it
		e := s.srv.statusError(st)
		if lost {
			e.Kind, e.Err = toolsource.KindSessionLost, notReached{e.Err}
		}
		return e
	}
	if s.over(ctx) {
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

// notReached matches toolsource.ErrNotReached and does not say so: the text is also told to calls that the
// same loss of a session ends, and that may have reached their tools.
type notReached struct{ error }

func (e notReached) Unwrap() []error { return []error{toolsource.ErrNotReached, e.error} }

// lastWords is how long a connection that failed has to say why.
const lastWords = 500 * time.Millisecond

// over reports whether the connection has ended. A child's is given a moment, since a pipe that breaks is
// seen before the exit that broke it.
func (s *session) over(ctx context.Context) bool {
	if s.ended() {
		return true
	}
	if s.way != TransportStdio {
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

// reports leads progress to the calls that wait for it. Few are under way at once, and none of an idle
// session, so that a list is lighter than a map and finds them as fast.
type reports struct {
	next atomic.Uint64
	mu   sync.Mutex
	to   []report
	last map[string]toolsource.Progress // the last report of each, by token; nil: nobody wants it again
}

type report struct {
	token string
	ctx   context.Context // of the call
	call  string          // wire name of the tool, or the method
}

func (r *reports) add(ctx context.Context, call string) (token string) {
	token = strconv.FormatUint(r.next.Add(1), 10)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = append(r.to, report{token, ctx, call})
	return token
}

// cause is the call with a token, or, if there is no token, the only call.
func (r *reports) cause(token string) (c report, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := 0
	if token != "" {
		i = r.findLocked(token)
	} else if len(r.to) != 1 {
		i = -1
	}
	if i < 0 {
		return report{}, false
	}
	return r.to[i], true
}

// keep has the reports of all calls kept from now on.
func (r *reports) keep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.last = map[string]toolsource.Progress{}
	}
}

// again repeats a call's last report with another message, which renews its limit.
func (r *reports) again(token, message string) {
	r.mu.Lock()
	p := r.last[token]
	r.mu.Unlock()
	p.Message = message
	r.deliver(token, p)
}

// remove is quick where the oldest call ends first, which is the rule.
func (r *reports) remove(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.findLocked(token); i >= 0 {
		r.to = slices.Delete(r.to, i, i+1)
	}
	delete(r.last, token)
}

func (r *reports) findLocked(token string) int {
	return slices.IndexFunc(r.to, func(to report) bool { return to.token == token })
}

func (r *reports) deliver(token string, p toolsource.Progress) {
	r.mu.Lock()
	var ctx context.Context
	if i := r.findLocked(token); i >= 0 {
		ctx = r.to[i].ctx
		if r.last != nil {
			r.last[token] = p
		}
	}
	r.mu.Unlock()
	if ctx != nil {
		toolsource.ReportProgress(ctx, p)
	}
}
