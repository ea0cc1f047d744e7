package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
)

const session = "mcptest-session"

// Handler serves streamable HTTP in the way of the revisions before 2026-07-28: one session, requests by POST, and a stream for GET where the behaviour has one.
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
	case http.MethodGet:
		if s.b.Stream {
			s.stand(w, r)
			return
		}
		fallthrough
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
			} else {
				s.broadcast(line)
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

// stand keeps a stream for GET open.
func (s *server) stand(w http.ResponseWriter, r *http.Request) {
	lines, end := make(chan []byte), r.Context().Done()
	s.mu.Lock()
	s.streams[lines] = end
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.streams, lines)
		s.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	flusher, _ := w.(http.Flusher)
	for {
		flusher.Flush()
		select {
		case line := <-lines:
			_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", line)
		case <-end:
			return
		}
	}
}

// broadcast sends a notification on every open stream.
func (s *server) broadcast(line []byte) {
	s.mu.Lock()
	streams := maps.Clone(s.streams)
	s.mu.Unlock()
	for to, end := range streams {
		select {
		case to <- line:
		case <-end:
		}
	}
}
