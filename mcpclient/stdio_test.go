package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

func TestStdioCalls(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	ctx := t.Context()
	l, err := s.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{}
	for _, tool := range mcptest.Tools() {
		want = append(want, tool.Name)
	}
	if diff := cmp.Diff(want, names(l)); diff != "" || len(l.Problems) > 0 {
		t.Errorf("listing: %s %s", diff, problems(l))
	}
	for _, tc := range []struct {
		tool string
		args map[string]any
		want any
	}{
		{"echo", map[string]any{"text": "hello"}, "hello"},
		{"add", map[string]any{"a": 2, "b": 3}, int64(5)},
		{"add", map[string]any{"a": int64(9007199254740993), "b": 0}, int64(9007199254740993)},
		{"structured", nil, map[string]any{"answer": int64(42)}},
		{"bigint", nil, map[string]any{"n": int64(9007199254740993), "min": int64(-9223372036854775808), "beyond": json.Number("18446744073709551616"), "f": 1.5}},
		{"args", map[string]any{"u": uint64(18446744073709551615), "raw": json.RawMessage("{\"z\":1,\n\"a\":9007199254740993}"), "html": "<&>"},
			map[string]any{"u": json.Number("18446744073709551615"), "raw": map[string]any{"z": int64(1), "a": int64(9007199254740993)}, "html": "<&>"}},
		{"noise", nil, "after the noise"},
		{"sleep", map[string]any{"ms": 1}, "slept"},
	} {
		res, err := s.Call(ctx, tc.tool, tc.args, CallOptions{Listed: true})
		if err != nil {
			t.Errorf("%s: %v", tc.tool, err)
			continue
		}
		if diff := cmp.Diff(tc.want, res.Value); diff != "" {
			t.Errorf("%s: %s", tc.tool, diff)
		}
	}
	st := s.Status()
	if st.State != toolsource.StateReady || st.Era != Era20251125 || st.Transport != "stdio" || st.Tools != len(want) || st.ServerInfo != "mcptest 1" || st.Epoch != 1 {
		t.Errorf("status %+v", st)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Call(ctx, "echo", nil, CallOptions{}); !errors.Is(err, toolsource.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func TestArgumentsKeepTheirBytes(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	res, err := s.Call(t.Context(), "echo", map[string]any{"x": json.RawMessage(`{"z":1, "a":[1e2,9007199254740993]}`)}, CallOptions{})
	if err != nil || res.Value != `{"x":{"z":1,"a":[1e2,9007199254740993]}}` {
		t.Errorf("%v, %v", res.Value, err)
	}
}

func TestErrorsOfCalls(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{Errors: map[string]string{
		"case54": `{"code":-32602,"message":"Unknown tool: x","data":{"hint":"y"}}`,
	}, Results: map[string]string{"odd": `42`}})
	for _, tc := range []struct {
		why    string
		tool   string
		args   map[string]any
		kind   toolsource.Kind
		is     error
		ran    bool
		text   string
		remedy bool
	}{
		{"the tool's own answer", "fail", map[string]any{"text": "no such site"}, toolsource.KindTool, nil, false, "no such site", false},
		{"bad arguments by the server", "rpc_error", map[string]any{"code": -32602, "message": "a is missing"}, toolsource.KindBadArguments, toolsource.ErrBadArguments, false, "a is missing", true},
		{"unknown by the server", "nope", nil, toolsource.KindUnknownTool, toolsource.ErrUnknownTool, false, "Unknown tool: nope", true},
		{"code and data are kept", "case54", nil, toolsource.KindUnknownTool, toolsource.ErrUnknownTool, false, "Unknown tool: x", true},
		{"no such method", "rpc_error", map[string]any{"code": -32601, "message": "no"}, toolsource.KindProtocol, toolsource.ErrProtocol, false, "no (JSON-RPC error -32601)", false},
		{"an inner failure may have run", "rpc_error", map[string]any{"code": -32603, "message": "inner"}, toolsource.KindProtocol, toolsource.ErrProtocol, true, "inner", false},
		{"codes that the SDK takes for its own", "rpc_error", map[string]any{"code": -32004, "message": "mine"}, toolsource.KindProtocol, toolsource.ErrProtocol, true, "mine (JSON-RPC error -32004)", false},
		{"words about sessions, in bad arguments", "rpc_error", map[string]any{"code": -32602, "message": "Browser session not found: expired"}, toolsource.KindBadArguments, toolsource.ErrBadArguments, false, "Browser session not found", true},
		{"words about ends", "rpc_error", map[string]any{"code": -32603, "message": "unexpected end of file"}, toolsource.KindProtocol, toolsource.ErrProtocol, true, "end of file", false},
		{"words about connections", "rpc_error", map[string]any{"code": -32000, "message": "Connection closed"}, toolsource.KindProtocol, toolsource.ErrProtocol, true, "Connection closed", false},
		{"a result that is none", "odd", nil, toolsource.KindProtocol, toolsource.ErrProtocol, true, "is 42, want an object", true},
		{"arguments that JSON has not", "echo", map[string]any{"f": func() {}}, toolsource.KindBadArguments, toolsource.ErrBadArguments, false, "f is a func()", false},
	} {
		_, err := s.Call(t.Context(), tc.tool, tc.args, CallOptions{Tool: "shown"})
		if toolsource.KindOf(err) != tc.kind || tc.is != nil && !errors.Is(err, tc.is) || err == nil || !strings.Contains(err.Error(), tc.text) || !strings.Contains(err.Error(), "shown") {
			t.Errorf("%s: %v", tc.why, err)
			continue
		}
		var e *toolsource.CallError
		if errors.As(err, &e) && (e.MayHaveRun != tc.ran || e.Source != "mcp:srv" || (e.Remedy != "") != tc.remedy) {
			t.Errorf("%s: %+v", tc.why, e)
		}
	}
	_, err := s.Call(t.Context(), "case54", nil, CallOptions{})
	var rpc *RPCError
	if !errors.As(err, &rpc) || rpc.Code != -32602 || string(rpc.Data) != `{"hint":"y"}` {
		t.Errorf("%#v", rpc)
	}
	if st := s.Status(); st.Epoch != 1 {
		t.Errorf("an answer cost the session: %+v", st)
	}
}

func TestCase57Noise(t *testing.T) {
	var c struct{ Stdout []string }
	readCase(t, "57-stdout-noise.json", &c)
	noise := c.Stdout[:8] // what stands before the answer to initialize
	var log logBuffer
	s := newServerWith(t, mcptest.Behaviour{Stdout: noise, Trailing: " \r"}, &Options{Logger: testLogger(&log)})
	if _, err := s.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	if res, err := s.Call(t.Context(), "noise", nil, CallOptions{}); err != nil || res.Value != "after the noise" {
		t.Errorf("%v, %v", res.Value, err)
	}
	_ = s.Close()
	if !strings.Contains(log.String(), "srv") {
		t.Errorf("the log does not name the server: %s", log.String())
	}
}

func TestCase58StderrFlood(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{Flood: 256 << 10})
	if res, err := s.Call(t.Context(), "echo", map[string]any{"text": "a"}, CallOptions{}); err != nil || res.Value != "a" {
		t.Fatal(res.Value, err)
	}
	if n := len(s.Status().Stderr); n == 0 || n > 16<<10 {
		t.Errorf("%d bytes of standard error kept", n)
	}
}

func TestCase64RequestsOfTheServer(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	res, err := s.Call(ctx, "ask", nil, CallOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := res.Value.(map[string]any)
	if diff := cmp.Diff(map[string]any{}, got["ping"]); diff != "" {
		t.Errorf("ping: %s", diff)
	}
	for _, method := range []string{"roots/list", "sampling/createMessage", "elicitation/create", "no/such"} {
		e, _ := got[method].(map[string]any)
		if code, _ := e["code"].(int64); code != codeNoMethod {
			t.Errorf("%s: %v", method, got[method])
		}
	}
}

func TestBigReplyCostsOnlyItsCall(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	res, err := s.Call(t.Context(), "big", map[string]any{"bytes": 9 << 20}, CallOptions{})
	if err != nil || len(res.Value.(string)) != 9<<20 {
		t.Errorf("9 MiB: %v", err)
	}
	_, err = s.Call(t.Context(), "big", map[string]any{"bytes": 15 << 20}, CallOptions{})
	var e *toolsource.CallError
	if !errors.As(err, &e) || e.Kind != toolsource.KindProtocol || !e.MayHaveRun {
		t.Errorf("15 MiB: %v", err)
	}
	if res, err := s.Call(t.Context(), "echo", map[string]any{"text": "on"}, CallOptions{}); err != nil || res.Value != "on" || s.Status().Epoch != 1 {
		t.Errorf("afterwards: %v, %v, %+v", res.Value, err, s.Status())
	}
}

func TestProgressAndMeta(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	var mu sync.Mutex
	var got []toolsource.Progress
	ctx := toolsource.WithProgress(t.Context(), func(p toolsource.Progress) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, p)
	})
	if res, err := s.Call(ctx, "progress", map[string]any{"n": 5}, CallOptions{}); err != nil || res.Value != "done" {
		t.Fatal(res.Value, err)
	}
	mu.Lock()
	if len(got) != 5 || got[4] != (toolsource.Progress{Progress: 5, Total: 5, Message: "step 5"}) {
		t.Errorf("progress before the return: %+v", got)
	}
	mu.Unlock()
	// progress renews the silence limit
	if _, err := s.Call(t.Context(), "progress", map[string]any{"n": 8, "ms": 50}, CallOptions{Limits: toolsource.Limits{Silence: 200 * time.Millisecond}}); err != nil {
		t.Errorf("renewal: %v", err)
	}
	if _, err := s.Call(t.Context(), "sleep", map[string]any{"ms": 5000}, CallOptions{Limits: toolsource.Limits{Silence: 50 * time.Millisecond}}); !errors.Is(err, toolsource.ErrTimeout) {
		t.Errorf("silence: %v", err)
	}
	ctx = toolsource.WithCallMeta(t.Context(), map[string]any{"com.example/trace": "t1", "n": int64(9007199254740993)})
	res, err := s.Call(ctx, "meta", nil, CallOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m := res.Value.(map[string]any)
	if _, isString := m["progressToken"].(string); !isString || m["com.example/trace"] != "t1" || m["n"] != int64(9007199254740993) {
		t.Errorf("meta %v", m)
	}
	for key, reserved := range map[string]bool{
		"modelcontextprotocol.io/x": true, "mcp.dev/x": true, "tools.mcp.com/x": true, "progressToken": true,
		"com.example.mcp/x": false, "com.example/x": false, "plain": false, "/leading": false,
	} {
		_, err := s.Call(toolsource.WithCallMeta(t.Context(), map[string]any{key: 1}), "meta", nil, CallOptions{})
		if errors.Is(err, toolsource.ErrBadArguments) != reserved || err != nil && !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestCancelReachesTheServer(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := s.Call(ctx, "sleep", map[string]any{"ms": 10000}, CallOptions{})
	if !errors.Is(err, context.Canceled) || toolsource.KindOf(err) != toolsource.KindCancelled {
		t.Errorf("error %v", err)
	}
	deadline := time.Now().Add(3 * time.Second)
	for {
		res, err := s.Call(t.Context(), "stats", nil, CallOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if res.Value.(map[string]any)["notifications/cancelled"] == int64(1) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server was not told: %v", res.Value)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if s.Status().Epoch != 1 {
		t.Error("the session was lost")
	}
}

func TestChildEnvironment(t *testing.T) {
	t.Setenv("TOOLSOURCE_HOST_SECRET", "do-not-pass")
	dir := t.TempDir()
	s := newServerWith(t, mcptest.Behaviour{}, &Options{
		Workspace: dir,
		LookupEnv: func(name string) (string, bool) {
			v, ok := map[string]string{"PATH": "/base", "HOME": "/home/u", "OTHER": "x"}[name]
			return v, ok
		},
	}, func(c *ServerConfig) { c.Env["DECLARED"], c.Env["HOME"] = "own value", "/mine" })
	for name, want := range map[string]any{"PATH": "/base", "HOME": "/mine", "DECLARED": "own value", "OTHER": nil, "TOOLSOURCE_HOST_SECRET": nil} {
		res, err := s.Call(t.Context(), "env", map[string]any{"name": name}, CallOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := res.Value.(map[string]any)
		if want == nil && got["set"] != false || want != nil && got["value"] != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	res, err := s.Call(t.Context(), "cwd", nil, CallOptions{})
	real, _ := filepath.EvalSymlinks(dir)
	if err != nil || res.Value != real {
		t.Errorf("directory %v, want %s, %v", res.Value, real, err)
	}
}

func TestSecretsDoNotShow(t *testing.T) {
	const secret = "s3cr3t-Value"
	one := 1
	var log logBuffer
	s := newServerWith(t, mcptest.Behaviour{Exit: &one, Stderr: "bad key " + secret + "\n"}, &Options{Logger: testLogger(&log)},
		func(c *ServerConfig) { c.Env["API_KEY"] = secret })
	_, err := s.List(t.Context())
	waitFor(t, func() bool { return s.Status().Err != nil })
	st := s.Status()
	for what, text := range map[string]string{
		"error": err.Error(), "message": toolsource.ModelMessage(err), "stderr": st.Stderr, "status": st.Err.Error(), "log": log.String(),
		"server": sprint(s), "config": sprint(s.Config()), "pointer": sprint(&s.settings().cfg),
	} {
		if strings.Contains(text, secret) {
			t.Errorf("%s shows it: %s", what, text)
		}
	}
	if !strings.Contains(err.Error(), "bad key ***") {
		t.Errorf("error %v", err)
	}
	s = newServer(t, mcptest.Behaviour{}, func(c *ServerConfig) { c.Env["API_KEY"] = secret })
	_, err = s.Call(t.Context(), "fail", map[string]any{"text": "rejected " + secret}, CallOptions{})
	if strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "rejected ***") {
		t.Errorf("tool error: %v", err)
	}
	_, err = s.Call(t.Context(), "rpc_error", map[string]any{"message": "rejected " + secret}, CallOptions{})
	if strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "rejected ***") {
		t.Errorf("protocol error: %v", err)
	}
}

func TestSecretsDoNotShowInWhatAToolAnswers(t *testing.T) {
	const secret = "s3cr3t-Value"
	answer := strings.ReplaceAll(`{"isError":true,"_meta":{"k":"S"},"structuredContent":{"S":["S",{"a":"S"}]},"content":[
		{"type":"text","text":"S"},{"type":"resource_link","uri":"x://S","name":"S","title":"S","description":"S","annotations":{"a":"S"},"_meta":{"a":"S"}},
		{"type":"resource","resource":{"uri":"x://S","blob":"AAAA"}},{"type":"odd","v":"S"}]}`, "S", secret)
	s := newServer(t, mcptest.Behaviour{Results: map[string]string{"leak": strings.ReplaceAll(answer, "\n", "")}}, func(c *ServerConfig) { c.Env["API_KEY"] = secret })
	_, err := s.Call(t.Context(), "leak", nil, CallOptions{})
	var te *toolsource.ToolError
	if !errors.As(err, &te) || len(te.Result.Content) != 4 {
		t.Fatal(err)
	}
	b, _ := json.Marshal(te.Result)
	for _, text := range []string{err.Error(), string(b), fmt.Sprintf("%+v %#v", te.Result, te.Result)} {
		if strings.Contains(text, secret) {
			t.Errorf("it shows: %s", text)
		}
	}
}

func TestStatusKnowsOfAFailureThatListReturned(t *testing.T) {
	for range 200 {
		s, err := New(ServerConfig{ID: "none", Command: "no-such-command-anywhere"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.List(t.Context()); err == nil {
			t.Fatal("no error")
		}
		if st := s.Status(); st.State != toolsource.StateParked || st.Err == nil {
			t.Errorf("state %s, %v", st.State, st.Err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestConnectingIsNotBoundByTheLimitsOfCalls(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{InitDelay: 400 * time.Millisecond, ListDelay: 400 * time.Millisecond}, func(c *ServerConfig) {
		c.Silence, c.Ceiling, c.Connect = 200*time.Millisecond, 300*time.Millisecond, 20*time.Second
	})
	if _, err := s.List(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestCase66FiftyCancelled(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := s.Call(ctx, "mute", nil, CallOptions{}); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	waitFor(t, func() bool { return s.Status().InFlight == 50 })
	cancel()
	wg.Wait()
	waitFor(t, func() bool { return s.Status().InFlight == 0 && runtime.NumGoroutine() <= before })
	waitFor(t, func() bool { return stat(t, s, "notifications/cancelled") == 50 })
	if s.Status().Epoch != 1 {
		t.Error("the session was lost")
	}
}

func TestParallelCallsAreNotMixed(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	var wg sync.WaitGroup
	for i := range 300 {
		wg.Go(func() {
			text := fmt.Sprint("call ", i)
			if res, err := s.Call(t.Context(), "echo", map[string]any{"text": text}, CallOptions{}); err != nil || res.Value != text {
				t.Errorf("%s: %v, %v", text, res.Value, err)
			}
		})
	}
	wg.Wait()
}
