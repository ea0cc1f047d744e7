package toolsource

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Sentinels for errors.Is. They match a *CallError by its Kind as well as by its chain.
var (
	ErrUnknownTool             = errors.New("unknown tool")
	ErrUnavailable             = errors.New("tool is unavailable")
	ErrClosed                  = errors.New("closed")
	ErrSessionLost             = errors.New("session lost")
	ErrOutcomeUnknown          = errors.New("outcome unknown: the call may have run")
	ErrTimeout           error = timeoutError{} // also matches context.DeadlineExceeded
	ErrNeedsAuth               = errors.New("authorisation needed")
	ErrInsufficientScope       = errors.New("insufficient scope")
	ErrForbidden               = errors.New("forbidden by the server")
	ErrDenied                  = errors.New("denied by policy")
	ErrReentrant               = errors.New("re-entrant call would wait for itself")
	ErrBadArguments            = errors.New("bad arguments")
	ErrProtocol                = errors.New("protocol violation")
	ErrPanic                   = errors.New("panicked")

	// ErrNotReached in a chain says that the call certainly did not reach the tool: nothing was written,
	// or the server refused it before dispatch. Such a call may be sent once more whatever its grade.
	ErrNotReached = errors.New("did not reach the tool")
	// ErrPermanent in a chain says that trying again cannot help: command not found, bad configuration,
	// no MCP endpoint. A Bridge parks at once on it, as on ErrNeedsAuth and ErrForbidden.
	ErrPermanent = errors.New("permanent failure")

	ErrDuplicateSource = errors.New("a source of that name is attached already")
	ErrUnknownSource   = errors.New("unknown source")
	ErrBadSpec         = errors.New("bad tool spec")
)

type timeoutError struct{}

func (timeoutError) Error() string        { return "timed out" }
func (timeoutError) Timeout() bool        { return true }
func (timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// Kind says in one word what went wrong. The words are those of the inspector's error.kind.
type Kind string

// The kinds of error. KindTool is the tool's own answer that it failed.
const (
	KindTool              Kind = "tool"
	KindTimeout           Kind = "timeout"
	KindCancelled         Kind = "cancelled"
	KindReentrant         Kind = "reentrant"
	KindUnavailable       Kind = "unavailable"
	KindSessionLost       Kind = "session_lost"
	KindOutcomeUnknown    Kind = "outcome_unknown"
	KindNeedsAuth         Kind = "needs_auth"
	KindInsufficientScope Kind = "insufficient_scope"
	KindForbidden         Kind = "forbidden"
	KindDenied            Kind = "denied"
	KindBadArguments      Kind = "bad_arguments"
	KindUnknownTool       Kind = "unknown_tool"
	KindProtocol          Kind = "protocol"
	KindClosed            Kind = "closed"
)

// kinds pairs each kind with its sentinel, the more telling first: an error that matches several has the
// kind of the first.
var kinds = []struct {
	kind Kind
	err  error
}{
	{KindUnknownTool, ErrUnknownTool},
	{KindBadArguments, ErrBadArguments},
	{KindDenied, ErrDenied},
	{KindReentrant, ErrReentrant},
	{KindInsufficientScope, ErrInsufficientScope},
	{KindNeedsAuth, ErrNeedsAuth},
	{KindForbidden, ErrForbidden},
	{KindOutcomeUnknown, ErrOutcomeUnknown},
	{KindSessionLost, ErrSessionLost},
	{KindClosed, ErrClosed},
	{KindUnavailable, ErrUnavailable},
	{KindProtocol, ErrProtocol},
	{KindTimeout, ErrTimeout},
	{KindTimeout, context.DeadlineExceeded},
	{KindCancelled, context.Canceled},
}

func (k Kind) sentinel() error {
	switch k {
	case KindCancelled:
		return context.Canceled
	case KindTool:
		return nil
	}
	for _, e := range kinds {
		if e.kind == k {
			return e.err
		}
	}
	return nil
}

// KindOf is the kind of any error: of nil it is "", of one that nothing here explains it is KindTool,
// since only a tool's own code makes such errors.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	switch e := outermost(err).(type) {
	case *CallError:
		if e.Kind != "" {
			return e.Kind
		}
	case *ToolError:
		return KindTool
	}
	for _, e := range kinds {
		if errors.Is(err, e.err) {
			return e.kind
		}
	}
	return KindTool
}

// outermost is the first *CallError or *ToolError in a chain; nil if there is none.
func outermost(err error) error {
	var ce *CallError
	var te *ToolError
	errors.As(err, &ce)
	errors.As(err, &te)
	switch {
	case ce == nil && te == nil:
		return nil
	case ce == nil, te != nil && errors.Is(te, error(ce)):
		return te
	}
	return ce
}

// CallError is a call that did not get its tool's answer.
type CallError struct {
	Tool       string        // the name that was called; "" where it is not known
	Source     string        // the source that owns it; "" where it is not known
	Phase      string        // what was being done: "resolve", "bind", "gate", "connect", "wait", "call", ...
	Kind       Kind          // what went wrong
	MayHaveRun bool          // the tool may have started, so its effects may have happened
	RetryAfter time.Duration // when trying again may help; 0: unknown
	Remedy     string        // what to do about it, in one sentence; may be ""
	Err        error         // the cause; may be nil
}

// Error is one line: tool, source, phase, what happened and the remedy.
func (e *CallError) Error() string {
	var b strings.Builder
	b.WriteString("toolsource: ")
	if e.Tool != "" {
		fmt.Fprintf(&b, "%s: ", e.Tool)
	}
	if e.Source != "" {
		fmt.Fprintf(&b, "source %q: ", e.Source)
	}
	if e.Phase != "" {
		fmt.Fprintf(&b, "%s: ", e.Phase)
	}
	b.WriteString(e.what())
	if e.MayHaveRun && e.Kind != KindOutcomeUnknown {
		b.WriteString(" (it may have run)")
	}
	if e.Remedy != "" {
		fmt.Fprintf(&b, " (%s)", e.Remedy)
	}
	return oneLine(b.String())
}

// what is the kind's own words and the cause, without saying the same thing twice.
func (e *CallError) what() string {
	s := e.Kind.sentinel()
	if s == nil || e.Kind == KindCancelled {
		s = errors.New(strings.ReplaceAll(string(e.Kind), "_", " "))
	}
	switch {
	case e.Err == nil:
		return s.Error()
	case e.Kind == KindTool, strings.Contains(e.Err.Error(), s.Error()):
		return e.Err.Error()
	}
	return s.Error() + ": " + e.Err.Error()
}

// Unwrap is the cause.
func (e *CallError) Unwrap() error { return e.Err }

// Is matches the sentinel of the kind, and context.DeadlineExceeded and context.Canceled for the kinds
// timeout and cancelled.
func (e *CallError) Is(target error) bool {
	s := e.Kind.sentinel()
	return s != nil && (s == target || e.Kind == KindTimeout && target == context.DeadlineExceeded)
}

// ToolError is a tool that ran and answered with an error.
type ToolError struct {
	Tool   string
	Result Result // what it said, nothing dropped
	Err    error  // the Go error of a tool that is a Go function; nil for others
}

// Error is the tool's name and its text, on one line; Result has the text as it is.
func (e *ToolError) Error() string {
	text := e.Result.Text()
	if text == "" && e.Err != nil {
		text = e.Err.Error()
	}
	if strings.TrimSpace(text) == "" {
		text = "the tool answered with an error and no text"
	}
	if e.Tool == "" {
		return "toolsource: tool error: " + oneLine(text)
	}
	return "toolsource: " + e.Tool + ": tool error: " + oneLine(text)
}

// Unwrap is the Go error, if there is one.
func (e *ToolError) Unwrap() error { return e.Err }

// SourceError is a source that failed as a whole.
type SourceError struct {
	Source string
	Op     string // "add", "discover", "resolve", "refresh", "close", ...
	Err    error
}

// Error is "toolsource: op source: err", on one line.
func (e *SourceError) Error() string {
	return oneLine(fmt.Sprintf("toolsource: %s %s: %v", e.Op, e.Source, e.Err))
}

// Unwrap is the cause.
func (e *SourceError) Unwrap() error { return e.Err }

// PanicError is what a panic in a source, a callable or a callback of the host becomes. It matches ErrPanic.
type PanicError struct {
	Value any    // what was passed to panic
	Stack []byte // of the goroutine that panicked
}

// Error names the value, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panicked: %v", e.Value) }

// Is matches ErrPanic.
func (e *PanicError) Is(target error) bool { return target == ErrPanic }

// Unwrap is the value, if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// oneLine folds every run of white space and control characters into one space.
func oneLine(s string) string {
	clean := true
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	return strings.Join(strings.FieldsFunc(s, breaksLine), " ")
}
