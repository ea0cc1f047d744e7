package mcptest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"
)

// message is any JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// rpcError is a JSON-RPC error.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return e.Message }

// send writes one message to the client.
type send func(line []byte)

// out is where the answer to one request goes.
type out struct {
	note  send                   // notifications and requests of our own
	reply send                   // the reply
	raw   send                   // bytes as they are, where the reply would go
	long  func(write func(send)) // a reply in pieces, which stay together
	cut   func()                 // ends the connection; nothing can be written any more
}

// server is the state of one server. Requests run side by side.
type server struct {
	b          Behaviour
	process    bool // a process of its own, which may exit
	grandchild int  // its pid; 0: none

	mu       sync.Mutex
	tools    []Tool
	counts   map[string]int
	running  map[string]context.CancelFunc // calls by id
	asked    map[string]chan<- message     // our own requests by id
	calls    int
	requests int                                   // of our own
	replies  func(context.Context) json.RawMessage // waits for those to Behaviour.Asks; nil: nothing was asked
	storm    bool                                  // of list changes is under way
	streams  map[chan []byte]<-chan struct{}       // open streams for GET, and their ends

	// background runs something beside the requests, until the connection ends.
	background func(ctx context.Context, run func(context.Context))
}

func newServer(b Behaviour) *server {
	tools := Tools()
	for i, t := range tools {
		if to, ok := b.Renamed[t.Name]; ok {
			tools[i].Name = to
		}
	}
	return &server{b: b, tools: tools, counts: map[string]int{}, running: map[string]context.CancelFunc{}, asked: map[string]chan<- message{}, streams: map[chan []byte]<-chan struct{}{}}
}

// Serve answers on a pair of streams until the input ends, which is no error, or ctx does; the input has
// to be closed then. It returns when the last answer is written.
func Serve(ctx context.Context, in io.Reader, out io.Writer, b Behaviour) error {
	return newServer(b.life(0)).serve(ctx, in, out)
}

func (s *server) serve(ctx context.Context, in io.Reader, w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var mu sync.Mutex
	put := func(b []byte) {
		if _, err := w.Write(b); err != nil {
			cancel() // nobody listens any more
		}
	}
	raw := func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		put(b)
	}
	write := func(line []byte) { raw(append(append(line, s.b.Trailing...), '\n')) }
	s.background = func(_ context.Context, run func(context.Context)) { running.Go(func() { run(ctx) }) }
	o := &out{note: write, reply: write, raw: raw, cut: cancel}
	o.long = func(write func(send)) {
		mu.Lock()
		defer mu.Unlock()
		write(put)
		put([]byte(s.b.Trailing + "\n"))
	}
	if s.process {
		o.cut = func() { os.Exit(1) }
	}
	lists := 0
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadBytes('\n')
		var m message
		if len(bytes.TrimSpace(line)) > 0 && json.Unmarshal(line, &m) == nil {
			if m.Method == "tools/list" {
				lists++
			}
			switch m.Method {
			case "initialize", "": // in order, before anything that may follow
				s.handle(ctx, m, o)
			default:
				running.Go(func() { s.handle(ctx, m, o) })
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if s.b.NeverRead && lists > 0 {
			<-ctx.Done()
			return ctx.Err()
		}
	}
}

// handle takes one message in and answers it, if it wants an answer.
func (s *server) handle(ctx context.Context, m message, o *out) {
	s.count(m)
	switch {
	case m.Method == "" && m.ID != nil:
		s.takeReply(m)
	case m.ID == nil:
		s.notified(m)
	default:
		result, err := s.request(ctx, m, o)
		if result == nil && err == nil {
			return // never to be answered
		}
		if s.b.Flood > 0 {
			flood(s.b.Flood)
		}
		if m.Method == "tools/call" && s.b.Reply != "" {
			o.odd(s.b.Reply, m.ID, result, err)
		} else {
			o.reply(reply(m.ID, result, err))
		}
		if s.b.ExitOnInit && m.Method == "initialize" && s.process {
			os.Exit(0)
		}
	}
}

func reply(id, result json.RawMessage, err error) []byte {
	if raw, ok := err.(rawError); ok {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, id, []byte(raw))
	}
	if err != nil {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, id, encode(err))
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// rawError is an error of the protocol as it is to be written.
type rawError json.RawMessage

func (rawError) Error() string { return "raw error" }

func encode(v any) json.RawMessage {
	if err, ok := v.(error); ok {
		if _, isRPC := v.(*rpcError); !isRPC {
			v = &rpcError{Code: -32603, Message: err.Error()}
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

func (s *server) count(m message) {
	key := m.Method
	if key == "" {
		key = "reply"
	}
	if m.Method == "tools/call" {
		var p struct{ Name string }
		_ = json.Unmarshal(m.Params, &p)
		key += " " + p.Name
	}
	s.mu.Lock()
	s.counts[key]++
	s.mu.Unlock()
	s.journal(key)
}

// journal writes a line that outlives the process.
func (s *server) journal(line string) {
	if s.b.Journal == "" {
		return
	}
	f, err := os.OpenFile(s.b.Journal, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.WriteString(line + "\n")
}

func (s *server) takeReply(m message) {
	s.mu.Lock()
	to := s.asked[string(m.ID)]
	delete(s.asked, string(m.ID))
	s.mu.Unlock()
	if to != nil {
		to <- m // buffered for the one answer
	}
}

func (s *server) notified(m message) {
	if m.Method != "notifications/cancelled" {
		return
	}
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(m.Params, &p)
	s.mu.Lock()
	cancel := s.running[string(p.RequestID)]
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// request answers one request. A nil result and a nil error mean that there is no answer.
func (s *server) request(ctx context.Context, m message, o *out) (json.RawMessage, error) {
	if result, err, ok := s.answerAs(m); ok {
		return result, err
	}
	switch m.Method {
	case "server/discover":
		switch s.b.Discover {
		case Silent:
			return nil, nil
		case Exit:
			o.cut()
			return nil, nil
		}
		if s.b.Modern {
			return json.RawMessage(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":` + s.capabilities() + `}`), nil
		}
	case "subscriptions/listen":
		if s.b.Modern {
			o.note([]byte(acknowledged))
			return nil, nil // it ends with the connection
		}
	case "initialize":
		if s.b.Modern {
			break
		}
		if s.b.SilentInit {
			return nil, nil
		}
		if s.b.Asks == AsksEarly {
			s.askNow(o)
		}
		wait(ctx, s.b.InitDelay)
		return s.initialize(m.Params)
	case "ping":
		if s.b.Modern {
			break
		}
		return json.RawMessage(`{}`), nil
	case "tools/list":
		if s.b.NoTools {
			break
		}
		if s.b.SilentList {
			return nil, nil
		}
		wait(ctx, s.b.ListDelay)
		s.startStorm(ctx, o)
		if s.b.Asks == AsksIdle {
			s.background(ctx, func(ctx context.Context) {
				if wait(ctx, 20*time.Millisecond) {
					s.askNow(o)
				}
			})
		}
		return s.list(m.Params)
	case "tools/call":
		return s.call(ctx, m, o)
	}
	return nil, &rpcError{Code: -32601, Message: "method not found: " + m.Method}
}

func (s *server) initialize(params json.RawMessage) (json.RawMessage, error) {
	var p struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(params, &p)
	if s.b.Only != "" && p.ProtocolVersion != s.b.Only {
		return nil, rawError(fmt.Sprintf(`{"code":-32602,"message":"Unsupported protocol version","data":{"supported":[%q],"requested":%q}}`, s.b.Only, p.ProtocolVersion))
	}
	if s.b.Version != "" {
		p.ProtocolVersion = s.b.Version
	}
	name := s.b.Name
	if name == "" {
		name = "mcptest"
	}
	return encode(map[string]any{
		"protocolVersion": p.ProtocolVersion,
		"capabilities":    json.RawMessage(s.capabilities()),
		"serverInfo":      map[string]any{"name": name, "version": "1"},
	}), nil
}

// capabilities are what it declares.
func (s *server) capabilities() string {
	switch {
	case s.b.Capabilities != "":
		return s.b.Capabilities
	case s.b.NoTools:
		return `{}`
	}
	return `{"tools":{"listChanged":true}}`
}

func (s *server) list(params json.RawMessage) (json.RawMessage, error) {
	var p struct{ Cursor string }
	_ = json.Unmarshal(params, &p)
	if s.b.Pages != nil {
		page, ok := s.b.Pages[p.Cursor]
		if !ok {
			return nil, &rpcError{Code: -32602, Message: "unknown cursor " + p.Cursor}
		}
		return json.RawMessage(page), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.b.EndlessPages {
		n, _ := strconv.Atoi(p.Cursor)
		if n > 0 {
			return fmt.Appendf(nil, `{"tools":[{"name":"tool_%d","inputSchema":{"type":"object"}}],"nextCursor":"%d"}`, n, n+1), nil
		}
		return encode(map[string]any{"tools": s.tools, "nextCursor": "1"}), nil
	}
	return encode(map[string]any{"tools": s.tools}), nil
}

func (s *server) call(ctx context.Context, m message, o *out) (json.RawMessage, error) {
	var p struct {
		Name      string
		Arguments json.RawMessage
		Meta      json.RawMessage `json:"_meta"`
		Inputs    json.RawMessage `json:"inputResponses"`
		State     string          `json:"requestState"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return nil, &rpcError{Code: -32602, Message: err.Error()}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	id := string(m.ID)
	if s.dies() {
		o.cut()
		return nil, nil
	}
	s.mu.Lock()
	s.running[id] = cancel
	run := tool(s.tools, p.Name)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.running, id)
		s.mu.Unlock()
	}()
	if !wait(ctx, s.b.CallDelay) {
		return nil, nil
	}
	if raw, ok := s.b.Errors[p.Name]; ok {
		return nil, rawError(raw)
	}
	if raw, ok := s.b.Results[p.Name]; ok {
		return json.RawMessage(raw), nil
	}
	if run == nil {
		return nil, &rpcError{Code: -32602, Message: "Unknown tool: " + p.Name}
	}
	return run(ctx, &call{server: s, id: m.ID, args: p.Arguments, meta: p.Meta, inputs: p.Inputs, state: p.State, write: o.note, out: o})
}

const acknowledged = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true}}}`

func (s *server) askNow(o *out) {
	replies := s.askAll(o.note)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies = replies
}

// dies counts a call and reports whether it is the last one of this life.
func (s *server) dies() bool {
	if s.b.DieAt == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts["die"]++
	return s.counts["die"] >= s.b.DieAt
}

// startStorm says over and over that the list changed, as long as ctx lasts or, over HTTP, somebody listens.
func (s *server) startStorm(ctx context.Context, o *out) {
	s.mu.Lock()
	begun := s.storm
	s.storm = true
	s.mu.Unlock()
	if s.b.ListStorm <= 0 || begun {
		return
	}
	s.background(ctx, func(ctx context.Context) {
		for wait(ctx, s.b.ListStorm) {
			o.note([]byte(listChanged))
		}
	})
}

// wait waits for d or for ctx, and reports whether d passed.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
