package toolsource

import (
	"context"
	"log/slog"
)

// maxNotes is how many notes wait for a slow reader; older ones are left out.
const maxNotes = 64

// note is something to tell the log, or OnState, or both.
type note struct {
	level  slog.Level
	msg    string
	err    error
	status BridgeStatus
	state  bool // for OnState
}

// noteLocked notes a change of state. The first of its kind since the server last proved itself is logged at
// Info or Warn, and repeats at Debug, so that a server that is down for a month fills no log.
func (b *bridge) noteLocked(s State, reason error) {
	n := note{level: slog.LevelInfo, err: reason, status: b.statusLocked(), state: true}
	text := ""
	if reason != nil {
		n.level = slog.LevelWarn
		text = reason.Error()
	}
	switch {
	case s == StateReady && b.cur.proven:
		n.msg, n.level = "session has proven itself", slog.LevelDebug
		b.pushLocked(n)
		return
	case s == StateDialling && reason != nil:
		n.msg = "session lost, connecting again"
	case s == StateDialling:
		n.msg, n.level = "connecting", slog.LevelDebug
	case s == StateReady:
		n.msg = "connected"
	case s == StateBackoff:
		n.msg = "cannot connect"
	case s == StateParked:
		n.msg = "cannot connect, given up for now"
	case s == StateDormant:
		n.msg = "session closed until the next call"
	case s == StateClosed:
		n.msg, n.level = "closed", slog.LevelDebug
	}
	if last, ok := b.said[s]; ok && last == text {
		n.level = slog.LevelDebug
	} else if s == StateParked {
		delete(b.said, StateReady) // coming back from here is news
	}
	if n.level > slog.LevelDebug {
		b.said[s] = text
	}
	b.pushLocked(n)
}

// warn notes something that is no change of state.
func (b *bridge) warn(msg string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pushLocked(note{level: slog.LevelWarn, msg: msg, err: err, status: b.statusLocked()})
}

// pushLocked hands a note to the teller, a goroutine that is there while there are notes.
func (b *bridge) pushLocked(n note) {
	if b.o.Logger == nil && b.o.OnState == nil {
		return
	}
	if len(b.notes) == maxNotes {
		b.notes = b.notes[1:]
	}
	b.notes = append(b.notes, n)
	if b.teller == nil {
		b.teller = b.job(b.tell)
	}
}

// tell passes the notes on, one after the other.
func (b *bridge) tell() {
	for {
		b.mu.Lock()
		if len(b.notes) == 0 {
			b.teller = nil
			b.mu.Unlock()
			return
		}
		n := b.notes[0]
		b.notes = b.notes[1:]
		b.mu.Unlock()
		b.tellOne(n)
	}
}

// tellOne calls the host's logger and hook. A panic in either ends with the note.
func (b *bridge) tellOne(n note) {
	if b.o.Logger != nil {
		_ = protect(func() error {
			attrs := []slog.Attr{slog.String("source", b.o.Name), slog.String("state", string(n.status.State))}
			if n.err != nil {
				attrs = append(attrs, slog.String("error", oneLine(n.err.Error())))
			}
			if n.status.Attempts > 0 {
				attrs = append(attrs, slog.Int("attempts", n.status.Attempts))
			}
			if !n.status.NextTry.IsZero() {
				attrs = append(attrs, slog.Duration("next_try", n.status.NextTry.Sub(n.status.Since)))
			}
			b.o.Logger.LogAttrs(context.Background(), n.level, n.msg, attrs...)
			return nil
		})
	}
	if n.state && b.o.OnState != nil {
		err := protect(func() error { b.o.OnState(n.status); return nil })
		if err != nil && b.o.Logger != nil {
			b.warn("OnState", err)
		}
	}
}
