package matrix

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
	woken *sync.Cond // of mu: at each beat
	last  time.Time  // when it woke last
	beats []beat     // in order; those on time are left out
}

type beat struct{ due, woke time.Time }

func newMetronome() *metronome {
	m := &metronome{stop: make(chan struct{}), done: make(chan struct{}), last: time.Now()}
	m.woken = sync.NewCond(&m.mu)
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
		m.mu.Lock()
		m.last = time.Now()
		if m.last.Sub(due) > time.Millisecond {
			m.beats = append(m.beats, beat{due, m.last})
		}
		m.mu.Unlock()
		m.woken.Broadcast()
	}
}

// late is how long the bare timer was late altogether between two moments: on an idle machine next to nothing,
// on a busy one the time for which the process, or a goroutine in it, was kept from running. It waits for the
// first beat after them, so that one that is late at this very moment counts.
func (m *metronome) late(from, to time.Time) (late time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for !m.last.After(to) {
		m.woken.Wait()
	}
	for _, b := range m.beats {
		if b.due.Before(to) && b.woke.After(from) {
			begin, end := b.due, b.woke
			if begin.Before(from) {
				begin = from
			}
			if end.After(to) {
				end = to
			}
			late += end.Sub(begin)
		}
	}
	return late
}

func (m *metronome) end() {
	close(m.stop)
	<-m.done
}
