package mcpclient_test

import (
	"sync"
	"time"
)

// metronome is a bare timer goroutine, which does nothing but wake every millisecond and note how late it
// was. What it suffers (a busy processor, a process that the system holds up) is nobody's fault here.
type metronome struct {
	stop chan struct{}
	done chan struct{}

	mu    sync.Mutex
	beats []beat // in order; those on time are left out
}

type beat struct{ due, woke time.Time }

func newMetronome() *metronome {
	m := &metronome{stop: make(chan struct{}), done: make(chan struct{})}
	go m.run()
	return m
}

func (m *metronome) run() {
	defer close(m.done)
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		due := time.Now().Add(time.Millisecond)
		t.Reset(time.Millisecond)
		select {
		case <-m.stop:
			return
		case <-t.C:
		}
		if woke := time.Now(); woke.Sub(due) > time.Millisecond {
			m.mu.Lock()
			m.beats = append(m.beats, beat{due, woke})
			m.mu.Unlock()
		}
	}
}

// latest is the longest that the bare timer was late while it lasted from one moment to the other.
func (m *metronome) latest(from, to time.Time) (late time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.beats {
		if b.due.Before(to) && b.woke.After(from) {
			late = max(late, b.woke.Sub(b.due))
		}
	}
	return late
}

func (m *metronome) end() {
	close(m.stop)
	<-m.done
}
