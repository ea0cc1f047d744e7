package mcpsource

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
	"github.com/toolsource/toolsource/sources/sourcetest"
)

// waitFor polls what a real process will do.
func waitFor(t testing.TB, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
	}
}

// oneEntry is a schema cache of one server.
type oneEntry struct {
	mu  sync.Mutex
	raw []byte
}

func (c *oneEntry) Load(string) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.raw == nil {
		return nil, fs.ErrNotExist
	}
	return c.raw, nil
}

func (c *oneEntry) Store(_ string, e []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw = e
	return nil
}

// The names that the schema cache knows are the source's before the server has been seen in this run, in
// their cleaned form and as far as the filters let them through; a lazy server is not started for its tools.
func TestLazyInAToolbox(t *testing.T) {
	cache := &oneEntry{}
	journal := filepath.Join(t.TempDir(), "journal")
	b := serves(`{"name":"read-a","inputSchema":{"type":"object"}}`, `{"name":"write_b"}`, `{"name":"secret"}`)
	b.Journal = journal
	b.Results = map[string]string{"read-a": `{"content":[{"type":"text","text":"a"}]}`}
	command, _, env := mcptest.Command(t, b)
	cfg := mcpclient.ServerConfig{ID: "srv", Command: command, Env: env, Lazy: true}
	open := func() *mcpclient.Server {
		srv, err := mcpclient.New(cfg, &mcpclient.Options{Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = srv.Close() })
		return srv
	}
	first := open()
	if err := first.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { _, err := cache.Load(""); return err == nil })
	_ = first.Close()

	s := New(open(), &Options{Allow: []string{"*", "more"}, Deny: []string{"secret"}})
	if diff := cmp.Diff([]string{"read_a", "write_b", "more"}, s.Claims()); diff != "" {
		t.Error(diff)
	}
	tb := toolsource.NewToolbox(nil)
	defer tb.Close()
	if err := tb.Add(t.Context(), toolsource.Layer{Source: s, Precedence: toolsource.PrecedenceMCP}); err != nil {
		t.Fatal(err)
	}
	if st := s.Status(); len(tb.Tools()) != 2 || st.State != toolsource.StateIdle || st.Tools != 2 || st.Epoch != 0 {
		t.Fatalf("%d tools, %+v", len(tb.Tools()), st)
	}
	if res, err := tb.Call(t.Context(), "read_a", nil); err != nil || res.Value != "a" || s.Status().Epoch != 1 {
		t.Errorf("%v, %v, %+v", res.Value, err, s.Status())
	}
}

// A Toolbox with Failover notices that a server was given up, and that it is back.
func TestFailover(t *testing.T) {
	srv, err := mcpclient.New(mcpclient.ServerConfig{ID: "srv", Command: "no-such-command-here"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	good := srv.Config()
	good.Command, _, good.Env = mcptest.Command(t, mcptest.Behaviour{})
	tb := toolsource.NewToolbox(&toolsource.Options{Failover: true})
	defer tb.Close()
	low := sourcetest.Map{"echo": func(context.Context, map[string]any) (any, error) { return "low", nil }}
	s := New(srv, nil)
	err = tb.Add(t.Context(), toolsource.Layer{Source: low, Precedence: toolsource.PrecedenceHostConfig}, toolsource.Layer{Source: s, Precedence: toolsource.PrecedenceMCP})
	if err == nil {
		t.Fatal("it is up")
	}
	owner := func() string { spec, _ := tb.Spec("echo"); return spec.Origin.Source }
	if owner() != "map" {
		t.Fatalf("echo is of %s", owner())
	}
	if err := srv.Update(good); err != nil { // it is parked, so this is tried at once
		t.Fatal(err)
	}
	waitFor(t, func() bool { return owner() == "mcp:srv" })

	good.Command, good.Env = "no-such-command-here", nil
	if err := srv.Update(good); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return owner() == "map" })
	if res, err := tb.Call(t.Context(), "echo", nil); err != nil || res.Value != "low" {
		t.Errorf("%v, %v", res.Value, err)
	}
	if st := s.Status(); st.State != toolsource.StateParked || !errors.Is(st.Err, toolsource.ErrPermanent) || st.NextTry.IsZero() {
		t.Errorf("%+v", st)
	}
}
