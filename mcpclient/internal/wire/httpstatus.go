package wire

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toolsource/toolsource"
)

func mediaType(resp *http.Response) string {
	t, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(t))
}

// refused makes the error of an answer that is no MCP reply, with the sentinels that tell what to do. It
// reads and closes the body. A lost session also ends the connection, soon.
func (b *httpBase) refused(resp *http.Response, o order) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, errorBody))
	_ = resp.Body.Close()
	return b.refusal(resp, body, o)
}

func (b *httpBase) refusal(resp *http.Response, body []byte, o order) error {
	st := &StatusError{
		Status: resp.StatusCode, ContentType: mediaType(resp), Body: b.excerpt(body),
		WWWAuthenticate: b.redact(strings.Join(resp.Header.Values("WWW-Authenticate"), ", ")),
		RetryAfter:      retryAfter(resp.Header.Get("Retry-After")),
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%w: %w: %w", toolsource.ErrNeedsAuth, toolsource.ErrNotReached, st)
	case resp.StatusCode == http.StatusForbidden && strings.Contains(st.WWWAuthenticate, "insufficient_scope"):
		return fmt.Errorf("%w: %w: %w", toolsource.ErrInsufficientScope, toolsource.ErrNotReached, st)
	case resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%w: %w: %w", toolsource.ErrForbidden, toolsource.ErrNotReached, st)
	case b.sessionIsLost(resp, body):
		lost := fmt.Errorf("%w: %w", toolsource.ErrSessionLost, st)
		b.lose(lost)
		return fmt.Errorf("%w: %w", toolsource.ErrNotReached, lost)
	case resp.StatusCode/100 == 2 || resp.StatusCode/100 == 3:
		return fmt.Errorf("%w: no MCP reply: %w: %s", toolsource.ErrProtocol, st, firstLine(st.Body))
	case st.Body != "" && !strings.Contains(st.ContentType, "html"):
		return fmt.Errorf("%w: %s", st, firstLine(st.Body))
	}
	return st
}

func (b *httpBase) excerpt(body []byte) string {
	return cut(b.redact(strings.ToValidUTF8(string(body), "\uFFFD")), errorShown)
}

func firstLine(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return "an empty body"
	}
	line, _, _ := strings.Cut(s, "\n")
	return cut(strings.TrimSpace(line), 120)
}

func retryAfter(s string) time.Duration {
	if s == "" {
		return 0
	}
	if sec, err := strconv.ParseUint(s, 10, 31); err == nil {
		return time.Duration(sec) * time.Second
	}
	if at, err := http.ParseTime(s); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// sessionIsLost knows the ways in which servers say so: 404 (and 410) for a request that carried a session
// id, whatever the body; 400 whose body speaks of the session.
func (b *httpBase) sessionIsLost(resp *http.Response, body []byte) bool {
	if resp.Request == nil || resp.Request.Header.Get(headerSession) == "" && !resp.Request.URL.Query().Has("sessionId") &&
		!resp.Request.URL.Query().Has("session_id") {
		return false
	}
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		return true
	case http.StatusBadRequest:
		s := strings.ToLower(string(body))
		for _, words := range []string{"session id", "session not found", "no valid session", "invalid session", "unknown session",
			"expired session", "session expired", "session has expired", "mcp-session-id", "session does not exist", "session terminated", "no session"} {
			if strings.Contains(s, words) {
				return true
			}
		}
	}
	return false
}
