package toolsource

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// ModelMessage renders an error of this library for a model: what happened, whether the tool may have run,
// and what to do next. The text of a tool that answered with an error is given as it is. Nothing that a
// Secret holds is in it. Of nil it is "".
func ModelMessage(err error) string {
	if err == nil {
		return ""
	}
	if te, ok := outermost(err).(*ToolError); ok {
		return toolErrorMessage(te)
	}
	e := asCallError(err)
	name := "The tool"
	if e.Tool != "" {
		name = fmt.Sprintf("The tool %q", e.Tool)
	}
	parts := []string{name + " " + happened(e) + "."}
	if cause := causeText(e); cause != "" {
		parts = append(parts, "Reason: "+strings.TrimRight(cause, ".")+".")
	}
	parts = append(parts, ranMessage(e))
	if e.Remedy != "" {
		parts = append(parts, capitalise(strings.TrimRight(oneLine(e.Remedy), "."))+".")
	}
	parts = append(parts, nextStep(e))
	return strings.Join(compact(parts), " ")
}

func toolErrorMessage(e *ToolError) string {
	text := strings.TrimSpace(e.Result.Text())
	if text == "" && e.Err != nil {
		text = e.Err.Error()
	}
	if text == "" {
		text = "it gave no text"
	}
	if e.Tool == "" {
		return "The tool answered with an error: " + text
	}
	return fmt.Sprintf("The tool %q answered with an error: %s", e.Tool, text)
}

// asCallError is the CallError in the chain, or one made from the error's kind.
func asCallError(err error) *CallError {
	var ce *CallError
	if errors.As(err, &ce) {
		return ce
	}
	e := &CallError{Kind: KindOf(err), Err: err}
	switch e.Kind {
	case KindTool, KindTimeout, KindCancelled, KindSessionLost, KindProtocol:
		e.MayHaveRun = !errors.Is(err, ErrNotReached) // nobody said so, so it may have
	}
	var se *SourceError
	if errors.As(err, &se) {
		e.Source = se.Source
	}
	return e
}

func happened(e *CallError) string {
	switch e.Kind {
	case KindTool:
		return "failed"
	case KindTimeout:
		return "did not answer in time"
	case KindCancelled:
		return "was stopped because the call was cancelled"
	case KindReentrant:
		return "was called from inside a call that holds the last free place, which would wait for itself"
	case KindUnavailable:
		return "is not available now"
	case KindSessionLost:
		return "lost the connection to its server"
	case KindOutcomeUnknown:
		return "lost the connection to its server while it was running"
	case KindNeedsAuth:
		return "needs the user to sign in"
	case KindInsufficientScope:
		return "needs permissions that the user has not granted"
	case KindForbidden:
		return "was refused by its server"
	case KindDenied:
		return "was not allowed by policy"
	case KindBadArguments:
		return "was called with arguments that it does not take"
	case KindUnknownTool:
		return "does not exist"
	case KindProtocol:
		return "gave an answer that does not follow the protocol"
	case KindClosed:
		return "is gone because its connection was closed"
	}
	return "failed"
}

// causeText is the innermost detail, without this library's own prefixes and without the sentinel's words,
// which happened has said already.
func causeText(e *CallError) string {
	if e.Err == nil {
		return ""
	}
	text := oneLine(e.Err.Error())
	if s := e.Kind.sentinel(); s != nil {
		if text == s.Error() {
			return ""
		}
		text = strings.TrimPrefix(text, s.Error()+": ")
	}
	switch text {
	case "context deadline exceeded", "context canceled", "timed out":
		return ""
	}
	return text
}

func ranMessage(e *CallError) string {
	switch {
	case e.Kind == KindOutcomeUnknown:
		return "It may have completed or not, and it was not run again."
	case e.MayHaveRun:
		return "It may have run."
	}
	return "It did not run."
}

func nextStep(e *CallError) string {
	switch e.Kind {
	case KindTool:
		return ""
	case KindTimeout:
		if e.MayHaveRun {
			return "Check for its effects before you call it again."
		}
		return "Try again later or use another tool."
	case KindCancelled:
		return "Do not call it again unless asked to."
	case KindReentrant:
		return "Do not call it from inside itself."
	case KindUnavailable:
		if e.RetryAfter > 0 {
			return fmt.Sprintf("Do not try again within %s; use another tool if there is one.", roundUp(e.RetryAfter))
		}
		return "Use another tool if there is one."
	case KindSessionLost:
		if e.MayHaveRun {
			return "Check for its effects, then call it again."
		}
		return "Call it again."
	case KindOutcomeUnknown:
		return "Check for its effects before you call it again."
	case KindNeedsAuth:
		return "Ask the user to sign in; do not call it again before that."
	case KindInsufficientScope:
		return "Ask the user to grant them; do not call it again before that."
	case KindForbidden, KindDenied:
		return "Do not call it again without new instructions."
	case KindBadArguments:
		return "Correct the arguments and call it again."
	case KindUnknownTool:
		return "Use only tools that are listed."
	case KindProtocol:
		return "Calling it again with the same arguments will probably fail again."
	case KindClosed:
		return "Do not call it again."
	}
	return ""
}

func roundUp(d time.Duration) time.Duration {
	if d < time.Second {
		return time.Second
	}
	return (d + time.Second - 1).Truncate(time.Second)
}

func capitalise(s string) string {
	if s == "" {
		return s
	}
	first, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[n:]
}

func compact(parts []string) []string {
	out := parts[:0]
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}
