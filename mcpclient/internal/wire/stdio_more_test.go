//go:build unix

package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource"
)

func TestStdioDeadlineHoldsThoughTheChildNeverReads(t *testing.T) {
	heard := make(chan struct{}, 1)
	o := Options{CloseBound: time.Second, Notify: func(string, json.RawMessage) {
		select {
		case heard <- struct{}{}:
		default:
		}
	}}
	p := stdio(t, "unreading", o)
	<-heard // it has stopped reading
	big := `{"x":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, tt := range []struct {
		args string
		sent bool
		why  string
	}{
		{big, true, "1 MiB, half of it is in the pipe"},
		{`{}`, false, "queued behind it: nothing has left"},
		{`{}`, false, "and once more"},
	} {
		var s *Slot
		var err error
		late := overshoot(300*time.Millisecond, func(ctx context.Context) { s, err = p.call(ctx, "echo", tt.args) })
		if !errors.Is(err, context.DeadlineExceeded) || late > slack {
			t.Errorf("%s: %v, %v late", tt.why, err, late)
		}
		if s.Sent() != tt.sent {
			t.Errorf("%s: Sent is %v", tt.why, s.Sent())
		}
	}
	w := &p.conn.(*stdioConn).w
	w.mu.Lock()
	for _, l := range w.queue {
		if strings.Contains(string(l.text[0]), "tools/call") && l.off == 0 {
			t.Error("a call that was given up is still in the queue")
		}
	}
	w.mu.Unlock()
	closed(t, p.conn)
}

// overshoot is how much later than a bare timer of the same length f returned. Whatever delays both is
// the machine's.
func overshoot(d time.Duration, f func(ctx context.Context)) time.Duration {
	fired := make(chan time.Time, 1)
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	go func() {
		<-time.NewTimer(d).C
		fired <- time.Now()
	}()
	f(ctx)
	returned := time.Now()
	return returned.Sub(<-fired)
}

const slack = 50 * time.Millisecond

func TestStdioCancelReachesTheServer(t *testing.T) {
	p := stdio(t, "plain", Options{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	s, err := p.call(ctx, "hang", `{}`)
	if !errors.Is(err, context.Canceled) || !s.Sent() {
		t.Fatalf("%v, sent %v", err, s.Sent())
	}
	p.mustEcho(t, `{}`)
	waitFor(t, func() bool { return strings.Contains(p.conn.Stderr(), "cancelled") })
}

func waitFor(t *testing.T, ok func() bool, what ...any) {
	t.Helper()
	end := time.Now().Add(5 * time.Second)
	for !ok() {
		if time.Now().After(end) {
			for _, w := range what {
				t.Logf("%s", w.(func() string)())
			}
			t.Fatal("waited 5 s in vain")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestStdioProgressComesBeforeTheReturn(t *testing.T) {
	var seen atomic.Int64
	p := stdio(t, "plain", Options{Progress: func(token string, pr toolsource.Progress) {
		if token == "tok" && pr.Total == 5 && pr.Message == "m" {
			seen.Add(1)
		}
	}})
	for i := range int64(200) {
		if _, err := p.call(t.Context(), "progress:5", `{}`); err != nil {
			t.Fatal(err)
		}
		if n := seen.Load(); n != 5*(i+1) {
			t.Fatalf("call %d returned after %d reports", i, n)
		}
	}
}

func TestStdioParallelCallsAreNotMixedUp(t *testing.T) {
	p := stdio(t, "plain", Options{})
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for j := range 20 {
				args := fmt.Sprintf(`{"i":%d,"j":%d,"pad":"%s"}`, i, j, strings.Repeat("p", rand.IntN(3000)))
				s, err := p.call(t.Context(), "echo", args)
				if err != nil {
					t.Error(err)
					return
				}
				if got := textOf(t, s); got != args {
					t.Errorf("got %s", cut(got, 50))
				}
			}
		})
	}
	wg.Wait()
}

func TestStdioRandomDeadlines(t *testing.T) {
	p := stdio(t, "plain", Options{})
	p.mustEcho(t, `{}`)
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 60 {
				args := fmt.Sprintf(`{"i":%d,"j":%d}`, i, j)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(1500))*time.Microsecond)
				s, err := p.call(ctx, "echo", args)
				if err == nil && textOf(t, s) != args {
					t.Errorf("wrong reply %s", s.Raw)
				} else if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	p.mustEcho(t, `{}`)
	waitFor(t, func() bool { return p.conn.(*stdioConn).calls.len() == 0 && runtime.NumGoroutine() <= before+1 })
}

func TestStdioOverLongLine(t *testing.T) {
	p := stdio(t, "plain", Options{MaxMessage: 1 << 20})
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, err := p.call(ctx, "big:3000000", `{}`)
		cancel()
		if err == nil || !strings.Contains(err.Error(), "more than 1048576 bytes") {
			t.Fatalf("got %v", err)
		}
	}
	s, err := p.call(t.Context(), "big:1000000", `{}`)
	if err != nil || len(textOf(t, s)) != 1000000 {
		t.Fatal(err)
	}
}

func TestStdioStderrFlood(t *testing.T) {
	p := stdio(t, "flood", Options{})
	if _, err := p.call(t.Context(), "flood", `{}`); err != nil {
		t.Fatal(err)
	}
	if n := len(p.conn.Stderr()); n == 0 || n > stderrShown {
		t.Fatalf("%d bytes of standard error", n)
	}
}

func TestStdioRequestsFromTheServer(t *testing.T) {
	var notes atomic.Int64
	o := Options{Notify: func(method string, _ json.RawMessage) {
		if method == "notifications/unknown" {
			notes.Add(1)
		}
	}}
	p := stdio(t, "asks", o) // the server asks before it answers initialize, with our own id
	if _, err := p.call(t.Context(), "ask", `{}`); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		s := p.conn.Stderr()
		return strings.Contains(s, `reply 1 {}`) && strings.Contains(s, `reply 2 {}`) &&
			strings.Contains(s, `reply "r1" {"code":-32601`) && strings.Contains(s, `reply "r2" {"code":-32601`)
	}, p.conn.Stderr)
	if notes.Load() != 2 {
		t.Fatalf("%d notifications seen", notes.Load())
	}
}

func TestStdioTwoRounds(t *testing.T) {
	//lint:ignore SA1019 the SDK still answers for roots, and nothing else makes it ask for a second round
	co := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{}}}
	p, err := connect(t, stdioTransport4(t, "plain", Options{}), legacy, co)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.call(t.Context(), "input", `{"big":9007199254740993}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := textOf(t, s); got != `{"big":9007199254740993}` {
		t.Fatalf("the second round carried %s", got)
	}
}

func TestMarkerIsNeverSent(t *testing.T) {
	p := stdio(t, "plain", Options{})
	for _, tt := range []struct {
		ctx    context.Context
		params mcp.CallToolParams
		says   string
		why    string
	}{
		{t.Context(), mcp.CallToolParams{Name: "line", Arguments: Marker}, "got lost", "no slot"},
		{WithSlot(t.Context(), &Slot{}), mcp.CallToolParams{Name: "line", Arguments: Marker}, "got lost", "a slot without arguments"},
		{WithSlot(t.Context(), &Slot{Args: []byte("{\"a\":\n1}")}), mcp.CallToolParams{Name: "line", Arguments: Marker}, "line break", "a line break in raw arguments"},
		{WithSlot(t.Context(), &Slot{Args: []byte("{}")}), mcp.CallToolParams{Name: "line", Arguments: Marker, Meta: mcp.Meta{"x": Marker}}, "not clear", "two markers"},
		{WithSlot(t.Context(), &Slot{Args: []byte("{}")}), mcp.CallToolParams{Name: "line", Arguments: map[string]any{"arguments": Marker, "b": Marker}}, "not clear", "markers deeper down"},
	} {
		_, err := p.CallTool(tt.ctx, &tt.params)
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v", tt.why, err)
		}
		p.mustEcho(t, `{}`)
	}
	s, err := p.call(t.Context(), "line", `{"text":"{\"\\u0000slot\":0}"}`)
	if err != nil || !strings.Contains(textOf(t, s), `"arguments":{"text":"{\"\\u0000slot\":0}"}`) {
		t.Errorf("the marker as text inside arguments: %v %s", err, s.Raw)
	}
}

func TestSlotOfAnotherCallIsRefused(t *testing.T) {
	p := stdio(t, "plain", Options{})
	s := &Slot{Args: []byte(`{}`)}
	ctx, cancel := context.WithCancel(WithSlot(t.Context(), s))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = p.CallTool(ctx, &mcp.CallToolParams{Name: "hang", Arguments: Marker})
	}()
	waitFor(t, s.Sent)
	if _, err := p.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: Marker}); err == nil || !strings.Contains(err.Error(), "another call") {
		t.Errorf("got %v", err)
	}
	cancel()
	<-done
}

func TestStdioChildrenAreGone(t *testing.T) {
	for _, do := range []string{"wrapped", "stubborn", "sleep"} {
		tr := stdioTransport4(t, do, Options{CloseBound: time.Second})
		if do == "sleep" { // never answers: the connect is given up
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			_, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(ctx, tr, &mcp.ClientSessionOptions{ProtocolVersion: legacy})
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		} else {
			p, err := connect(t, tr, legacy, nil)
			if err != nil {
				t.Fatal(err)
			}
			p.mustEcho(t, `{}`)
		}
		closed(t, tr.Conn())
		if left := childrenLeft(); len(left) > 0 {
			t.Errorf("%s: left %v", do, left)
		}
	}
}

// childrenLeft lists the live descendants of this test process, whatever group they are in.
func childrenLeft() (left []string) {
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		b, err := os.ReadFile("/proc/" + d.Name() + "/environ")
		if err == nil && strings.Contains(string(b), mark()+"\x00") {
			stat, _ := os.ReadFile("/proc/" + d.Name() + "/stat")
			left = append(left, string(stat[:min(len(stat), 60)])+" "+strings.ReplaceAll(string(b), "\x00", " "))
		}
	}
	return left
}

func TestCallsEndWhenTheConnectionIsClosed(t *testing.T) {
	p := stdio(t, "plain", Options{})
	errs := make(chan error, 8)
	for range 8 {
		go func() {
			_, err := p.call(context.Background(), "hang", `{}`)
			errs <- err
		}()
	}
	waitFor(t, func() bool { return p.conn.(*stdioConn).calls.len() == 8 })
	closed(t, p.conn)
	for range 8 {
		select {
		case err := <-errs:
			if err == nil {
				t.Error("no error")
			}
		case <-time.After(time.Second):
			t.Fatal("a call is still waiting")
		}
	}
	if err := p.Close(); err != nil && !errors.Is(err, mcp.ErrConnectionClosed) {
		t.Log(err)
	}
}

// The canary: it fails when an SDK upgrade breaks the way around it.
func TestCanaryTappedCallIsLight(t *testing.T) {
	p := stdio(t, "plain", Options{})
	p.mustEcho(t, `{"x":"thirty bytes of an argument"}`)
	const n = 300
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range n {
		s, err := p.call(context.Background(), "echo", `{"x":"thirty bytes of an argument"}`)
		if err != nil || s.Raw == nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if per := (after.TotalAlloc - before.TotalAlloc) / n; per > 1536 {
		t.Fatalf("%d bytes a call", per)
	} else {
		t.Logf("%d bytes a call", per)
	}
}

func TestSecretsDoNotShow(t *testing.T) {
	var log strings.Builder
	var mu sync.Mutex
	o := Options{
		Redact: func(s string) string { return strings.ReplaceAll(s, "cheese", "***") },
		Logger: slog.New(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return log.Write(b)
		}), nil)),
	}
	p := stdio(t, "plain", o)
	_, _ = p.call(t.Context(), "raw:noise with cheese\n"+`{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"bad cheese","data":"cheese"}}`+"\n", `{}`)
	s, err := p.call(t.Context(), `raw:{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"bad cheese","data":"cheese"}}`+"\n", `{}`)
	if err == nil || s.RPC == nil {
		t.Fatal(err)
	}
	_, dead := p.call(t.Context(), "die", `{}`)
	<-p.conn.Done()
	mu.Lock()
	defer mu.Unlock()
	all := fmt.Sprint(log.String(), err, string(s.RPC.Data), dead, p.conn.Err(), p.conn.Stderr())
	if strings.Contains(all, "cheese") || !strings.Contains(log.String(), "noise with ***") || !strings.Contains(p.conn.Stderr(), "out of ***") {
		t.Fatalf("got %s", all)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// A megabyte fills the pipe many times over: each time the writer has to wake up again.
func TestStdioMegabytesThereAndBack(t *testing.T) {
	p := stdio(t, "plain", Options{})
	big := `{"x":"` + strings.Repeat("x", 1<<20) + `"}`
	for range 20 {
		p.mustEcho(t, big)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				p.mustEcho(t, big)
				p.mustEcho(t, `{"small":1}`)
			}
		})
	}
	wg.Wait()
}

// What a child has written of a reply when it dies says nothing about the reply: the call is lost with the
// connection, and not malformed.
func TestStdioChildEndsInMidReply(t *testing.T) {
	p := stdio(t, "plain", Options{})
	if _, err := p.call(t.Context(), "torn", `{}`); err == nil || errors.Is(err, toolsource.ErrProtocol) {
		t.Errorf("error %v", err)
	}
	if _, err := p.call(t.Context(), "echo", `{}`); err == nil || !strings.Contains(p.conn.Err().Error(), "exited with code 3") {
		t.Errorf("afterwards: %v", err)
	}
}
