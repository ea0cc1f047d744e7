package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/internal/wire"
)

// legacy is the revision to ask for where the newest is not spoken: servers of every age answer it.
const legacy = Era20251125

// eraLasts is how long it is remembered which revision to ask for without a probe. Then the next connect
// finds it out again, as the server may have learned a newer one.
const eraLasts = 24 * time.Hour

// knownEra is a revision to ask a server for without a probe.
type knownEra struct {
	name string    // "": not known
	at   time.Time // when it was found out
}

func known(name string) knownEra { return knownEra{name, time.Now()} }

func (k knownEra) counts() bool { return k.name != "" && time.Since(k.at) < eraLasts }

// errUnanswered is why an attempt was given up that asked for the newest revision.
type errUnanswered struct{ limit time.Duration }

func (e errUnanswered) Error() string {
	return fmt.Sprintf("no answer to server/discover within %v", e.limit)
}

// negotiate makes a session over one transport. Where the revision is the library's choice it asks for the
// newest, which a server that does not know it refuses within the same connection; one that does not
// answer, or ends, is started afresh for an older one. What it found out is remembered for the next time.
func (s *Server) negotiate(ctx context.Context, a attemptOf) (*session, error) {
	era, remembered := s.plan(ctx, a)
	if era.name == "" {
		return s.probe(ctx, a)
	}
	sess, err := s.ask(ctx, a, era.name)
	switch {
	case err == nil && remembered && sess.asked.name == era.name:
		sess.asked.at = era.at // it was not found out again
	case err == nil && !remembered:
		sess.asked = knownEra{} // it was not found out at all
	}
	if err == nil || !remembered {
		return sess, err
	}
	s.remember(a.line, knownEra{})
	if ctx.Err() == nil && answeredNo(err) {
		return s.probe(ctx, a)
	}
	return nil, err
}

// plan is the revision to ask for; "" means to find out.
func (s *Server) plan(ctx context.Context, a attemptOf) (era knownEra, remembered bool) {
	switch {
	case a.set.cfg.Era != EraAuto:
		return known(a.set.cfg.Era), false
	case a.way == TransportSSE: // it knows older revisions only
		return known(legacy), false
	}
	s.mu.Lock()
	era, asked := a.line.era, a.line.asked
	a.line.asked = true
	s.mu.Unlock()
	if !asked && era.name == "" {
		if e := a.set.cached.load(ctx, s); e != nil && e.asked.name != "" {
			era = e.asked
			s.remember(a.line, era)
		}
	}
	if !era.counts() {
		return knownEra{}, false
	}
	return era, true
}

// remember keeps the revision to ask for without a probe; the zero one forgets it.
func (s *Server) remember(l *line, era knownEra) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.era = era
}

// ask asks for a revision, and once more for the best that both know if the server refuses it and says
// which ones it takes.
func (s *Server) ask(ctx context.Context, a attemptOf, era string) (*session, error) {
	sess, err := s.handshake(ctx, a, era)
	if err != nil && ctx.Err() == nil {
		if other := offered(era, err); other != "" {
			era = other
			sess, err = s.handshake(ctx, a, era)
		}
	}
	if err != nil {
		return nil, err
	}
	sess.asked = known(era)
	return sess, nil
}

// probe finds the revision.
func (s *Server) probe(ctx context.Context, a attemptOf) (*session, error) {
	sess, err := s.discover(ctx, a)
	if err == nil {
		if sess.era < Era20260728 {
			sess.asked = known(legacy)
			s.remember(a.line, sess.asked)
		}
		return sess, nil
	}
	if ctx.Err() != nil {
		return nil, err
	}
	if other := offered(legacy, err); other != "" {
		if sess, err = s.ask(ctx, a, other); err == nil {
			s.remember(a.line, sess.asked)
		}
		return sess, err
	}
	if !afresh(a.way, err) {
		return nil, err
	}
	s.log.Debug("starting afresh for an older revision", "err", err)
	if sess != nil && sess.conn != nil {
		gone, cancel := context.WithTimeout(ctx, lastMoment)
		_ = sess.conn.Gone(gone) // what it held, a port or a lock, is the next one's
		cancel()
	}
	s.remember(a.line, known(legacy)) // before the outcome, so that no server that is slow to start meets the limit again and again
	if sess, err = s.ask(ctx, a, legacy); err == nil {
		s.remember(a.line, sess.asked)
	}
	return sess, err
}

// lastMoment is how long a child that is replaced has to end first.
const lastMoment = time.Second

// discover asks for the newest revision. The SDK goes on with an older one in the same connection where
// the server refuses it; what has to be limited is the time without any answer.
func (s *Server) discover(ctx context.Context, a attemptOf) (*session, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := min(a.set.cfg.EraProbe, a.set.cfg.Connect/3)
	return s.handshake(context.WithValue(ctx, probingKey{}, &probing{limit, cancel}), a, Era20260728)
}

// saysNothingOfEras reports whether an answer over HTTP would be the same for any revision.
func saysNothingOfEras(err error) bool {
	var st *wire.StatusError
	switch {
	case err == nil:
		return false
	case errors.As(err, &st):
		return st.Status == 401 || st.Status == 403 || st.Status == 429
	}
	return errors.Is(err, toolsource.ErrNeedsAuth) || errors.Is(err, toolsource.ErrNotReached)
}

// afresh reports whether another connection, without the probe, may do better: over HTTP, where requests
// do not disturb each other, only after silence.
func afresh(way string, err error) bool {
	for _, final := range []error{toolsource.ErrPermanent, toolsource.ErrNeedsAuth, toolsource.ErrForbidden} {
		if errors.Is(err, final) {
			return false
		}
	}
	return way == TransportStdio || unanswered(err)
}

func unanswered(err error) bool {
	var silent errUnanswered
	return errors.As(err, &silent)
}

// answeredNo reports whether a server answered the handshake, only by a refusal.
func answeredNo(err error) bool {
	var rpc *RPCError
	var st *StatusError
	return errors.As(err, &rpc) || errors.As(err, &st) && st.Status == 400
}
