package mcpclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/internal/wire"
)

// RPCError is a server's answer that a request failed by the protocol. It is an answer: session and tool
// go on working.
type RPCError struct {
	Code    int64
	Message string // secrets removed
	Data    json.RawMessage
}

// Error is the message and the code.
func (e *RPCError) Error() string {
	return fmt.Sprintf("%s (JSON-RPC error %d)", e.Message, e.Code)
}

// StatusError is an HTTP answer that is no MCP reply.
type StatusError struct {
	Status          int    // HTTP status code
	WWWAuthenticate string // of a 401 or 403; "" if there was none
	ContentType     string // of the answer, without parameters; "": it named none
	Body            string // its first bytes, secrets removed
	text            string
}

// Answered reports whether the server itself answered, so that the way to it is in order: it failed at what it
// was asked for, or wants to be asked less. What a gateway says of a server (502, 503, 504) is no such answer.
func (e *StatusError) Answered() bool { return e.Status == 500 || e.Status == 501 || e.Status == 429 }

// Error is the status, the type, the first line of the body, and why Options.OAuth did not authorise.
func (e *StatusError) Error() string { return e.text }

// The codes of JSON-RPC.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeURLFirst       = -32042 // MCP: the user has to open an address first
)

const (
	signIn     = "sign in again, or give the server a valid token in headers"
	tellAuthor = "tell the server's author"
	noEndpoint = "there is no MCP endpoint at this address: check the path, often /mcp, and the transport, http or sse"
)

// rpcError is what a call gets that the server refused by the protocol.
func (s *Server) rpcError(r *wire.RPCError) *toolsource.CallError {
	e := &toolsource.CallError{Phase: "call", Kind: toolsource.KindProtocol, MayHaveRun: true, Err: s.exportRPC(r)}
	text := strings.ToLower(r.Message)
	saysUnknown := strings.Contains(text, "tool") && (strings.Contains(text, "unknown") || strings.Contains(text, "not found"))
	switch {
	case saysUnknown && (r.Code == codeInvalidParams || r.Code == codeNoMethod):
		e.Kind, e.MayHaveRun = toolsource.KindUnknownTool, false
		e.Remedy = "list the server's tools again"
	case r.Code == codeInvalidParams:
		e.Kind, e.MayHaveRun = toolsource.KindBadArguments, false
		e.Remedy = "compare the arguments with the tool's input schema"
	case r.Code == codeURLFirst:
		e.MayHaveRun, e.Remedy = false, "have the user open the addresses that the error names, and call again when that is done"
	case r.Code == codeNoMethod, r.Code == codeInvalidRequest, r.Code == codeParse, r.Code == wire.CodeHeaderMismatch:
		e.MayHaveRun = false
	}
	return e
}

func (s *Server) exportRPC(r *wire.RPCError) *RPCError {
	return &RPCError{Code: r.Code, Message: s.redact.text(r.Message), Data: s.redact.json(r.Data)}
}

// statusError is what a call gets that HTTP refused.
func (s *Server) statusError(st *wire.StatusError) *toolsource.CallError {
	e := &toolsource.CallError{Phase: "call", Kind: toolsource.KindProtocol, RetryAfter: st.RetryAfter, Err: s.exportStatus(st)}
	switch {
	case st.Status == 401:
		e.Kind, e.Remedy = toolsource.KindNeedsAuth, signIn
	case st.Status == 403 && strings.Contains(st.WWWAuthenticate, "insufficient_scope"):
		e.Kind, e.Remedy = toolsource.KindInsufficientScope, "sign in with the scope that the server asks for"
	case st.Status == 403:
		e.Kind, e.Remedy = toolsource.KindForbidden, "ask the server's owner for access"
	case st.Status == 429:
		e.Kind, e.Remedy = toolsource.KindUnavailable, "wait before the next call"
	case st.Status == 503:
		e.Kind, e.MayHaveRun, e.Remedy = toolsource.KindUnavailable, true, "wait before the next call"
	case st.Status >= 500: // of a gateway too, behind which it may still run
		e.Kind, e.MayHaveRun = toolsource.KindOutcomeUnknown, true
	case st.Status < 300: // accepted, and then no reply of the protocol
		e.MayHaveRun = true
	}
	return e
}

func (s *Server) exportStatus(st *wire.StatusError) *StatusError {
	text := st.Error()
	if isForeign(st.Status, st.ContentType) {
		text += ", where an MCP server answers with application/json or text/event-stream"
	}
	if body := firstLine(st.Body); body != "" {
		text += ": " + body
	}
	if st.Authorising != "" {
		text += ": authorising: " + firstLine(st.Authorising)
	}
	return &StatusError{
		Status: st.Status, ContentType: s.redact.text(st.ContentType), WWWAuthenticate: s.redact.text(st.WWWAuthenticate),
		Body: s.redact.text(st.Body), text: s.redact.text(text),
	}
}

// isForeign reports whether an answer is a success of something that is no MCP server: a web page, for one.
func isForeign(status int, contentType string) bool {
	return status/100 == 2 && contentType != "" && contentType != "application/json" && contentType != "text/event-stream"
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if len(s) > 200 {
		s = s[:200] + "..."
	}
	return strings.ToValidUTF8(strings.TrimSpace(s), "")
}

// ConnectError is an attempt to connect, or to list, that failed. It matches toolsource.ErrUnavailable, also
// ErrPermanent where another attempt cannot help, and ErrNeedsAuth, ErrForbidden and
// context.DeadlineExceeded where that is why.
type ConnectError struct {
	Server string
	Step   string // "start", "initialize", "tools/list"
	Remedy string // what to do about it; may be ""
	Err    error
	kinds  []error
}

// Error is one line: server, step, cause and remedy.
func (e *ConnectError) Error() string {
	s := fmt.Sprintf("mcpclient: server %q: %s: %v", e.Server, e.Step, e.Err)
	if e.Remedy != "" {
		s += " (" + e.Remedy + ")"
	}
	return s
}

// Unwrap is the cause, with what kind of failure it is.
func (e *ConnectError) Unwrap() []error { return append([]error{e.Err}, e.kinds...) }

// Is matches toolsource.ErrUnavailable.
func (e *ConnectError) Is(target error) bool { return target == toolsource.ErrUnavailable }

// listError is the error of a listing: what a call function said, without the words that suit a call.
func (s *Server) listError(err error) error {
	var have *ConnectError
	var call *toolsource.CallError
	if errors.As(err, &have) {
		return err
	}
	e := &ConnectError{Server: s.id, Step: "tools/list", Err: s.redact.err(err)}
	if errors.As(err, &call) && call.Source == "" && call.Err != nil {
		e.Err, e.Remedy = call.Err, call.Remedy
	}
	e.classify()
	return e
}

// classify sets what kind of failure to connect it is.
func (e *ConnectError) classify() {
	var st *StatusError
	if !errors.As(e.Err, &st) {
		return
	}
	if isForeign(st.Status, st.ContentType) {
		e.kinds, e.Remedy = []error{toolsource.ErrPermanent}, noEndpoint
		return
	}
	switch st.Status {
	case 401:
		e.kinds, e.Remedy = []error{toolsource.ErrNeedsAuth}, signIn
	case 403:
		e.kinds, e.Remedy = []error{toolsource.ErrForbidden}, "ask the server's owner for access"
	case 200, 404, 405, 406, 410, 415:
		e.kinds, e.Remedy = []error{toolsource.ErrPermanent}, noEndpoint
	}
}
