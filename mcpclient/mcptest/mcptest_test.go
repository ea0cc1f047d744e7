package mcptest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	Main()
	goleak.VerifyTestMain(m)
}

// talk writes requests and gives the replies in the order of their ids.
func talk(t *testing.T, b Behaviour, requests ...string) []string {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- Serve(t.Context(), inR, outW, b)
		_ = outW.Close()
	}()
	lines := bufio.NewScanner(outR)
	var replies []string
	for _, r := range requests {
		if _, err := io.WriteString(inW, r+"\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() {
			t.Fatal("no reply to", r)
		}
		replies = append(replies, lines.Text())
	}
	_ = inW.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	return replies
}

func TestServe(t *testing.T) {
	got := talk(t, Behaviour{Results: map[string]string{"x": `{ "odd" :1}`}},
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
		`{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"echo","arguments":{"text":"<hi>"}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"x"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"nope"}}`,
		`{"jsonrpc":"2.0","id":5,"method":"nope"}`,
	)
	for i, want := range []string{
		`"protocolVersion":"2025-11-25"`,
		`{"jsonrpc":"2.0","id":"two","result":{"content":[{"text":"<hi>","type":"text"}]}}`,
		`{"jsonrpc":"2.0","id":3,"result":{ "odd" :1}}`,
		`{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"Unknown tool: nope"}}`,
		`{"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"method not found: nope"}}`,
	} {
		if !strings.Contains(got[i], want) {
			t.Errorf("%s, want %s", got[i], want)
		}
	}
}

func TestBehaviourTravels(t *testing.T) {
	one := 1
	in := Behaviour{Exit: &one, Pages: map[string]string{"": "{ }"}, sleeper: true}
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out Behaviour
	if err := json.Unmarshal(raw, &out); err != nil || *out.Exit != 1 || out.Pages[""] != "{ }" || !out.sleeper {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestHandler(t *testing.T) {
	hs := httptest.NewServer(Handler(Behaviour{SSE: true}))
	defer hs.Close()
	resp, err := hs.Client().Post(hs.URL, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if !strings.HasPrefix(string(body), "event: message\ndata: {") {
		t.Errorf("%s", body)
	}
}

// The catalogue is data that programs iterate over: names are unique, each fault says why, and every cell
// that cannot be has one of the fixed reasons.
func TestFaults(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Faults() {
		if f.Name == "" || seen[f.Name] || f.Why == "" || f.Ends == "" || len(f.On) == 0 {
			t.Errorf("%q: %q, ends %q, on %q, seen before: %v", f.Name, f.Why, f.Ends, f.On, seen[f.Name])
		}
		seen[f.Name] = true
		for _, transport := range Transports() {
			for _, act := range Acts() {
				r := f.Excuse(transport, act)
				if r != "" && !slices.Contains(Reasons(), r) {
					t.Errorf("%q: the reason %q is not in the table", f.Name, r)
				}
				if r == "" && !slices.Contains(f.On, transport) {
					t.Errorf("%q has no reason to be missing on %s", f.Name, transport)
				}
			}
		}
	}
	t.Log(len(seen), "faults")
}
