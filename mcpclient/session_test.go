package mcpclient

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource/mcpclient/internal/wire"
)

// slowTransport makes its connection when it is let, whatever its context says.
type slowTransport struct {
	wire.Transport
	let  chan struct{}
	conn *silentConn
}

func (t *slowTransport) Conn() wire.Conn { return nil } // there is none yet when the dial ends

func (t *slowTransport) Connect(context.Context) (mcp.Connection, error) {
	<-t.let
	return t.conn, nil
}

// silentConn takes everything and answers nothing.
type silentConn struct{ closed chan struct{} }

func (c *silentConn) Read(context.Context) (jsonrpc.Message, error) {
	<-c.closed
	return nil, io.EOF
}
func (c *silentConn) Write(context.Context, jsonrpc.Message) error { return nil }
func (c *silentConn) SessionID() string                            { return "" }
func (c *silentConn) Close() error {
	select {
	case <-c.closed:
	default:
		close(c.closed)
	}
	return nil
}

// A connection that comes after its dial has ended is closed, and the dial does not wait for it.
func TestLateConnectionIsClosed(t *testing.T) {
	s := newHTTPServer(t, nil)
	tr := &slowTransport{let: make(chan struct{}), conn: &silentConn{closed: make(chan struct{})}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.initialize(ctx, &session{srv: s, set: s.settings()}, tr, Era20251125); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(tr.let)
	select {
	case <-tr.conn.closed:
	case <-time.After(5 * time.Second):
		t.Error("it stays open")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
