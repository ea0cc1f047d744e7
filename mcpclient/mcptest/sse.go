package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// SSEHandler serves the older HTTP transport at every path: GET opens a stream of events, whose first names
// the place to post to; requests are posted there and answered on the stream.
func SSEHandler(b Behaviour) http.Handler {
	return &sseHandler{b: b, faults: newFaults(b.HTTP), streams: map[string]*sseStream{}}
}

type sseHandler struct {
	b      Behaviour
	faults *faults

	mu      sync.Mutex
	next    int
	streams map[string]*sseStream
}

// sseStream is one session.
type sseStream struct {
	id     string
	server *server
	chunks chan []byte
	end    <-chan struct{}             // of its request
	spawn  func(func(context.Context)) // runs something that the end of the stream ends, and waits for
	cut    chan struct{}               // asks for its end; room for one
	mu     sync.Mutex                  // held while something is written that has to stay together
}

func (h *sseHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		if f := h.faults.pick(http.MethodGet); f != nil {
			f.serve(w, r, nil, nil)
			return
		}
		h.stream(w, r)
	case http.MethodPost:
		h.post(w, r)
	default:
		http.Error(w, "GET or POST", http.StatusMethodNotAllowed)
	}
}

func (h *sseHandler) stream(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	var running sync.WaitGroup
	st := &sseStream{chunks: make(chan []byte), end: ctx.Done(), cut: make(chan struct{}, 1)}
	st.spawn = func(run func(context.Context)) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if ctx.Err() == nil && h.streams[st.id] == st {
			running.Go(func() { run(ctx) })
		}
	}
	h.mu.Lock()
	st.server = newServer(h.b.life(h.next))
	st.server.background = func(_ context.Context, run func(context.Context)) { st.spawn(run) }
	h.next++
	st.id = fmt.Sprint(h.next)
	h.streams[st.id] = st
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.streams, st.id)
		h.mu.Unlock()
		cancel()
		running.Wait()
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	switch h.b.Endpoint {
	case NoEndpoint:
	case "":
		_, _ = fmt.Fprintf(w, "event: endpoint\ndata: /message?session=%s\n\n", st.id)
	default:
		_, _ = fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", h.b.Endpoint)
	}
	for {
		flush(w)
		select {
		case b := <-st.chunks:
			_, _ = w.Write(b)
		case <-st.end:
			return
		case <-st.cut:
			panic(http.ErrAbortHandler)
		}
	}
}

func (h *sseHandler) post(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	st := h.streams[r.URL.Query().Get("session")]
	h.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	var m message
	if err != nil || json.Unmarshal(body, &m) != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	if f := h.faults.pick(requestName(r, m)); f != nil {
		f.serve(w, r, m.ID, func(context.Context) []byte { // the proper reply goes its way, on the stream
			if st != nil {
				st.spawn(func(ctx context.Context) { st.server.handle(ctx, m, st.out()) })
			}
			return nil
		})
		return
	}
	if st == nil {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	st.spawn(func(ctx context.Context) { st.server.handle(ctx, m, st.out()) })
}

func (st *sseStream) out() *out {
	put := func(b []byte) {
		select {
		case st.chunks <- b:
		case <-st.end:
		}
	}
	raw := func(b []byte) {
		st.mu.Lock()
		defer st.mu.Unlock()
		put(b)
	}
	line := func(b []byte) { raw(event(b)) }
	long := func(write func(send)) {
		st.mu.Lock()
		defer st.mu.Unlock()
		put([]byte(eventBegin))
		write(put)
		put([]byte(eventEnd))
	}
	return &out{note: line, reply: line, raw: raw, long: long, cut: func() {
		select {
		case st.cut <- struct{}{}:
		default:
		}
	}}
}
