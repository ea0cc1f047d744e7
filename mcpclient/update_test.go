package mcpclient

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// Limits, trust and replay count at once, on the session that is there.
func TestUpdateOfLimits(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	sess := s.live()
	told := make(chan struct{}, 10)
	defer s.Watch(func() { told <- struct{}{} })()
	cfg := s.Config()
	cfg.Silence, cfg.Trust, cfg.Replay = 100*time.Millisecond, toolsource.TrustFull, true
	cfg.Tools = map[string]ToolConfig{"echo": {Limits: toolsource.Limits{Silence: time.Second}}}
	if err := s.Update(cfg); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if _, err := s.Call(t.Context(), "mute", nil, CallOptions{}); !errors.Is(err, toolsource.ErrTimeout) || time.Since(begin) > 2*time.Second {
		t.Errorf("the limit does not count: %v", err)
	}
	if s.Limits("echo").Silence != time.Second || s.Limits("mute").Silence != 100*time.Millisecond || s.Config().Trust != toolsource.TrustFull {
		t.Errorf("%+v, %+v", s.Limits("echo"), s.Config())
	}
	if st := s.Status(); st.Epoch != 1 || s.live() != sess {
		t.Errorf("it cost the session: %+v", st)
	}
	<-told // grades may be others
}

// What has to do with the connection makes a new session; the call in flight ends on the old one.
func TestUpdateOfTheConnection(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	old := s.live()
	slow := make(chan error, 1)
	go func() {
		res, err := s.Call(context.Background(), "sleep", map[string]any{"ms": 600}, CallOptions{})
		if err == nil && res.Value == nil {
			err = errors.New("no value")
		}
		slow <- err
	}()
	waitFor(t, func() bool { return s.Status().InFlight == 1 })
	cfg := s.Config()
	cfg.Args = []string{"--new"}
	if err := s.Update(cfg); err != nil {
		t.Fatal(err)
	}
	if res, err := s.Call(t.Context(), "echo", map[string]any{"text": "new"}, CallOptions{}); err != nil || res.Value != "new" {
		t.Fatal(res.Value, err)
	}
	if s.live() == old {
		t.Error("the old session is used")
	}
	select {
	case err := <-slow:
		t.Fatalf("the call in flight was cut: %v", err)
	default:
	}
	if old.ended() {
		t.Error("the old session is gone under a call")
	}
	if err := <-slow; err != nil {
		t.Errorf("the call in flight: %v", err)
	}
	waitFor(t, func() bool { return old.ended() })
	if st := s.Status(); st.State != toolsource.StateReady || st.Epoch != 1 {
		t.Errorf("%+v", st)
	}
}

// a server that was given up is tried at once with its new configuration, and its listing joins.
func TestUpdateOfAParkedServer(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{}, func(c *ServerConfig) { c.Command = "no-such-command-here" })
	good := s.Config()
	good.Command, _, _ = mcptest.Command(t, mcptest.Behaviour{})
	var told atomic.Int32
	defer s.Watch(func() { told.Add(1) })()
	if err := s.Start(t.Context()); err == nil {
		t.Fatal("it started")
	}
	waitFor(t, func() bool { return s.Status().State == toolsource.StateParked && told.Load() > 0 })
	before := told.Load()
	if err := s.Update(good); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return s.Status().State == toolsource.StateReady && told.Load() > before })
	if _, ok := s.Last(); !ok {
		t.Error("no listing")
	}
}

func TestUpdateRefused(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	before := s.Config().String()
	for why, change := range map[string]func(*ServerConfig){
		"another id": func(c *ServerConfig) { c.ID = "other" },
		"bad":        func(c *ServerConfig) { c.Command = "" },
	} {
		cfg := s.Config()
		change(&cfg)
		var ce *ConfigError
		if err := s.Update(cfg); !errors.As(err, &ce) || s.Config().String() != before {
			t.Errorf("%s: %v", why, err)
		}
	}
	cfg := s.Config()
	_ = s.Close()
	cfg.Args = []string{"x"}
	if err := s.Update(cfg); !errors.Is(err, toolsource.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// An idle server stays so; secrets of an old configuration stay secret; Close ends both sessions.
func TestUpdateOfAnIdleServer(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{}, func(c *ServerConfig) { c.Env["TOKEN"] = "s3cret-old" })
	cfg := s.Config()
	cfg.Env = map[string]toolsource.Secret{}
	for k, v := range s.Config().Env {
		cfg.Env[k] = v
	}
	cfg.Env["TOKEN"] = "s3cret-new"
	if err := s.Update(cfg); err != nil {
		t.Fatal(err)
	}
	if st := s.Status(); st.State != toolsource.StateIdle {
		t.Errorf("%+v", st)
	}
	if text := s.redact.text("s3cret-old s3cret-new"); text != "*** ***" {
		t.Error(text)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	call := make(chan error, 1)
	go func() { _, err := s.Call(context.Background(), "mute", nil, CallOptions{}); call <- err }()
	waitFor(t, func() bool { return s.Status().InFlight == 1 })
	cfg.Args = []string{"x"}
	if err := s.Update(cfg); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-call; !errors.Is(err, toolsource.ErrClosed) {
		t.Errorf("the call in flight: %v", err)
	}
}

// Updates, calls and Close at once.
func TestUpdateRace(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 20 {
				_, err := s.Call(t.Context(), "echo", map[string]any{"text": "x"}, CallOptions{})
				if err != nil && !errors.Is(err, toolsource.ErrClosed) {
					t.Errorf("a call: %v", err)
				}
			}
		})
		wg.Go(func() {
			for n := range 3 {
				cfg := s.Config()
				cfg.Args = []string{strings.Repeat("x", i+n)}
				if err := s.Update(cfg); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Case: parallel = false. Calls go one after the other in the order in which they came; a listing does not
// wait for them; a call made inside one fails instead of waiting for itself.
func TestSerial(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{}, func(c *ServerConfig) { c.Serial = true })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var order []int
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			if _, err := s.Call(t.Context(), "sleep", map[string]any{"ms": 60}, CallOptions{}); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			order = append(order, i)
		})
		waitFor(t, func() bool { st := s.Status(); return st.InFlight+st.Queued == i+1 })
	}
	if st := s.Status(); st.InFlight != 1 || st.Queued != 4 {
		t.Errorf("%d in flight, %d queued", st.InFlight, st.Queued)
	}
	wg.Wait()
	for i, n := range order {
		if i != n {
			t.Errorf("the order is %v", order)
		}
	}
	if st := s.Status(); st.QueueTime < 500*time.Millisecond {
		t.Errorf("queue time %v", st.QueueTime)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	held, let := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = s.Call(held, "mute", nil, CallOptions{})
	}()
	waitFor(t, func() bool { return s.Status().InFlight == 1 })
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := s.List(soon); err != nil {
		t.Errorf("a listing that is known waits for a place: %v", err)
	}
	let()
	<-gone
	inner := make(chan error, 1)
	_, err := toolsource.Do(t.Context(), s.line.bridge, toolsource.CallOptions{}, func(ctx context.Context, _ *session) (int, error) {
		_, err := s.Call(ctx, "echo", nil, CallOptions{})
		inner <- err
		return 0, nil
	})
	if e := <-inner; err != nil || !errors.Is(e, toolsource.ErrReentrant) {
		t.Errorf("%v, inside: %v", err, e)
	}
	if _, err := (ServerConfig{ID: "a", Command: "x", Serial: true, MaxInFlight: 4}).resolved(); err == nil {
		t.Error("serial and four at once is taken")
	}
}

// Case 52 with a server that takes one call at a time: it waits for the listing before it answers.
func TestCase52Serial(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{}, func(c *ServerConfig) { c.Serial = true })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := s.Call(ctx, "await_list", nil, CallOptions{}); err != nil {
		t.Error(err)
	}
}

// The connection before an update fails while somebody waits for the first listing over the new one.
func TestUpdateAndTheOldOneFails(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{SilentInit: true}, func(c *ServerConfig) { c.Connect = 500 * time.Millisecond })
	old := make(chan error, 1)
	go func() { old <- s.Start(context.Background()) }()
	waitFor(t, func() bool { return s.Status().State == toolsource.StateDialling })
	cfg := s.Config()
	_, _, cfg.Env = mcptest.Command(t, mcptest.Behaviour{InitDelay: time.Second})
	cfg.Connect = 10 * time.Second
	if err := s.Update(cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := s.List(t.Context()); err != nil {
		t.Errorf("the new connection: %v", err)
	}
	if err := <-old; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the old connection: %v", err)
	}
}
