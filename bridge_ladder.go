package toolsource

import "time"

// ladder decides when a Bridge dials next. It counts what speaks against the server since it last proved
// itself: dials that failed, and sessions that were lost before they proved themselves.
type ladder struct {
	ever  bool // there was a session
	fails int
	drops int
}

// failed is told of a dial that failed, and gives the pause before the next, without jitter.
func (l *ladder) failed(o *BridgeOptions, permanent bool) (pause time.Duration, park bool) {
	pauses := o.FirstTries
	if l.ever {
		pauses = o.Reconnects
	}
	l.fails++
	if l.fails > len(pauses) || permanent {
		l.park(o)
		return o.Probe, true
	}
	return pauses[l.fails-1], false
}

// connected is told of a new session.
func (l *ladder) connected() {
	if !l.ever {
		*l = ladder{ever: true}
	}
}

// dropped is told of a session that was lost. The next dial comes at once, unless too many were lost unproven.
func (l *ladder) dropped(o *BridgeOptions, proven bool) (park bool) {
	if proven {
		return false
	}
	l.drops++
	if l.drops > len(o.Reconnects) {
		l.park(o)
		return true
	}
	return false
}

// park leaves one try per wake to a server that was there before; one that never was has all of them again.
func (l *ladder) park(o *BridgeOptions) {
	l.fails, l.drops = 0, 0
	if l.ever {
		l.fails, l.drops = len(o.Reconnects), len(o.Reconnects)
	}
}

// proved is told that the session works.
func (l *ladder) proved() { l.fails, l.drops = 0, 0 }

// breaker refuses calls for a while after several transport failures in a row. After the cool-down it lets
// one call through at a time, until one of them shows that the transport works.
type breaker struct {
	strikes int
	until   time.Time // zero: closed
	probe   *attempt  // the first of the call let through
}

// admit reports whether a call may go, and if not, when to ask again. a is the probe from then on if the
// breaker is open.
func (k *breaker) admit(a *attempt, now time.Time) (wait time.Duration, ok bool) {
	switch {
	case k.until.IsZero():
		return 0, true
	case now.Before(k.until):
		return k.until.Sub(now), false
	case k.probe != nil:
		return 0, false
	}
	k.probe = a
	return 0, true
}

// strike counts a transport failure, a being the call that met it, or nil. While the breaker is open only
// the probe's counts.
func (k *breaker) strike(o *BridgeOptions, a *attempt, now time.Time) {
	if o.BreakerThreshold < 0 {
		return
	}
	k.strikes++
	shut := k.until.IsZero()
	probe := a != nil && k.probe != nil && k.probe.c == a.c
	if shut && k.strikes >= o.BreakerThreshold || !shut && probe {
		k.until = now.Add(o.BreakerCooldown)
	}
	if probe {
		k.probe = nil
	}
}

// leave frees the place of the probe when its call is over. Often it is free already.
func (k *breaker) leave(c *doing) {
	if k.probe != nil && k.probe.c == c {
		k.probe = nil
	}
}

// reset is told that the transport works.
func (k *breaker) reset() { *k = breaker{} }
