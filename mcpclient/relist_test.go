package mcpclient

import (
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

func TestRelistEvery(t *testing.T) {
	for _, tc := range []struct {
		why        string
		era, way   string
		asked      time.Duration
		hint, want time.Duration
	}{
		{"newest over HTTP", Era20260728, TransportHTTP, 0, 0, 5 * time.Minute},
		{"a hint", Era20260728, TransportHTTP, 0, time.Minute, time.Minute},
		{"a hint too short", Era20260728, TransportHTTP, 0, time.Millisecond, 10 * time.Second},
		{"a hint too long", Era20260728, TransportHTTP, 0, 100 * time.Hour, time.Hour},
		{"the configuration goes before it", Era20260728, TransportHTTP, 2 * time.Minute, time.Minute, 2 * time.Minute},
		{"switched off", Era20260728, TransportHTTP, -1, time.Minute, 0},
		{"newest on stdio, which does not say that its list changes", Era20260728, TransportStdio, 0, 0, 0},
		{"the same with a hint", Era20260728, TransportStdio, 0, time.Minute, time.Minute},
		{"older, which does not say so either", Era20251125, TransportHTTP, 0, time.Minute, 0},
		{"the same, configured", Era20251125, TransportStdio, time.Minute, 0, time.Minute},
	} {
		s := &session{cs: &mcp.ClientSession{}, era: tc.era, way: tc.way, line: &line{}}
		s.line.set.Store(&settings{cfg: ServerConfig{Relist: tc.asked}})
		if got := s.relistEvery(tc.hint); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.why, got, tc.want)
		}
	}
	for raw, want := range map[string]time.Duration{
		`{"tools":[],"ttlMs":60000}`: time.Minute, `{"tools":[],"ttlMs":0}`: 0, `{"tools":[],"ttlMs":-5}`: 0, `{"tools":[],"ttlMs":"x"}`: 0,
		`{"tools":[],"ttlMs":9223372036854775807}`: time.Hour, `{"tools":[],"ttlMs":1e3}`: 0, `{"tools":[]}`: 0,
	} {
		if l, _, err := listOf(t, map[string]string{"": raw}, 10, 10); err != nil || l.fresh != want {
			t.Errorf("%s: %v, %v", raw, l.fresh, err)
		}
	}
}

// A server that cannot announce changes is asked from time to time, while its session lives and no longer,
// and one that can is not.
func TestPeriodicListing(t *testing.T) {
	s, journal := eraServer(t, "legacy", nil, func(c *ServerConfig) { c.Relist, c.IdleStop = 50*time.Millisecond, 400*time.Millisecond })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	lists := func() int { return strings.Count(journal(), "tools/list") }

	waitFor(t, func() bool { return lists() >= 2 })
	waitFor(t, func() bool { return s.Status().State == toolsource.StateDormant }) // it is no use that keeps a session awake
	n, starts := lists(), strings.Count(journal(), "start")
	time.Sleep(200 * time.Millisecond)
	if lists() != n || strings.Count(journal(), "start") != starts {
		t.Error("a server that sleeps is woken for it")
	}

	told := newServer(t, mcptest.Behaviour{}, func(c *ServerConfig) { c.Relist = 20 * time.Millisecond })
	if err := told.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if n := stat(t, told, "tools/list"); n != 1 {
		t.Errorf("%d listings of a server that announces changes", n)
	}
}
