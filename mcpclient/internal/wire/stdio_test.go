//go:build unix

package wire

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource"
)

const legacy = "2025-11-25"

type peer struct {
	*mcp.ClientSession
	conn Conn
}

func self(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func stdioTransport4(t testing.TB, do string, o Options) Transport {
	return NewStdio(StdioConfig{Command: self(t), Env: []string{"WIRE_DO=" + do, "GORACE=atexit_sleep_ms=0", mark()}}, o)
}

// mark tells the children of this test process from those of another.
func mark() string { return "WIRE_OF=" + strconv.Itoa(os.Getpid()) }

func connect(t testing.TB, tr Transport, version string, co *mcp.ClientOptions) (*peer, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if co == nil {
		co = &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, co)
	var cs *mcp.ClientSession
	t.Cleanup(func() {
		if c := tr.Conn(); c != nil {
			closed(t, c)
		}
		if cs != nil {
			_ = cs.Close() // else the SDK keeps a goroutine for a subscription
		}
	})
	var err error
	cs, err = client.Connect(ctx, tr, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return nil, err
	}
	return &peer{cs, tr.Conn()}, nil
}

func stdio(t testing.TB, do string, o Options) *peer {
	t.Helper()
	p, err := connect(t, stdioTransport4(t, do, o), legacy, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// closed closes a connection and checks that nothing of it is left within the bound.
func closed(t testing.TB, c Conn) {
	t.Helper()
	began := time.Now()
	_ = c.Close()
	if d := time.Since(began); d > 200*time.Millisecond {
		t.Errorf("Close took %v", d)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Second)
	defer cancel()
	if err := c.Gone(ctx); err != nil {
		t.Errorf("not gone: %v", err)
	}
}

// call is what mcpclient does: arguments around the SDK, the reply around it too.
func (p *peer) call(ctx context.Context, name, args string) (*Slot, error) {
	s := &Slot{Args: []byte(args), Token: "tok"}
	_, err := p.CallTool(WithSlot(ctx, s), &mcp.CallToolParams{Name: name, Arguments: Marker})
	var got *Slot
	if errors.As(err, &got) && got == s {
		if s.RPC != nil {
			return s, s.RPC
		}
		return s, s.Bad
	}
	p.conn.Forget(s)
	if err == nil {
		err = errors.New("the reply was not tapped")
	}
	return s, err
}

func textOf(t testing.TB, s *Slot) string {
	t.Helper()
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(s.Raw, &r); err != nil || len(r.Content) == 0 {
		t.Fatalf("no text in %s: %v", s.Raw, err)
	}
	return r.Content[0].Text
}

func (p *peer) mustEcho(t testing.TB, args string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := p.call(ctx, "echo", args)
	if err != nil {
		t.Fatal(err)
	}
	if got := textOf(t, s); got != args {
		t.Fatalf("got %q, want %q", cut(got, 100), cut(args, 100))
	}
}

func TestStdioListAndCallAreRaw(t *testing.T) {
	p := stdio(t, "plain", Options{})
	s := &Slot{}
	_, err := p.ListTools(WithSlot(t.Context(), s), nil)
	if got := (*Slot)(nil); !errors.As(err, &got) || got != s {
		t.Fatalf("not tapped: %v", err)
	}
	if string(s.Raw) != listResult {
		t.Fatalf("got %s\nwant %s", s.Raw, listResult)
	}
	p.mustEcho(t, `{"b":9007199254740993,"a":"\u00e9\n","z":[1.0,-9223372036854775808]}`)
	if !strings.Contains(p.InitializeResult().ServerInfo.Name, "odd") {
		t.Fatal("initialize did not reach the SDK")
	}
	closed(t, p.conn)
	if err := p.conn.Err(); err != nil {
		t.Fatalf("after a Close that came first Err is %v", err)
	}
}

func TestStdioStartFails(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("\x7fELFnonsense"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		command, why string
		is           error
	}{
		{"no-such-command", "not on the child's PATH", exec.ErrNotFound},
		{"/no/such/file", "no such file", fs.ErrNotExist},
		{plain, "not executable", fs.ErrPermission},
		{broken, "no format that the system runs", toolsource.ErrPermanent},
	} {
		tr := NewStdio(StdioConfig{Command: tt.command, Env: []string{"PATH=/nowhere"}}, Options{})
		_, err := tr.Connect(t.Context())
		if !errors.Is(err, toolsource.ErrPermanent) || !errors.Is(err, tt.is) || !strings.Contains(err.Error(), filepath.Base(tt.command)) {
			t.Errorf("%s: got %v", tt.why, err)
		}
		if tr.Conn() != nil {
			t.Errorf("%s: a connection all the same", tt.why)
		}
	}
	tr := stdioTransport4(t, "plain", Options{})
	c, err := tr.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, c.(Conn))
	if _, err := tr.Connect(t.Context()); err == nil {
		t.Error("a second Connect worked")
	}
}

func TestStdioChildEnds(t *testing.T) {
	for _, tt := range []struct {
		do, tool string
		code     int
		says     []string
		why      string
	}{
		{"exit1", "", 1, []string{"exited with code 1", "missing API key"}, "at once, with a reason on standard error"},
		{"exit0", "", 0, []string{"exited with code 0"}, "at once, silently"},
		{"dies", "", 3, []string{"exited with code 3"}, "after initialize"},
		{"plain", "die", 3, []string{"exited with code 3", "out of cheese"}, "in mid call"},
		{"plain", "kill", -1, []string{"signal: killed"}, "killed in mid call"},
		{"plain", "shut", -1, []string{"closed its standard output but still runs"}, "only standard output is closed"},
		{"plain", "orphan", 3, []string{"exited with code 3"}, "a grandchild still holds the pipes"},
	} {
		t.Run(tt.do+"-"+tt.tool, func(t *testing.T) {
			tr := stdioTransport4(t, tt.do, Options{})
			began := time.Now()
			p, err := connect(t, tr, legacy, nil)
			if tt.tool != "" {
				if err != nil {
					t.Fatal(err)
				}
				began = time.Now()
				_, err = p.call(t.Context(), tt.tool, `{}`)
			} else if err == nil { // it died a moment after its answer
				_, err = p.call(t.Context(), "echo", `{}`)
			}
			if err == nil {
				t.Fatal("no error")
			}
			c := tr.Conn()
			select {
			case <-c.Done():
			case <-time.After(time.Second):
				t.Fatal("Done is open")
			}
			if d := time.Since(began); d > time.Second {
				t.Errorf("%s: took %v", tt.why, d)
			}
			var exit *ExitError
			if !errors.As(c.Err(), &exit) || exit.Code != tt.code {
				t.Fatalf("%s: Err is %v", tt.why, c.Err())
			}
			for _, s := range tt.says {
				if !strings.Contains(c.Err().Error(), s) {
					t.Errorf("%s: %q lacks %q", tt.why, c.Err(), s)
				}
			}
			closed(t, c)
		})
	}
}

func TestStdioOddReplies(t *testing.T) {
	const ok = `{"content":[{"type":"text","text":"ok"}]}`
	for _, tt := range []struct {
		print string // in answer to the call
		raw   string // expected result
		says  string // expected error
		why   string
	}{
		{`{"jsonrpc":"2.0","id":ID,"result":` + ok + `}  ` + "\t\r\n", ok, "", "spaces after the message"},
		{"npm notice new version\n" + `{"jsonrpc":"2.0","id":ID,"result":` + ok + "}\n", ok, "", "a log line in between"},
		{`{"id":ID,"result":` + ok + "}\n", ok, "", "no jsonrpc member"},
		{`{"jsonrpc":"2.0","id":"ID","result":` + ok + "}\n", ok, "", "the number comes back as a string"},
		{`{"jsonrpc":"2.0","id":ID.0,"result":` + ok + "}\n", ok, "", "the number is written as 3.0"},
		{`{"result":` + ok + `,"id":ID,"jsonrpc":"2.0"}` + "\n", ok, "", "members in another order"},
		{`{"jsonrpc":"2.0","\u0069d":ID,"res\u0075lt":` + ok + "}\n", ok, "", "member names with escapes"},
		{`{"jsonrpc":"2.0","id":ID,"error":null,"result":` + ok + "}\n", ok, "", "error is null"},
		{"\xEF\xBB\xBF" + `{"jsonrpc":"2.0","id":ID,"result":` + ok + "}\n", ok, "", "a byte order mark"},
		{`[{"jsonrpc":"2.0","id":ID,"result":` + ok + `},{"jsonrpc":"2.0","method":"notifications/x"}]` + "\n", ok, "", "a batch"},
		{`{"jsonrpc":"2.0","id":ID,"result":` + ok + "}\n" + `{"jsonrpc":"2.0","id":ID,"result":{}}` + "\n", ok, "", "the reply comes twice"},
		{`{"jsonrpc":"2.0","id":99999,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":ID,"result":` + ok + "}\n", ok, "", "a reply to nobody"},
		{`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"hologram","x":9007199254740993}]}}` + "\n",
			`{"content":[{"type":"hologram","x":9007199254740993}]}`, "", "content of an unknown kind"},
		{`{"jsonrpc":"2.0","id":ID,"result":{"inputRequests":null}}` + "\n", `{"inputRequests":null}`, "", "null is no input request"},
		{`{"jsonrpc":"2.0","id":ID,"error":{"code":-32003,"message":"busy"}}` + "\n", "", "busy (JSON-RPC error -32003)", "a code that the SDK uses itself"},
		{`{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"Browser session not found or expired"}}` + "\n", "", "Browser session not found or expired (JSON-RPC error -32602)", "an answer, though it sounds like a lost session"},
		{`{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"unexpected end of file"}}` + "\n", "", "unexpected end of file (JSON-RPC error -32603)", "an answer, though it sounds like a broken pipe"},
		{`{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"Connection closed"}}` + "\n", "", "Connection closed (JSON-RPC error -32000)", "an answer, whoever else uses these words for an end that is seen here"},
		{`{"jsonrpc":"2.0","id":ID,"error":"plain words"}` + "\n", "", "plain words", "the error is no object"},
		{`{"jsonrpc":"2.0","id":ID,"error":{"code":"x","message":5}}` + "\n", "", "error", "the error's members have wrong types"},
		{`{"jsonrpc":"2.0","id":ID,"result":{"content":[` + "\n", "", "malformed reply", "half a line"},
		{`{"jsonrpc":"2.0","id":ID,"result":{]}` + "\n", "", "malformed reply", "broken JSON"},
		{`{"jsonrpc":"2.0","id":ID}` + "\n", "", "neither result nor error", "neither result nor error"},
	} {
		p := stdio(t, "plain", Options{})
		for range 2 { // the second time shows that the session lives
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			s, err := p.call(ctx, "raw:"+tt.print, `{}`)
			cancel()
			switch {
			case tt.says == "" && (err != nil || string(s.Raw) != tt.raw):
				t.Errorf("%s: got %s, %v", tt.why, s.Raw, err)
			case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
				t.Errorf("%s: got error %v, want %q", tt.why, err, tt.says)
			}
		}
		p.mustEcho(t, `{"still":"alive"}`)
		if n := p.conn.(*stdioConn).calls.len(); n != 0 {
			t.Errorf("%s: %d calls are left in the table", tt.why, n)
		}
		closed(t, p.conn)
	}
}

func TestStdioNoiseAndBanner(t *testing.T) {
	p := stdio(t, "banner", Options{})
	p.mustEcho(t, `{}`)
	if n := p.conn.(*stdioConn).noise.count.Load(); n != 7 {
		t.Errorf("%d lines were counted as noise", n)
	}
	s, err := p.call(t.Context(), "split", `{}`)
	if err != nil || textOf(t, s) != "split" {
		t.Fatal(err)
	}
}
