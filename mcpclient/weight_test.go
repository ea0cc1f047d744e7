package mcpclient

import (
	"fmt"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// held is the size of the heap without garbage.
func held() float64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// A server that is not connected to is little more than its configuration.
func TestServersAreLight(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's own bytes count too")
	}
	const n, most = 500, 4 << 10
	servers := make([]*Server, n)
	before := held()
	for i := range servers {
		var err error
		if servers[i], err = New(ServerConfig{ID: fmt.Sprint("server-", i), Command: "x", Args: []string{"y"}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	per := (held() - before) / n
	t.Logf("%.0f bytes a server", per)
	if per > most {
		t.Errorf("a server that does nothing weighs %.0f bytes", per)
	}
	for _, s := range servers {
		_ = s.Close()
	}
}

// Servers of programs that call themselves the same have one client of the SDK, which goes with the last.
func TestServersShareTheSDKsClient(t *testing.T) {
	server := func(o *Options) *Server {
		t.Helper()
		s, err := New(ServerConfig{ID: "a", Command: "x"}, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	alone := func() weak.Pointer[mcp.Client] {
		c, err := New(ServerConfig{ID: "a", Command: "x"}, &Options{ClientName: "weight test, alone"})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return weak.Make(c.settings().client)
	}
	a, b, other := server(&Options{ClientName: "weight test"}), server(&Options{ClientName: "weight test"}), server(&Options{ClientName: "weight test", ClientVersion: "2"})
	if a.settings().client != b.settings().client || a.settings().client == other.settings().client {
		t.Error("not shared by those that have the same name, or by others too")
	}
	gone := alone()
	for range 100 {
		if runtime.GC(); gone.Value() == nil {
			break
		}
	}
	if gone.Value() != nil {
		t.Error("it stays when nobody has it any more")
	}
	server(&Options{ClientName: "weight test, last"})
	sharedClients.mu.Lock()
	defer sharedClients.mu.Unlock()
	if _, ok := sharedClients.made[clientName{name: "weight test, alone", version: "0"}]; ok {
		t.Error("its name is kept when it is gone")
	}
}

// What one session asks of the SDK's client is not asked of another's.
func TestSharedClientKeepsSessionsApart(t *testing.T) {
	quiet := newServer(t, mcptest.Behaviour{Discover: mcptest.Silent}, func(c *ServerConfig) { c.EraProbe = 200 * time.Millisecond })
	slow := newServer(t, mcptest.Behaviour{InitDelay: 600 * time.Millisecond}, func(c *ServerConfig) { c.Era = Era20251125; c.ID = "slow" })
	if quiet.settings().client != slow.settings().client {
		t.Fatal("they have clients of their own")
	}
	errs := make(chan error, 2)
	for _, s := range []*Server{quiet, slow} {
		go func() { errs <- s.Start(t.Context()) }()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if err := quiet.Close(); err != nil {
		t.Error(err)
	}
	ownCall(t, slow)
}

// The worker of a server that lists nothing and tells nobody is not there.
func TestIdleServerHasNoWorker(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{}, func(c *ServerConfig) { c.Era = Era20251125 })
	told := make(chan struct{}, 10)
	defer s.Watch(func() { told <- struct{}{} })()
	working := func() bool {
		s.catalogue.mu.Lock()
		defer s.catalogue.mu.Unlock()
		return s.catalogue.working
	}
	for range 3 {
		if _, err := s.Call(t.Context(), "rename", map[string]any{"from": "echo", "to": "echo"}, CallOptions{}); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { return !working() && !s.Status().Stale })
	}
	<-told // the first listing
}
