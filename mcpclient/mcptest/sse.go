package mcptest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// SSEHandler serves the older HTTP transport at every path: GET opens a stream of events, whose first names
// the place to post to; requests are posted there and answered on the stream.
func SSEHandler(b Behaviour) http.Handler {
	h := &sseHandler{b: b, streams: map[string]*sseStream{}}
	return http.HandlerFunc(h.serveHTTP)
}

type sseHandler struct {
	b Behaviour

	mu      sync.Mutex
	next    int
	streams map[string]*sseStream
}

// sseStream is one session.
type sseStream struct {
	server *server
	lines  chan []byte
	end    <-chan struct{}
}

func (h *sseHandler) serveHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		h.stream(w, r)
	case http.MethodPost:
		h.post(w, r)
	default:
		http.Error(w, "GET or POST", http.StatusMethodNotAllowed)
	}
}

func (h *sseHandler) stream(w http.ResponseWriter, r *http.Request) {
	st := &sseStream{server: newServer(h.b), lines: make(chan []byte), end: r.Context().Done()}
	h.mu.Lock()
	h.next++
	id := fmt.Sprint(h.next)
	h.streams[id] = st
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.streams, id)
		h.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	flusher, _ := w.(http.Flusher)
	_, _ = fmt.Fprintf(w, "event: endpoint\ndata: /message?session=%s\n\n", id)
	for {
		flusher.Flush()
		select {
		case line := <-st.lines:
			_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", line)
		case <-st.end:
			return
		}
	}
}

func (h *sseHandler) post(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	st := h.streams[r.URL.Query().Get("session")]
	h.mu.Unlock()
	if st == nil {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(r.Body)
	var m message
	if err != nil || json.Unmarshal(body, &m) != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	st.server.handle(r.Context(), m, func(line []byte) {
		select {
		case st.lines <- line:
		case <-st.end:
		}
	})
}
