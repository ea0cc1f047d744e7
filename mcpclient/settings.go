package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/childenv"
)

// settings are a configuration and what follows from it. They do not change; an update makes others.
type settings struct {
	cfg    ServerConfig      // complete
	own    toolsource.Limits // as configured, without defaults
	ways   []string          // transports to try, in order
	cached *cacheEntry       // what the schema cache knows
	offers offer             // what of the handlers is declared
	client *mcp.Client       // which it shares with other servers of the program
}

func (s *Server) newSettings(given ServerConfig) (*settings, error) {
	cfg, err := given.resolved()
	if err != nil {
		return nil, err
	}
	set := &settings{
		cfg: cfg, own: toolsource.Limits{Silence: given.Silence, Ceiling: given.Ceiling},
		ways: cfg.ways(given.Transport),
	}
	set.offers = s.opt.Handlers.offers(&set.cfg)
	set.client = sdkClient(&s.opt, set.offers)
	set.cached = newCacheEntry(s.opt.Cache, set, s.opt.Workspace)
	return set, nil
}

// env is the environment of the child, or only there to find a home. It is made when it is needed, as it may
// be large.
func (s *Server) env(set *settings) []string { return childenv.Of(set.cfg.Env, s.opt.LookupEnv) }

// line is the way to the server under one configuration of the connection: a Bridge, and what was learned
// about the server. An update of the connection makes another line, while calls on the old one end.
type line struct {
	bridge *toolsource.Bridge[*session]
	set    atomic.Pointer[settings] // those for the next session and the next call

	// Guarded by Server.mu.
	users   int  // calls and listings that are under way
	retired bool // another line has taken its place
	way     string
	era     knownEra  // revision to ask for without a probe
	asked   bool      // the schema cache was asked for the era
	notYet  time.Time // the server asked not to be tried before
	down    bool      // it was given up, and there was no session since
}

func (s *Server) newLine(set *settings) *line {
	l := &line{}
	l.set.Store(set)
	cfg := &set.cfg
	dial := func(ctx context.Context) (*session, error) { return s.connect(ctx, l) }
	l.bridge = toolsource.NewBridge(dial, &toolsource.BridgeOptions{
		Name:        sourceName(cfg.ID),
		Connect:     cfg.Connect,
		Jitter:      s.opt.Jitter,
		Silence:     cfg.Silence,
		Ceiling:     cfg.Ceiling,
		MaxInFlight: cfg.MaxInFlight,
		Keepalive:   max(0, cfg.Keepalive),
		IdleStop:    cfg.IdleStop,
		MaxLifetime: cfg.MaxLifetime,
		CloseBound:  cfg.CloseBound,
		Logger:      s.log,
		OnState: func(st toolsource.BridgeStatus) {
			s.stateChanged(l, st.State)
			if (st.State == toolsource.StateBackoff || st.State == toolsource.StateParked) && st.Err != nil {
				s.connectFailed(l, st.Err)
			}
		},
	})
	return l
}

// enter gives the line for a call, which leaves it afterwards.
func (s *Server) enter() *line {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line.users++
	return s.line
}

func (s *Server) leave(l *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.users--
	s.hangUpLocked(l)
}

// hangUpLocked closes a line that was replaced, once its last call has ended. Close closes it otherwise.
func (s *Server) hangUpLocked(l *line) {
	if !l.retired || l.users > 0 || s.closed {
		return
	}
	i := slices.Index(s.old, l)
	if i < 0 {
		return
	}
	s.old = slices.Delete(s.old, i, i+1)
	s.running.Go(func() {
		if err := l.bridge.Close(); err != nil {
			s.log.Warn("the session before the update did not close well", "err", s.redact.err(err))
		}
	})
}

// settings are those of the next call.
func (s *Server) settings() *settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.line.set.Load()
}

// Update replaces the configuration. The ID stays. Limits, replay, trust, caps of listings and the like
// count from the next call or listing on. What has to do with the connection makes a new session, at once
// where there is one or where one is being tried for, else when it is needed: later calls go to it, the ones
// in flight end on the session that they began on, which is then closed. What was learned of the server,
// its era and its transport, is learned anew.
//
// The error is all that is wrong with the configuration, one *ConfigError each, or matches ErrClosed; the
// old configuration then stays.
func (s *Server) Update(cfg ServerConfig) error {
	if cfg.ID != s.ID() {
		return &ConfigError{Server: cfg.ID, Field: "id", File: cfg.File, Line: cfg.Line,
			Err: fmt.Errorf("differs from %q; an update keeps the name", s.ID())}
	}
	set, err := s.newSettings(cfg)
	if err != nil {
		return err
	}
	s.redact.configure(&set.cfg)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return &toolsource.SourceError{Source: sourceName(cfg.ID), Op: "update", Err: toolsource.ErrClosed}
	}
	old := s.line
	before := old.set.Load()
	if sameConnection(before, set) {
		set.cached = before.cached
		old.set.Store(set)
		s.catalogue.renew()
		return nil
	}
	fresh := s.newLine(set)
	s.line, old.retired = fresh, true
	s.old = append(s.old, old)
	s.hangUpLocked(old)
	switch old.bridge.Status().State {
	case toolsource.StateIdle, toolsource.StateDormant:
	default:
		s.running.Go(func() { _ = fresh.bridge.Start(s.life) })
	}
	s.catalogue.renew()
	return nil
}

// sameConnection reports whether two configurations differ only in what counts for calls and listings.
func sameConnection(a, b *settings) bool {
	return slices.Equal(a.ways, b.ways) && a.offers == b.offers && reflect.DeepEqual(connectionOf(a.cfg), connectionOf(b.cfg))
}

func connectionOf(c ServerConfig) ServerConfig {
	c.Trust, c.Silence, c.Ceiling, c.Replay, c.Tools = toolsource.TrustDefault, 0, 0, false, nil
	c.MaxTools, c.MaxPages, c.Relist, c.Lazy, c.Required = 0, 0, 0, false, false
	c.Asks = nil
	c.Line, c.EraProbe, c.NoSSEFallback, c.Secrets, c.AllowEnv = 0, 0, false, nil, nil
	return c
}

// stateChanged tells watchers when the server was given up, and when it is back.
func (s *Server) stateChanged(l *line, state toolsource.State) {
	s.mu.Lock()
	changed := false
	switch state {
	case toolsource.StateReady:
		changed, l.down = l.down, false
	case toolsource.StateParked:
		changed, l.down = !l.down, true
	}
	changed = changed && s.line == l
	s.mu.Unlock()
	if changed {
		s.catalogue.renew()
	}
}

// closeLines closes every line, side by side.
func (s *Server) closeLines() (bound time.Time, err error) {
	s.mu.Lock()
	s.closed = true
	lines := append(slices.Clone(s.old), s.line)
	s.mu.Unlock()
	begin := time.Now()
	bound = begin
	errs := make(chan error, len(lines))
	for _, l := range lines {
		if t := begin.Add(l.set.Load().cfg.CloseBound); t.After(bound) {
			bound = t
		}
		go func() { errs <- l.bridge.Close() }()
	}
	for range lines {
		err = errors.Join(err, <-errs)
	}
	return bound, err
}
