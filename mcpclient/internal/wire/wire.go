// Package wire holds the connections under the MCP SDK: stdio, streamable HTTP and legacy SSE, each an
// mcp.Connection of our own. They share one envelope scanner, one table of pending calls and one event
// reader, so that the promises about deadlines, closing and bad peers are kept in one place.
//
// Results of listings, calls and reads go around the SDK: a [Slot] in the call's context takes the raw
// result, and the SDK is handed the slot itself as the reply's error, undecoded. Arguments go around it
// the other way: params hold [Marker], and the connection splices the slot's bytes in. Property order,
// absent hints and large integers survive, and one bad reply costs one call, never the session.
//
// The protocol revision is the SDK's to agree on. Over HTTP each request says in its _meta which it is, from
// 2026-07-28 on, or else it is the one that the reply to initialize named. The newer one has no sessions and
// no standing GET stream: headers repeat the method, the name and, by [HeaderParams], some arguments; the end
// of a request cancels its call; changes are told on a subscription, which is kept open here. Whenever a
// stream for changes was cut, what may have changed meanwhile is reported as changed.
package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource"
)

// Marker stands for the arguments in the params of a tools/call whose slot has Args. A connection refuses
// to send one that it cannot splice, so that no tool ever runs with empty arguments.
var Marker = json.RawMessage(`{"\u0000slot":0}`)

// Slot is the way of one request around the SDK: a listing, a call, a read, a completion. It is an error, since that is how the
// SDK carries it back: find it with errors.As. Raw, RPC and Bad are written before the call returns it
// and never after; the others are the caller's.
type Slot struct {
	// Args are one line of valid JSON to send in place of Marker, and never changed: what of a line has begun to
	// leave is finished after its call was given up. nil: the params are sent as they are.
	Args []byte
	// Token is put into the params' _meta as the progress token, unless they have one: lighter than a _meta
	// of the SDK's. "": none.
	Token string
	// HeaderParams are those of the tool that is called, as its listing says them. Only HTTP from revision
	// 2026-07-28 on looks at them, in each round of the call, and repeats what Args hold. A server refuses
	// a call that lacks a header with RPC error CodeHeaderMismatch, undone: list the tools again, and retry.
	HeaderParams *HeaderParams

	Raw json.RawMessage // the result as the peer sent it; nil if there is none
	RPC *RPCError       // the peer's JSON-RPC error; nil if there is none
	Bad error           // the reply could not be read (malformed, over the cap): costs this call only

	state slotState
}

// Error says that the slot came back by the error path, as it should.
func (s *Slot) Error() string { return "wire: raw reply" }

type slotKey struct{}

// WithSlot gives the slot to the next request of those kinds made with the context.
func WithSlot(ctx context.Context, s *Slot) context.Context {
	return context.WithValue(ctx, slotKey{}, s)
}

func slotFrom(ctx context.Context) *Slot {
	s, _ := ctx.Value(slotKey{}).(*Slot)
	return s
}

// RPCError is a JSON-RPC error reply, kept apart from the SDK's type so that no code of a server can be
// taken for one of the SDK's own.
type RPCError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Codes of RPCError that revision 2026-07-28 gives a meaning; the call was not run.
const (
	CodeHeaderMismatch      = -32020 // a header is missing or does not repeat the body
	CodeMissingCapabilities = -32021 // the client did not declare what the tool needs
	CodeUnsupportedRevision = -32022 // data.supported names those that the server knows
)

func (e *RPCError) Error() string { return fmt.Sprintf("%s (JSON-RPC error %d)", e.Message, e.Code) }

// StatusError is an HTTP answer that is no MCP reply. It costs the call that got it, not the session.
type StatusError struct {
	Status          int           // HTTP status code
	WWWAuthenticate string        // of a 401 or 403
	RetryAfter      time.Duration // of a 429 or 503; 0: not said
	ContentType     string
	Body            string // its first bytes, secrets removed
	Authorising     string // why the OAuth handler did not authorise, secrets removed; "": it did, or was not asked
}

func (e *StatusError) Error() string {
	s := fmt.Sprintf("HTTP %d %s", e.Status, http.StatusText(e.Status))
	if e.ContentType != "" {
		s += " (" + e.ContentType + ")"
	}
	return s
}

// Options are what the three connections have in common. The zero value works.
type Options struct {
	Logger     *slog.Logger  // nil: discard
	MaxMessage int           // bytes in one line, body or event; 0: 10 MiB
	CloseBound time.Duration // from Close to the last process and goroutine gone; 0: 5 s
	// Progress is called on the reading goroutine, before any reply that came later is delivered. It must
	// not block. Progress notifications for which it is set are not passed on to the SDK.
	Progress func(token string, p toolsource.Progress)
	// Notify sees every other notification before the SDK does. It must not block. The method "" says that a
	// stream which carries what belongs to no call is open again after a cut, and that nobody knows what was
	// missed.
	Notify func(method string, params json.RawMessage)
	// Drop reports whether the SDK is spared a notification: it queues them without a bound and takes its time
	// for each, used or not, and its Close waits for the queue. nil: it gets all.
	Drop func(method string) bool
	// Redact removes secrets from text that goes into errors and logs. nil: as it is.
	Redact func(string) string
	// Ask takes a request of the peer; false leaves it to the SDK. It must not block. nil: the SDK answers all.
	Ask func(PeerRequest) bool
}

// PeerRequest is a request of the peer that Options.Ask has taken. It is answered once, by Reply or Drop.
type PeerRequest struct {
	ID     json.RawMessage // as the peer wrote it
	Method string
	Params json.RawMessage // the receiver's to keep; nil: none
	Slot   *Slot           // of the call on whose own stream it came; nil: not known
	Conn   Conn

	id jsonrpc.ID
	c  *core
}

// Reply sends the result, or the error if there is one. It may block as long as ctx lasts.
func (r *PeerRequest) Reply(ctx context.Context, result json.RawMessage, err *RPCError) error {
	msg := &jsonrpc.Response{ID: r.id, Result: result}
	if err != nil {
		msg.Result, msg.Error = nil, &jsonrpc.Error{Code: err.Code, Message: err.Message, Data: err.Data}
	}
	return r.Conn.Write(ctx, msg)
}

// Drop says that there is no answer, since the peer has taken the request back.
func (r *PeerRequest) Drop() { r.c.asked.Add(-1) }

// Conn is a connection with a life that can be watched. Close returns at once, whatever the peer does.
type Conn interface {
	mcp.Connection
	// Done is closed when the peer is gone or Close was called.
	Done() <-chan struct{}
	// Err says why the connection ended: an exit code with the tail of standard error, a status, io.EOF.
	// It is nil before Done, and after a Close that came first.
	Err() error
	// Gone waits until everything the connection started has ended: processes reaped, descriptors closed,
	// goroutines returned. It is called after Close and returns ctx's error if that ends first.
	Gone(ctx context.Context) error
	// Forget drops a slot whose call was given up, so that nothing is kept for a reply that may never come.
	// A slot that was never sent reports false from Sent.
	Forget(s *Slot)
	// Stderr is the tail of the child's standard error, secrets removed; "" for HTTP.
	Stderr() string
}

// Transport makes one connection. A second Connect is an error: a new session needs a new Transport.
type Transport interface {
	mcp.Transport
	// Conn is what Connect made, and nil before.
	Conn() Conn
}
