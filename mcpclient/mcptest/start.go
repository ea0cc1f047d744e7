package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/toolsource/toolsource"
)

// The transports of Start.
const (
	Memory = "memory" // streamable HTTP without a socket: connections are pipes in memory
	Stdio  = "stdio"  // a child process: the TestMain of the program has to call Main
	HTTP   = "http"   // streamable HTTP on the loopback
	SSE    = "sse"    // the older HTTP transport on the loopback
)

// Transports are all of them.
func Transports() []string { return []string{Memory, Stdio, HTTP, SSE} }

// Place is where a server is to be found. Command, Args and Env are set for Stdio, URL for the others.
type Place struct {
	Command string
	Args    []string
	Env     map[string]toolsource.Secret
	URL     string
	HTTP    http.RoundTripper // for Memory: what leads there; nil: any does

	close func()
}

// Close ends the server and waits until none of its handlers runs. A child ends with its client, not here.
func (p *Place) Close() {
	if p.close != nil {
		p.close()
	}
}

// Start serves a behaviour on a transport; over Stdio it only says how to start it. The caller closes the
// place after its client.
func Start(transport string, b Behaviour) (*Place, error) {
	var h http.Handler
	switch transport {
	case Stdio:
		exe, err := os.Executable()
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		return &Place{Command: exe, Env: map[string]toolsource.Secret{
			envName:  toolsource.Secret(raw),
			"GORACE": "atexit_sleep_ms=0", // under the race detector a process would take a second to end
		}}, nil
	case Memory, HTTP:
		h = Handler(b)
	case SSE:
		h = SSEHandler(b)
	default:
		return nil, fmt.Errorf("mcptest: %q is no transport", transport)
	}
	if transport == Memory {
		return serve(&pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}, h, b.Listen), nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return serve(l, h, b.Listen), nil
}

// serve answers on a listener.
func serve(l net.Listener, h http.Handler, listen string) *Place {
	p := &Place{URL: "http://" + l.Addr().String() + "/mcp", close: func() { _ = l.Close() }}
	if pipes, ok := l.(*pipeListener); ok {
		pipes.hole = listen == BlackHole
		rt := &http.Transport{DialContext: pipes.dial}
		p.HTTP = rt
		p.close = func() { _ = l.Close(); rt.CloseIdleConnections() }
	}
	switch listen {
	case Refuse:
		_ = l.Close()
		return p
	case BlackHole:
		return p
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	srv := &http.Server{
		BaseContext: func(net.Listener) context.Context { return ctx },
		Handler:     h,
		ConnState: func(_ net.Conn, s http.ConnState) {
			switch s {
			case http.StateNew: // before the goroutine of the connection starts
				running.Add(1)
			case http.StateClosed, http.StateHijacked:
				running.Done()
			}
		},
	}
	running.Go(func() { _ = srv.Serve(l) })
	rest := p.close
	p.close = func() {
		cancel()
		_ = srv.Close()
		rest()
		running.Wait()
	}
	return p
}

// pipeListener accepts connections that are pipes in memory.
type pipeListener struct {
	conns chan net.Conn
	hole  bool // nobody will ever read or write
	once  sync.Once
	done  chan struct{} // closed when it listens no more
}

var errRefused = errors.New("mcptest: connection refused: nothing listens")

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	select {
	case <-l.done:
		return nil, errRefused
	default:
	}
	near, far := net.Pipe()
	if l.hole {
		return near, nil
	}
	select {
	case l.conns <- far:
		return near, nil
	case <-l.done:
		return nil, errRefused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "memory" }
func (pipeAddr) String() string  { return "memory.test" }
