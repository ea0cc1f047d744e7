package mcptest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"
)

const session = "mcptest-session"

// Handler serves streamable HTTP in the way of the revisions before 2026-07-28: one session, requests by
// POST, and a stream for GET where the behaviour has one.
func Handler(b Behaviour) http.Handler {
	h := &httpHandler{b: b, faults: newFaults(b.HTTP), s: newServer(b.life(0)), session: session}
	h.s.background = onStream
	return h
}

// onStream runs something beside the requests of a server over HTTP as long as its stream for GET lasts;
// without one there is nobody to hear it.
func onStream(context.Context, func(context.Context)) {}

// httpHandler is a server and, where it has several lives, the one that it lives.
type httpHandler struct {
	b      Behaviour
	faults *faults

	mu      sync.Mutex
	s       *server
	life    int
	session string
}

func (h *httpHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m message
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &m) != nil {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
	}
	if a := h.b.Authorization; a != "" && r.Header.Get("Authorization") != a {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		http.Error(w, "unauthorized", http.StatusUnauthorized)
		return
	}
	s, id, known := h.current(r, m)
	if f := h.faults.pick(requestName(r, m)); f != nil {
		f.serve(w, r, m.ID, func(ctx context.Context) (line []byte) {
			s.handle(ctx, m, &out{note: func([]byte) {}, reply: func(b []byte) { line = b }, raw: func([]byte) {}, cut: func() {}, long: func(write func(send)) {
				write(func(b []byte) { line = append(line, b...) })
			}})
			return line
		})
		return
	}
	if !known {
		sessionNotFound(w)
		return
	}
	if m.Method == "initialize" {
		w.Header().Set("Mcp-Session-Id", id)
	}
	s.serveHTTP(w, r, m, h.die)
}

func requestName(r *http.Request, m message) string {
	switch {
	case r.Method != http.MethodPost:
		return r.Method
	case m.Method == "":
		return "reply"
	}
	return m.Method
}

// current is the server of this life, its session, and whether the request is of it. An initialize begins
// the next life, if there are several.
func (h *httpHandler) current(r *http.Request, m message) (s *server, id string, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.b.Lives) == 0 {
		return h.s, h.session, true
	}
	if m.Method == "initialize" {
		h.s = newServer(h.b.life(h.life))
		h.s.background = onStream
		h.life++
		h.session = fmt.Sprint(session, "-", h.life)
		return h.s, h.session, true
	}
	asked := r.Header.Get("Mcp-Session-Id")
	return h.s, h.session, asked == h.session || m.Method == "server/discover"
}

// die forgets the session.
func (h *httpHandler) die() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.session = "none"
}

func sessionNotFound(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`)
}

func (s *server) serveHTTP(w http.ResponseWriter, r *http.Request, m message, die func()) {
	switch r.Method {
	case http.MethodPost:
	case http.MethodDelete:
		return
	case http.MethodGet:
		if s.b.Stream && !s.b.Modern {
			s.stand(w, r, "")
			return
		}
		fallthrough
	default:
		w.Header().Set("Allow", "POST, DELETE")
		http.Error(w, "no stream here", http.StatusMethodNotAllowed)
		return
	}
	if m.Method == "tools/call" && s.refused(w) {
		return
	}
	if m.Method == "subscriptions/listen" && s.b.Modern {
		s.count(m)
		s.stand(w, r, acknowledged)
		return
	}
	if m.Method == "" || m.ID == nil {
		s.handle(r.Context(), m, &out{})
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.answer(r.Context(), w, m, die)
}

// refused answers a call as the behaviour says, instead of running it.
func (s *server) refused(w http.ResponseWriter) bool {
	s.mu.Lock()
	s.calls++
	lost := s.b.LoseAfter > 0 && s.calls == s.b.LoseAfter
	s.mu.Unlock()
	if lost {
		sessionNotFound(w)
		return true
	}
	status, contentType := s.b.CallStatus, s.b.CallContentType
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
	_, _ = io.WriteString(w, s.b.CallBody)
	return true
}

// answer writes the reply as JSON, or as events with whatever the call sends before it.
func (s *server) answer(ctx context.Context, w http.ResponseWriter, m message, die func()) {
	var mu sync.Mutex
	cut, silent := false, true
	raw := func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		silent = false
		_, _ = w.Write(b)
		flush(w)
	}
	o := &out{note: s.broadcast, raw: raw, cut: func() { cut = true; die() }}
	put := func(b []byte) { _, _ = w.Write(b) }
	before, after := "", ""
	o.long = func(write func(send)) {
		mu.Lock()
		defer mu.Unlock()
		silent = false
		put([]byte(before))
		write(put)
		put([]byte(after))
	}
	contentType := "application/json"
	o.reply = func(line []byte) {
		mu.Lock()
		defer mu.Unlock()
		silent = false
		_, _ = w.Write(line)
	}
	if s.b.SSE {
		contentType, before, after = "text/event-stream", eventBegin, eventEnd
		o.reply = func(line []byte) { raw(event(line)) }
		o.note = o.reply
	}
	w.Header().Set("Content-Type", contentType)
	s.handle(ctx, m, o)
	if silent && !cut { // there will be no answer: the request stays open
		<-ctx.Done()
	}
	if cut || silent {
		panic(http.ErrAbortHandler)
	}
}

// event is a message as an event, whatever line ends it has.
func event(line []byte) []byte {
	return fmt.Appendf(nil, "%s%s%s", eventBegin, bytes.ReplaceAll(line, []byte("\n"), []byte("\ndata: ")), eventEnd)
}

const (
	eventBegin = "event: message\ndata: "
	eventEnd   = "\n\n"
)

// stand keeps a stream for what nobody asked for open, after a first message.
func (s *server) stand(w http.ResponseWriter, r *http.Request, first string) {
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
	if first != "" {
		_, _ = w.Write(event([]byte(first)))
	}
	var storm <-chan time.Time
	if s.b.ListStorm > 0 {
		t := time.NewTicker(s.b.ListStorm)
		defer t.Stop()
		storm = t.C
	}
	for {
		flush(w)
		select {
		case line := <-lines:
			_, _ = w.Write(event(line))
		case <-storm:
			_, _ = w.Write(event([]byte(listChanged)))
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
