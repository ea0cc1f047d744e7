//go:build unix

package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func id(t *testing.T, v any) jsonrpc.ID {
	t.Helper()
	i, err := jsonrpc.MakeID(v)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestInitializeIsNotCancelledAtTheServer(t *testing.T) {
	c := newCore(Options{})
	if _, err := c.prepare(t.Context(), &jsonrpc.Request{ID: id(t, 1.0), Method: methodInitialize}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.prepare(t.Context(), &jsonrpc.Request{ID: id(t, 2.0), Method: methodCallTool}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		params string
		skip   bool
	}{{`{"requestId":1}`, true}, {`{"requestId":2}`, false}, {`{"requestId":3}`, false}, {`{"requestId":"x"}`, false}, {`[]`, false}} {
		_, err := c.prepare(t.Context(), &jsonrpc.Request{Method: methodCancelled, Params: []byte(tt.params)})
		if errors.Is(err, errSkip) != tt.skip {
			t.Errorf("%s: %v", tt.params, err)
		}
	}
	if n := c.calls.len(); n != 0 {
		t.Errorf("%d calls are left", n)
	}
}

func TestForgottenSlotIsNeverWritten(t *testing.T) {
	c := newCore(Options{})
	s := &Slot{}
	out, err := c.prepare(WithSlot(context.Background(), s), &jsonrpc.Request{ID: id(t, 1.0), Method: methodListTools})
	if err != nil {
		t.Fatal(err)
	}
	taken := c.calls.take(1) // the reply is being read
	c.Forget(s)              // while the call is given up
	text := []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	env, _ := scan(text)
	c.reply(text, env, taken, false)
	if s.Raw != nil || s.Sent() {
		t.Errorf("written all the same: %s", s.Raw)
	}
	if taken != out.call {
		t.Error("another call")
	}
	if _, err := c.prepare(WithSlot(context.Background(), &Slot{}), &jsonrpc.Request{ID: id(t, 2.0), Method: methodListTools}); err != nil {
		t.Fatal(err)
	}
}

func TestTextOfRequests(t *testing.T) {
	c := newCore(Options{})
	for _, tt := range []struct {
		req  jsonrpc.Request
		want string
	}{
		{jsonrpc.Request{ID: id(t, 7.0), Method: "ping"}, `{"jsonrpc":"2.0","id":7,"method":"ping"}`},
		{jsonrpc.Request{ID: id(t, "a\"b"), Method: "x\n", Params: []byte(`{}`)}, `{"jsonrpc":"2.0","id":"a\"b","method":"x\n","params":{}}`},
		{jsonrpc.Request{Method: "n"}, `{"jsonrpc":"2.0","method":"n"}`},
	} {
		out, err := c.prepare(t.Context(), &tt.req)
		if err != nil || string(out.text[0]) != tt.want || out.text.size() != len(tt.want) {
			t.Errorf("got %s, %v, want %s", out.text[0], err, tt.want)
		}
	}
}

func TestCodesThatTheSDKUsesItselfStayApart(t *testing.T) {
	for code, same := range map[string]bool{"-32003": false, "-32004": false, "-32005": false, "-32601": true} {
		c := newCore(Options{})
		if _, err := c.prepare(t.Context(), &jsonrpc.Request{ID: id(t, 1.0), Method: "ping"}); err != nil {
			t.Fatal(err)
		}
		msg, _, err := c.receive([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":`+code+`,"message":"m"}}`), nil, false)
		if err != nil {
			t.Fatal(err)
		}
		var e *jsonrpc.Error
		if got := errors.As(msg.(*jsonrpc.Response).Error, &e); got != same {
			t.Errorf("%s: is one of the SDK's errors: %v", code, got)
		}
	}
}

func TestDefaultCap(t *testing.T) {
	for asked, want := range map[int]int{0: 10 << 20, -1: 10 << 20, 5: 5} {
		if got := newCore(Options{MaxMessage: asked}).opts.MaxMessage; got != want {
			t.Errorf("%d is taken as %d, want %d", asked, got, want)
		}
	}
}

// A line that is given up in the moment of a write that finds no room is not begun later.
func TestLineGivenUpInFlightIsNotBegun(t *testing.T) {
	s := &Slot{}
	l := &outLine{text: parts{[]byte("x\n")}, slot: s, done: make(chan struct{})}
	w := &lineWriter{queue: []*outLine{l}, busy: true}
	lines := w.fly()
	if len(lines) != 1 || !s.Sent() {
		t.Fatal("not on its way")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.wait(ctx, l); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	w.land(lines, 0)
	if again := w.fly(); len(again) != 0 || s.Sent() {
		t.Errorf("%d lines, sent %v", len(again), s.Sent())
	}
}

func TestTokenIsPutIn(t *testing.T) {
	for _, tt := range []struct {
		params, token, args, want string
		why                       string
	}{
		{`{"name":"t"}`, "7", "", `{"_meta":{"progressToken":"7"},"name":"t"}`, "no _meta"},
		{`{}`, "7", "", `{"_meta":{"progressToken":"7"}}`, "nothing at all"},
		{` { } `, "7", "", ` {"_meta":{"progressToken":"7"} } `, "spaces"},
		{`{"_meta":{"a":1},"name":"t"}`, "7", "", `{"_meta":{"progressToken":"7","a":1},"name":"t"}`, "a _meta"},
		{`{"name":"t","_meta":{}}`, "7", "", `{"name":"t","_meta":{"progressToken":"7"}}`, "an empty one"},
		{`{"_meta":{"progressToken":1}}`, "7", "", `{"_meta":{"progressToken":1}}`, "it is there"},
		{`{"_meta":{"a":{"progressToken":1}}}`, "7", "", `{"_meta":{"progressToken":"7","a":{"progressToken":1}}}`, "deeper down"},
		{`{"_meta":null}`, "7", "", `{"_meta":null}`, "no object"},
		{`{"name":"t"}`, "a\"b", "", `{"_meta":{"progressToken":"a\"b"},"name":"t"}`, "escapes"},
		{`{"name":"t"}`, "", "", `{"name":"t"}`, "none"},
		{`{"_meta":{"a":1},"name":"t","arguments":MARK}`, "7", `{"x":1}`, `{"_meta":{"progressToken":"7","a":1},"name":"t","arguments":{"x":1}}`, "before the arguments"},
		{`{"name":"t","arguments":MARK,"_meta":{"a":1}}`, "7", `{"x":1}`, `{"name":"t","arguments":{"x":1},"_meta":{"progressToken":"7","a":1}}`, "behind them"},
		{`{"name":"t","arguments":MARK}`, "", `{"x":1}`, `{"name":"t","arguments":{"x":1}}`, "the arguments alone"},
	} {
		s, err := splice([]byte(strings.ReplaceAll(tt.params, "MARK", string(Marker))), &Slot{Args: []byte(tt.args), Token: tt.token})
		got, _ := s.append(nil)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v", tt.why, got, err)
		}
		if tt.why != "escapes" && len(got) > s.size() {
			t.Errorf("%s: %d bytes in a text of %d", tt.why, len(got), s.size())
		}
	}
}

func TestAPeerThatAsksWithoutEndIsNotAnsweredWithoutEnd(t *testing.T) {
	c := newCore(Options{})
	ask := func(n int) (passed []*jsonrpc.Request) {
		for i := range n {
			msg, _, err := c.receive(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"p%d","method":"ping"}`, i), nil, false)
			if req, ok := msg.(*jsonrpc.Request); ok {
				passed = append(passed, req)
			} else if !errors.Is(err, errAsksTooMuch) {
				t.Fatalf("request %d: %v, %v", i, msg, err)
			}
		}
		return passed
	}
	first := ask(10_000)
	if len(first) != maxAsked {
		t.Fatalf("%d requests passed, want %d", len(first), maxAsked)
	}
	for _, req := range first[:100] {
		c.answered(&jsonrpc.Response{ID: req.ID})
	}
	c.answered(&jsonrpc.Request{Method: "tools/call"}) // ours
	if more := ask(1000); len(more) != 100 {
		t.Errorf("%d requests passed after 100 answers", len(more))
	}
}
