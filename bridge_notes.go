package toolsource

import (
	"context"
	"log/slog"
)

// maxNotes is how many notes wait for a slow reader; older ones are left out.
const maxNotes = 64

// note is something to tell the log, or OnState, or both.
type note struct {
	state  State // "": no change of state, only msg for the log
	msg    string
	err    error
	status BridgeStatus
}

// noteLocked notes a change of State or Proven.
func (b *bridge) noteLocked(s State, reason error) {
	b.pushLocked(note{state: s, err: reason, status: b.statusLocked()})
}

// warn notes something that is no change of state.
func (b *bridge) warn(msg string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pushLocked(note{msg: msg, err: err, status: b.statusLocked()})
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
		_ = protect(func() error { b.log(n); return nil })
	}
	if n.state != "" && b.o.OnState != nil {
		if err := protect(func() error { b.o.OnState(n.status); return nil }); err != nil {
			b.warn("OnState failed", err)
		}
	}
}

func (b *bridge) log(n note) {
	level, msg := b.wording(n)
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
	b.o.Logger.LogAttrs(context.Background(), level, msg, attrs...)
}

// wording gives a note its text and level. A change of state is told at Info or Warn once, and its repeats
// at Debug until the server has proven itself, so that one that is down for a month fills no log.
func (b *bridge) wording(n note) (slog.Level, string) {
	msg := n.msg
	switch n.state {
	case "":
		return slog.LevelWarn, msg
	case StateClosed:
		return slog.LevelDebug, "closed"
	case StateDialling:
		if n.err == nil {
			return slog.LevelDebug, "connecting"
		}
		msg = "session lost, connecting again"
	case StateReady:
		if n.status.Proven {
			b.said = map[State]string{StateReady: ""}
			return slog.LevelDebug, "session has proven itself"
		}
		msg = "connected"
	case StateBackoff:
		msg = "cannot connect"
	case StateParked:
		msg = "cannot connect, given up for now"
	case StateDormant:
		msg = "session closed until the next call"
	}
	level, reason := slog.LevelInfo, ""
	if n.err != nil {
		level, reason = slog.LevelWarn, n.err.Error()
	}
	if last, ok := b.said[n.state]; ok && last == reason {
		return slog.LevelDebug, msg
	}
	if n.state == StateParked {
		delete(b.said, StateReady) // coming back from here is news
	}
	if b.said == nil {
		b.said = map[State]string{}
	}
	b.said[n.state] = reason
	return level, msg
}
