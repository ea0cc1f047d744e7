package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
)

const session = "mcptest-session"

// Handler serves streamable HTTP in the way of the revisions before 2026-07-28: one session, requests by
// POST, no stream of its own.
func Handler(b Behaviour) http.Handler {
	s := newServer(b)
	return http.HandlerFunc(s.serveHTTP)
}

func (s *server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if s.b.Authorization != "" && r.Header.Get("Authorization") != s.b.Authorization {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		http.Error(w, "unauthorized", http.StatusUnauthorized)
		return
	}
	switch r.Method {
	case http.MethodPost:
	case http.MethodDelete:
		return
	default:
		w.Header().Set("Allow", "POST, DELETE")
		http.Error(w, "no stream here", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	var m message
	if err != nil || json.Unmarshal(body, &m) != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	if m.Method == "tools/call" && s.refused(w) {
		return
	}
	if m.Method == "" || m.ID == nil {
		s.handle(r.Context(), m, func([]byte) {})
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if m.Method == "initialize" {
		w.Header().Set("Mcp-Session-Id", session)
	}
	s.answer(r.Context(), w, m)
}

// refused answers a call as the behaviour says, instead of running it.
func (s *server) refused(w http.ResponseWriter) bool {
	s.mu.Lock()
	s.calls++
	lost := s.b.LoseAfter > 0 && s.calls == s.b.LoseAfter
	s.mu.Unlock()
	status, contentType, body := s.b.CallStatus, s.b.CallContentType, s.b.CallBody
	if lost {
		status, contentType, body = http.StatusNotFound, "application/json", `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`
	}
	if status == 0 {
		return false
	}
	if contentType == "" {
		contentType = "text/plain"
	}
	w.Header().Set("Content-Type", contentType)
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="write"`)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
	return true
}

// answer writes the reply as JSON, or as events with whatever the call sends before it.
func (s *server) answer(ctx context.Context, w http.ResponseWriter, m message) {
	if !s.b.SSE {
		s.handle(ctx, m, func(line []byte) {
			var out message
			if json.Unmarshal(line, &out) == nil && out.Method == "" {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(line)
			}
		})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	var mu sync.Mutex
	s.handle(ctx, m, func(line []byte) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", line)
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	})
}
