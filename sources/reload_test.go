package sources

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

var onlyPlan = cmpopts.IgnoreFields(Plan{}, "Problems")

// rewrite loads a changed text of the Set's own file.
func rewrite(t *testing.T, s *Set, text string, o *Options) *Config {
	t.Helper()
	if err := os.WriteFile(s.Config().File, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(s.Config().File, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func reload(t *testing.T, s *Set, c *Config) Plan {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	planned, err := s.Plan(c)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Reload(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(planned, p, onlyPlan); diff != "" {
		t.Errorf("Reload did not do what Plan said: %s", diff)
	}
	return p
}

// asked counts the requests that a server got for a session, a listing or a call: what it is told right
// after it was connected to may come later.
func asked(t *testing.T, path string) (n int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "notifications/") {
			n++
		}
	}
	return n
}

func TestReload(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "kept")
	kept := server(t, "kept", "", mcptest.Behaviour{Journal: journal})
	tool := func(name string) mcptest.Behaviour {
		return mcptest.Behaviour{Pages: map[string]string{"": `{"tools":[{"name":"` + name + `","inputSchema":{"type":"object"}}]}`}}
	}
	o := &Options{Funcs: map[string]toolsource.Callable{"f": result("f")}, NoDefaults: true}
	s := open(t, kept+server(t, "gone", "", tool("old"))+server(t, "filtered", "", mcptest.Behaviour{})+`
[[tools]]
name = "f1"
func = "f"
`, o)
	before := asked(t, journal)
	old, err := s.Resolve("old")
	if err != nil {
		t.Fatal(err)
	}

	text := "# a line more\n" + kept + server(t, "new", "", tool("fresh")) + server(t, "filtered", "allow = ['add']", mcptest.Behaviour{}) + `
[[tools]]
name = "f2"
func = "f"
[profiles.p]
tools = ["f2"]
`
	c := rewrite(t, s, text, o)
	want := Plan{Add: []string{"mcp:new"}, Remove: []string{"mcp:gone"}, Update: []string{"config", "mcp:filtered"}, Keep: []string{"mcp:kept"}}
	if diff := cmp.Diff(want, reload(t, s, c), onlyPlan); diff != "" {
		t.Error(diff)
	}
	if got := asked(t, journal); got != before {
		t.Errorf("the server that did not change got %d requests", got-before)
	}
	have := map[string]string{}
	for _, sp := range s.Tools() {
		have[sp.Name] = sp.Origin.Source
	}
	if have["f2"] != "config" || have["fresh"] != "mcp:new" || have["old"] != "" || have["f1"] != "" || have["add"] != "mcp:filtered" || have["echo"] != "mcp:kept" {
		t.Error(have)
	}
	if _, err := old(t.Context(), nil); !errors.Is(err, toolsource.ErrUnavailable) {
		t.Errorf("a tool of a server that is gone: %v", err)
	}
	if got := call(t, s, "f2", nil); got != "f" {
		t.Error(got)
	}
	if _, err := s.Profile(t.Context(), "p"); err != nil {
		t.Error(err)
	}

	again := reload(t, s, rewrite(t, s, text, o))
	if diff := cmp.Diff(Plan{Keep: []string{"config", "mcp:kept", "mcp:new", "mcp:filtered"}}, again, onlyPlan); diff != "" {
		t.Errorf("the same once more: %s", diff)
	}
}

// A server whose command changed is another session of the same source; calls in flight end on the old one.
func TestReloadUpdatesInPlace(t *testing.T) {
	slow := server(t, "x", "", mcptest.Behaviour{CallDelay: 300 * time.Millisecond, Results: map[string]string{"echo": `{"content":[{"type":"text","text":"old"}]}`}})
	s := open(t, slow, nil)
	started, answer := make(chan struct{}), make(chan any, 1)
	go func() {
		close(started)
		r, err := s.Call(context.Background(), "echo", map[string]any{"text": "hi"})
		if err != nil {
			answer <- err
			return
		}
		answer <- r.Value
	}()
	<-started
	waitUntil(t, func() bool {
		for _, st := range s.Sources() {
			if st.Source == "mcp:x" && st.InFlight > 0 {
				return true
			}
		}
		return false
	})
	p := reload(t, s, rewrite(t, s, server(t, "x", "", mcptest.Behaviour{Results: map[string]string{"echo": `{"content":[{"type":"text","text":"new"}]}`}}), nil))
	if diff := cmp.Diff(Plan{Update: []string{"mcp:x"}, Keep: []string{"default"}}, p, onlyPlan); diff != "" {
		t.Error(diff)
	}
	if got := <-answer; got != "old" {
		t.Errorf("the call in flight: %v", got)
	}
	if got := call(t, s, "echo", map[string]any{"text": "hi"}); got != "new" {
		t.Error(got)
	}
}

func waitUntil(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not come about in 10 s")
		}
	}
}

// The order of servers in the file is their order in the merge, also for those that stay.
func TestReloadReorders(t *testing.T) {
	a, b := server(t, "a", "", mcptest.Behaviour{}), server(t, "b", "", mcptest.Behaviour{})
	s := open(t, a+b, nil)
	owner := func() string { sp, _ := s.Spec("echo"); return sp.Origin.Server }
	if owner() != "b" {
		t.Fatal(owner())
	}
	p := reload(t, s, rewrite(t, s, b+a, nil))
	if owner() != "a" || len(p.Keep) != 3 {
		t.Errorf("%s, %+v", owner(), p)
	}
}

func TestReloadFails(t *testing.T) {
	good := server(t, "good", "", mcptest.Behaviour{})
	s := open(t, good, nil)
	dead := "[mcp_servers.dead]\ncommand = 'no-such-command-here'\n"

	p := reload(t, s, rewrite(t, s, good+dead, nil))
	if len(p.Add) != 1 || len(p.Problems) != 1 || !strings.Contains(p.Problems[0].Error(), "no-such-command-here") {
		t.Errorf("%+v", p)
	}
	c := rewrite(t, s, good+dead+"required = true\n", nil)
	if _, err := s.Reload(t.Context(), c); err == nil || !strings.Contains(err.Error(), `required server "dead"`) {
		t.Error(err)
	}
	if got := call(t, s, "echo", map[string]any{"text": "hi"}); got != "hi" {
		t.Error(got)
	}
	c = rewrite(t, s, good+"[mcp_servers.off]\ncommand = 'x'\nrequired = true\nargs = 3\n", nil)
	if _, err := s.Reload(t.Context(), c); err == nil || !strings.Contains(err.Error(), "bad entry") {
		t.Error(err)
	}
	if len(s.Sources()) != 3 {
		t.Errorf("a required server that is off changes nothing: %v", s.Sources())
	}
	if err := s.Remove("mcp:good"); err != nil {
		t.Fatal(err)
	}
	if p := reload(t, s, rewrite(t, s, good, nil)); !cmp.Equal(p.Add, []string{"mcp:good"}) {
		t.Errorf("a source that the host removed comes back: %+v", p)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Reload(cancelled, rewrite(t, s, good+server(t, "more", "", mcptest.Behaviour{}), nil)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Reload(t.Context(), c); !errors.Is(err, toolsource.ErrClosed) && !strings.Contains(err.Error(), "required") {
		t.Error(err)
	}
	if _, err := s.Reload(t.Context(), rewrite(t, s, good, nil)); !errors.Is(err, toolsource.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// Programs go on calling while the configuration changes under them.
func TestReloadUnderCalls(t *testing.T) {
	a := server(t, "a", "", mcptest.Behaviour{})
	texts := []string{a, a + server(t, "b", "", mcptest.Behaviour{}), server(t, "b", "", mcptest.Behaviour{}) + a}
	s := open(t, a, nil)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				r, err := s.Call(context.Background(), "echo", map[string]any{"text": "hi"})
				taken := errors.Is(err, toolsource.ErrUnavailable) || errors.Is(err, toolsource.ErrClosed) // b went, before the call or in the middle of it
				if err != nil && !taken || err == nil && r.Value != "hi" {
					t.Errorf("%v, %v", r.Value, err)
					return
				}
			}
		})
	}
	for i := range 12 {
		reload(t, s, rewrite(t, s, texts[i%len(texts)], nil))
	}
	close(stop)
	wg.Wait()
}
