package mcpclient

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// A server that tells of ever other addresses, to a listener that does not come after, fills no memory: the
// listener hears that something below its address changed.
func TestUpdatesOfManyAddressesAreBounded(t *testing.T) {
	s := newServer(t, mcptest.Behaviour{})
	begun, hold := make(chan struct{}), make(chan struct{})
	var heard []string
	stop := s.listenTo("demo://all", func(uri string) {
		if len(heard) == 0 {
			close(begun)
			<-hold
		}
		heard = append(heard, uri)
	})
	defer stop()
	s.tellUpdated("demo://all/first")
	<-begun
	for i := range 10 * maxNotes {
		s.tellUpdated(fmt.Sprintf("demo://all/%d", i))
	}
	a := s.audience()
	a.mu.Lock()
	waiting := len(a.queue)
	a.mu.Unlock()
	if waiting > maxNotes+1 {
		t.Errorf("%d notes wait, want %d at most", waiting, maxNotes+1)
	}
	close(hold)
	waitFor(t, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return !a.working
	})
	if last := heard[len(heard)-1]; last != "demo://all" {
		t.Errorf("the last that it heard is %s: what was left out went unheard", last)
	}
}

// A server that goes on asking for what it does not get is in the log once.
func TestRefusalsDoNotFillTheLog(t *testing.T) {
	var log logBuffer
	info := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	s := newServerWith(t, mcptest.Behaviour{}, &Options{Logger: info})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		s.live().refused(methodRoots, refuse("rate limit"))
	}
	if n := strings.Count(log.String(), "was refused"); n != 1 {
		t.Errorf("%d lines: %s", n, log.String())
	}
}
