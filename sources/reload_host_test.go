package sources

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
	"github.com/toolsource/toolsource/sources/sourcetest"
)

// hostSource is a source that the host adds by itself.
func hostSource(name string, tools ...string) toolsource.ToolSource {
	m := sourcetest.Map{}
	for _, tool := range tools {
		m[tool] = func(context.Context, map[string]any) (any, error) { return name, nil }
	}
	return m.Named(name)
}

func sourceNames(s *Set) []string {
	var out []string
	for _, st := range s.Sources() {
		out = append(out, st.Source)
	}
	return out
}

// A name that the host uses stays the host's: the server is a problem, is not left running, and is there once
// the name is free.
func TestReloadMeetsTheHostsName(t *testing.T) {
	const none = "[mcp]\n"
	s := open(t, none, nil)
	if err := s.Add(t.Context(), toolsource.Layer{Source: hostSource("mcp:new", "mine"), Precedence: toolsource.PrecedenceMCP}); err != nil {
		t.Fatal(err)
	}
	text := server(t, "new", "", mcptest.Behaviour{})
	for range 2 {
		p := reload(t, s, rewrite(t, s, text, nil))
		if !cmp.Equal(p.Add, []string{"mcp:new"}) || len(p.Problems) != 1 || !errors.Is(p.Problems[0], toolsource.ErrDuplicateSource) {
			t.Errorf("%+v", p)
		}
	}
	reload(t, s, rewrite(t, s, none, nil))
	if got := call(t, s, "mine", nil); got != "mcp:new" {
		t.Errorf("the host's source was taken out: %v", got)
	}
	if err := s.Remove("mcp:new"); err != nil {
		t.Fatal(err)
	}
	reload(t, s, rewrite(t, s, text, nil))
	if got := call(t, s, "echo", map[string]any{"text": "hi"}); got != "hi" {
		t.Error(got)
	}
	if err := s.Remove("mcp:new"); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(t.Context(), toolsource.Layer{Source: hostSource("mcp:new", "mine"), Precedence: toolsource.PrecedenceMCP}); err != nil {
		t.Fatal(err)
	}
	if p := reload(t, s, rewrite(t, s, none, nil)); p.Remove != nil || !slices.Contains(sourceNames(s), "mcp:new") {
		t.Errorf("a source of the host's that stands where a server stood: %+v", p)
	}
}

// What the host takes out in the middle of a Reload costs only itself.
func TestReloadWhileTheHostRemoves(t *testing.T) {
	both := server(t, "goes", "", mcptest.Behaviour{}) + server(t, "stays", "", mcptest.Behaviour{})
	var s *Set
	o := &Options{Approve: func(sv Server) bool {
		if sv.Config.ID == "new" {
			if err := s.Remove("mcp:goes"); err != nil {
				t.Error(err)
			}
		}
		return true
	}}
	for _, change := range []string{"", "allow = ['echo']"} { // kept, updated
		s = open(t, both, o)
		text := server(t, "goes", change, mcptest.Behaviour{}) + server(t, "stays", "", mcptest.Behaviour{}) + server(t, "new", "", mcptest.Behaviour{})
		if _, err := s.Reload(t.Context(), rewrite(t, s, text, o)); err != nil {
			t.Errorf("%q: %v", change, err)
		}
		if diff := cmp.Diff([]string{"default", "mcp:stays", "mcp:new"}, sourceNames(s)); diff != "" {
			t.Errorf("%q: %s", change, diff)
		}
		if sp, _ := s.Spec("echo"); sp.Origin.Server != "new" {
			t.Errorf("%q: echo is %s's", change, sp.Origin.Source)
		}
		if got := call(t, s, "echo", map[string]any{"text": "hi"}); got != "hi" {
			t.Error(got)
		}
		p, err := s.Plan(s.Config())
		if err != nil || !cmp.Equal(p.Add, []string{"mcp:goes"}) {
			t.Errorf("%q: the next one brings it back: %+v, %v", change, p, err)
		}
	}
}

// A server that hangs when it is added holds up nobody: neither calls nor the servers that are updated.
func TestReloadOfAServerThatHangs(t *testing.T) {
	s := open(t, server(t, "a", "", mcptest.Behaviour{}), nil)
	c := rewrite(t, s, server(t, "a", "allow = ['echo']", mcptest.Behaviour{})+server(t, "mute", "", mcptest.Behaviour{SilentInit: true}), nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	begun, done := time.Now(), make(chan Plan)
	go func() {
		p, err := s.Reload(ctx, c)
		if err != nil {
			t.Error(err)
		}
		done <- p
	}()
	for range 20 {
		call(t, s, "echo", map[string]any{"text": "hi"})
	}
	p := <-done
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %v, with a context of a second", took)
	}
	if len(p.Problems) != 1 || !strings.Contains(p.Problems[0].Error(), "mcp:mute") {
		t.Errorf("only the server that hangs is a problem: %v", p.Problems)
	}
	if _, there := s.Spec("add"); there {
		t.Error("the server that was updated did not list anew")
	}
}

func TestReloadWithoutTime(t *testing.T) {
	s := open(t, "[[tools]]\nname = 'old'\nfunc = 'f'\n", &Options{Funcs: map[string]toolsource.Callable{"f": result("f")}})
	before := s.Config()
	c := rewrite(t, s, "", nil)
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for range 20 { // each way through a select
		if _, err := s.Reload(ctx, c); !errors.Is(err, context.DeadlineExceeded) || s.Config() != before {
			t.Fatalf("%v: a Reload whose time is over changes nothing", err)
		}
	}
	if got := call(t, s, "old", nil); got != "f" {
		t.Error(got)
	}
}

// The place of a host file is not what a server is: another one is another rank and no new connection.
func TestReloadReordersHostFiles(t *testing.T) {
	f := newFolder(t)
	f.write("one.json", `{"mcpServers":{"one":`+child(t, mcptest.Behaviour{}, "")+`}}`)
	f.write("two.json", `{"mcpServers":{"two":`+child(t, mcptest.Behaviour{}, "")+`}}`)
	o := &Options{TrustHostFile: trustAll}
	s := openConfig(t, f.load("[mcp]\nhost_configs = ['one.json', 'two.json']\n", o))
	p := reload(t, s, f.load("[mcp]\nhost_configs = ['two.json', 'one.json']\n", o))
	if diff := cmp.Diff(Plan{Keep: []string{"default", "mcp:two", "mcp:one"}}, p, onlyPlan); diff != "" {
		t.Error(diff)
	}
	if sp, _ := s.Spec("echo"); sp.Origin.Server != "two" {
		t.Errorf("echo is %s's", sp.Origin.Server)
	}
}

// Who owns a name does not depend on how often the configuration was read: what the host adds comes after it.
func TestReloadLeavesTheHostsRank(t *testing.T) {
	text := server(t, "a", "", mcptest.Behaviour{})
	s := open(t, text, nil)
	if err := s.Add(t.Context(), toolsource.Layer{Source: hostSource("host", "echo"), Precedence: toolsource.PrecedenceMCP}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{text, text + server(t, "b", "", mcptest.Behaviour{}), server(t, "b", "", mcptest.Behaviour{})} {
		reload(t, s, rewrite(t, s, text, nil))
		if got := call(t, s, "echo", map[string]any{"text": "hi"}); got != "host" {
			t.Errorf("echo is %v's, and the host's source was attached later", got)
		}
	}
}

// A cache elsewhere is another surrounding.
func TestReloadOfTheCache(t *testing.T) {
	a := server(t, "a", "", mcptest.Behaviour{})
	s := open(t, a, nil)
	p := reload(t, s, rewrite(t, s, a+"[mcp]\ncache = 'listings'\n", nil))
	if !slices.Contains(p.Update, "mcp:a") {
		t.Errorf("%+v", p)
	}
}

// After any reloads the merge is that of the last configuration opened afresh.
func TestReloadsEqualOpen(t *testing.T) {
	urls := map[string]string{}
	for _, tools := range []string{"x", "x y", "y z"} {
		var list []string
		for _, name := range strings.Fields(tools) {
			list = append(list, `{"name":"`+name+`","inputSchema":{"type":"object"}}`)
		}
		h := httptest.NewServer(mcptest.Handler(mcptest.Behaviour{Pages: map[string]string{"": `{"tools":[` + strings.Join(list, ",") + `]}`}}))
		defer h.Close()
		urls[tools] = h.URL
	}
	o := &Options{NoDefaults: true, TrustHostFile: trustAll, Funcs: map[string]toolsource.Callable{"f": result("f")}}
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		f := folder{t, dir}
		draw := func() *Config { return f.load(drawConfig(rt, f, urls), o) }
		s, err := draw().Open(t.Context())
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		var c *Config
		for range rapid.IntRange(1, 4).Draw(rt, "reloads") {
			c = draw()
			if p, err := s.Reload(t.Context(), c); err != nil || len(p.Problems) > 0 {
				rt.Fatal(err, p.Problems)
			}
		}
		fresh, err := c.Open(t.Context())
		if err != nil {
			rt.Fatal(err)
		}
		defer fresh.Close()
		if diff := cmp.Diff(mergeOf(fresh), mergeOf(s)); diff != "" {
			rt.Fatalf("other than opened afresh: %s", diff)
		}
	})
}

// drawConfig is a configuration with some servers, in some order, of its own and of two host files, and some tools.
func drawConfig(rt *rapid.T, f folder, urls map[string]string) string {
	kinds := []string{"x", "x y", "y z"}
	var b strings.Builder
	for _, id := range rapid.Permutation([]string{"a", "b", "c"}).Draw(rt, "servers")[:rapid.IntRange(0, 3).Draw(rt, "n")] {
		fmt.Fprintf(&b, "[mcp_servers.%s]\nurl = '%s'\n", id, urls[rapid.SampledFrom(kinds).Draw(rt, "kind")])
		if rapid.Bool().Draw(rt, "deny") {
			b.WriteString("deny = ['y']\n")
		}
	}
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"x", "z", "w"}), func(s string) string { return s }).Draw(rt, "tools") {
		fmt.Fprintf(&b, "[[tools]]\nname = '%s'\nfunc = 'f'\n", name)
	}
	var files []string
	for _, name := range rapid.Permutation([]string{"h1.json", "h2.json"}).Draw(rt, "files")[:rapid.IntRange(0, 2).Draw(rt, "m")] {
		f.write(name, fmt.Sprintf(`{"mcpServers":{"%s":{"type":"http","url":"%s"}}}`, rapid.SampledFrom([]string{"c", "d", "e"}).Draw(rt, "id"), urls[rapid.SampledFrom(kinds).Draw(rt, "kind")]))
		files = append(files, "'"+name+"'")
	}
	return b.String() + "[mcp]\nhost_configs = [" + strings.Join(files, ", ") + "]\n"
}

// mergeOf says who owns each name and who lost it.
func mergeOf(s *Set) map[string]string {
	out := map[string]string{}
	for _, sp := range s.Tools() {
		out[sp.Name] = sp.Origin.Source
	}
	for _, sh := range s.Shadowed() {
		out[sh.Name] = fmt.Sprintf("%+v", sh)
	}
	return out
}

// Close leaves nothing behind that a Reload had begun.
func TestCloseWaitsForReload(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	s := open(t, "[mcp]\n", nil)
	c := rewrite(t, s, server(t, "mute", "close_timeout = '1s'\n", mcptest.Behaviour{SilentInit: true, IgnoreEOF: true, IgnoreTerm: true, Journal: journal}), nil)
	failed := make(chan error, 1)
	go func() {
		_, err := s.Reload(context.Background(), c)
		failed <- err
	}()
	waitUntil(t, func() bool { data, _ := os.ReadFile(journal); return len(data) > 0 })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if len(s.turn) != 0 {
		t.Error("the Reload still closes what it made")
	}
	if err := <-failed; !errors.Is(err, toolsource.ErrClosed) {
		t.Error(err)
	}
}

func TestCloseDoesNotWaitForever(t *testing.T) {
	var s *Set
	closed := make(chan error, 1)
	o := &Options{Toolbox: &toolsource.Options{CloseBound: 50 * time.Millisecond}, Approve: func(Server) bool {
		closed <- s.Close()
		return false
	}}
	s = open(t, "[mcp]\n", o)
	if _, err := s.Reload(t.Context(), rewrite(t, s, server(t, "a", "", mcptest.Behaviour{}), o)); !errors.Is(err, toolsource.ErrClosed) {
		t.Error(err)
	}
	if err := <-closed; err == nil || !strings.Contains(err.Error(), "a Reload has not ended within 50ms") {
		t.Error(err)
	}
}

// A server that does not want to end is closed within its bound, while calls to others go on.
func TestReloadOfAServerThatClosesSlowly(t *testing.T) {
	a := server(t, "a", "", mcptest.Behaviour{})
	s := open(t, server(t, "slow", "close_timeout = '2s'\n", mcptest.Behaviour{IgnoreEOF: true, IgnoreTerm: true})+a, nil)
	c := rewrite(t, s, a, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	begun, done := time.Now(), make(chan error, 1)
	go func() {
		_, err := s.Reload(ctx, c)
		done <- err
	}()
	calls := 0
	for ended := false; !ended; calls++ {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if _, err := s.Call(ctx, "echo", map[string]any{"text": "hi"}); err != nil {
			t.Errorf("call %d: %v", calls, err)
		}
		cancel()
		select {
		case err := <-done:
			ended = true
			if err != nil {
				t.Error(err)
			}
		default:
		}
	}
	if took := time.Since(begun); took > 5*time.Second || calls < 2 {
		t.Errorf("%d calls in %v", calls, took)
	}
	if got := sourceNames(s); !cmp.Equal(got, []string{"default", "mcp:a"}) {
		t.Error(got)
	}
}

// A file that is read again is the same, in whatever order its variables come up.
func TestReloadOfVariables(t *testing.T) {
	f := newFolder(t)
	f.write("mcp.json", `{"mcpServers":{"a":{"type":"http","url":"http://127.0.0.1:1/","headers":{"H":"${TWO}"},"env":{"E":"${ONE}"}},
		"b":{"command":"no-such-command-here","args":["${TWO}","${ONE}"],"env":{"E":"${THREE}","F":"${ONE}"}}}}`)
	o := &Options{TrustHostFile: trustAll, LookupEnv: func(name string) (string, bool) { return "value of " + name, true }}
	const text = "[mcp]\nhost_configs = ['mcp.json']\n"
	s := openConfig(t, f.load(text, o))
	for range 20 {
		if p, err := s.Plan(f.load(text, o)); err != nil || len(p.Keep) != 3 {
			t.Fatalf("%+v %v", p, err)
		}
	}
}
