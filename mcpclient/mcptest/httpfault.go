package mcptest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// HTTPFault is an answer over HTTP in place of the proper one.
type HTTPFault struct {
	At     string            // the JSON-RPC method that it befalls, or GET or DELETE; "": tools/call; "*": every request
	From   int               // the first of them that it befalls, from 1; 0: 1
	Count  int               // how many it befalls; 0: all from then on
	Status int               // 0: 200
	Header map[string]string // sent with it
	Body   string            // {id} is the request's id, {reply} the proper reply to it, which then is run
	Then   string            // what follows the body; "": the answer ends
}

// The words of HTTPFault.Then.
const (
	ThenHold   = "hold"   // the answer never ends
	ThenCut    = "cut"    // the connection breaks
	ThenDrip   = "drip"   // a byte every 10 ms, without end
	ThenPour   = "pour"   // bytes as fast as they can be read, without end
	ThenSilent = "silent" // not even the status is sent, and nothing follows
	ThenDrop   = "drop"   // not even the status is sent, and the connection breaks
)

// faults are the HTTP faults of a server, and how often each was asked for.
type faults struct {
	list []HTTPFault

	mu   sync.Mutex
	seen []int
}

func newFaults(list []HTTPFault) *faults { return &faults{list: list, seen: make([]int, len(list))} }

// pick is the fault for a request; nil: none.
func (f *faults) pick(method string) *HTTPFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.list {
		h := &f.list[i]
		if h.At != method && h.At != "*" && (h.At != "" || method != "tools/call") {
			continue
		}
		f.seen[i]++
		from := max(h.From, 1)
		if n := f.seen[i]; n >= from && (h.Count == 0 || n < from+h.Count) {
			return h
		}
	}
	return nil
}

// serve answers by the fault. run gives the proper reply.
func (h *HTTPFault) serve(w http.ResponseWriter, r *http.Request, id json.RawMessage, run func(context.Context) []byte) {
	switch h.Then {
	case ThenSilent:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case ThenDrop:
		panic(http.ErrAbortHandler)
	}
	body := strings.ReplaceAll(h.Body, "{id}", string(id))
	if strings.Contains(body, "{reply}") {
		body = strings.ReplaceAll(body, "{reply}", string(run(r.Context())))
	}
	for k, v := range h.Header {
		w.Header().Set(k, v)
	}
	if h.Status != 0 {
		w.WriteHeader(h.Status)
	}
	_, _ = io.WriteString(w, body)
	if h.Then == "" {
		return
	}
	flush(w)
	switch h.Then {
	case ThenHold:
		<-r.Context().Done()
	case ThenDrip:
		for wait(r.Context(), 10*time.Millisecond) {
			_, _ = io.WriteString(w, " ")
			flush(w)
		}
	case ThenPour:
		chunk := strings.Repeat("x", 16<<10)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, chunk); err != nil {
				break
			}
		}
	}
	panic(http.ErrAbortHandler) // cut: the answer must not end well
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}
