package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// hear takes a notification of the server in. It runs on the goroutine that reads and does not block: what
// the host has to do with it is posted.
func (s *session) hear(method string, params json.RawMessage) {
	switch method {
	case "": // a stream was cut
		if s.live.Load() {
			s.srv.tellUpdated("")
		}
	case "notifications/tools/list_changed":
		if s.live.Load() {
			s.srv.catalogue.announce(s)
		}
	case "notifications/cancelled":
		var p struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(params, &p) == nil {
			s.asking.takeBack(string(p.RequestID))
		}
	case "notifications/message":
		s.hearLog(params)
	case "notifications/resources/list_changed":
		s.srv.tellAll(topicResources)
	case "notifications/prompts/list_changed":
		s.srv.tellAll(topicPrompts)
	case "notifications/resources/updated":
		var p struct{ URI string }
		if json.Unmarshal(params, &p) == nil {
			s.srv.tellUpdated(p.URI)
		}
	case "notifications/elicitation/complete":
		s.hearElicited(params)
	}
}

func (s *session) hearElicited(params json.RawMessage) {
	h := s.srv.opt.Handlers
	if s.set.offers&offerURL == 0 || h.Elicited == nil {
		return
	}
	var p struct{ ElicitationID string }
	if json.Unmarshal(params, &p) == nil && p.ElicitationID != "" {
		s.srv.audience().post("", func() { h.Elicited(s.srv.id, p.ElicitationID) })
	}
}

const maxLog = 2000 // characters of a message

// hearLog passes a message of the server's log on.
func (s *session) hearLog(params json.RawMessage) {
	if s.set.offers&offerLog == 0 {
		return
	}
	t, err := parseJSON(params)
	if err != nil {
		return
	}
	m := t.members(nil)
	word, _ := m.get("level").str()
	level, log := slogLevel(word), s.srv.opt.Handlers.Log
	if level < s.srv.opt.Handlers.LogLevel || !log.Enabled(context.Background(), level) {
		return
	}
	logger, _ := m.get("logger").str()
	text, ok := m.get("data").str()
	if !ok {
		var b bytes.Buffer
		if json.Compact(&b, []byte(m.get("data"))) == nil {
			text = b.String()
		}
	}
	text = clipText(plain(s.srv.redact.text(strings.Clone(text))), maxLog)
	logger = clipText(plain(logger), 100)
	s.srv.audience().post("", func() {
		log.LogAttrs(context.Background(), level, text, slog.String("server", s.srv.id), slog.String("logger", logger))
	})
}

// slogLevel maps a level of the protocol. An unknown word is taken as info.
func slogLevel(word string) slog.Level {
	switch word {
	case "debug":
		return slog.LevelDebug
	case "warning":
		return slog.LevelWarn
	case "error", "critical", "alert", "emergency":
		return slog.LevelError
	}
	return slog.LevelInfo // info, notice
}

// logs reports whether the server declares that it logs.
func (s *session) logs() bool {
	//lint:ignore SA1019 servers still log
	return s.capabilities().Logging != nil
}

// metaLogLevel is the key of _meta by which a request of 2026-07-28 says what is to be logged.
const metaLogLevel = "io.modelcontextprotocol/logLevel"

// logLevel is the least level that servers are asked to log.
func (s *session) logLevel() string {
	switch l := s.srv.opt.Handlers.LogLevel; {
	case l < slog.LevelInfo:
		return "debug"
	case l < slog.LevelWarn:
		return "info"
	case l < slog.LevelError:
		return "warning"
	}
	return "error"
}

// greet does, behind the back of whoever waits for the session, what a new session needs: the level of logging,
// and the subscriptions that the one before it had.
func (s *Server) greet(sess *session) {
	s.tellAll(topicResources)
	s.tellAll(topicPrompts)
	level := sess.set.offers&offerLog != 0 && sess.era < Era20260728 && sess.logs()
	uris := s.subscribed()
	if !level && len(uris) == 0 {
		return
	}
	s.spawn(func() {
		ctx, cancel := sess.lasting(sess.set.cfg.Connect)
		defer cancel()
		if level {
			//lint:ignore SA1019 servers still log
			err := sess.cs.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: mcp.LoggingLevel(sess.logLevel())})
			if err != nil {
				s.log.Debug("the server does not take the level of logging", "err", s.redact.err(err))
			}
		}
		for _, uri := range uris {
			if err := sess.subscribe(ctx, uri); err != nil && ctx.Err() == nil {
				s.log.Warn("the new session has no subscription", "uri", s.redact.text(uri), "err", s.redact.err(err))
			}
			s.tellUpdated(uri)
		}
	})
}

// audience is who hears what a server tells, one after another on a goroutine that is there only while there
// is something to tell.
type audience struct {
	spawn func(func()) bool
	warn  func(string, ...any)

	mu      sync.Mutex
	queue   []note
	lost    int // notes that came while too many waited
	working bool
	topics  [topics][]*listener
	subs    map[string][]*updateListener
}

// note is something to tell. A note with a key takes the place of one that waits. When too many wait, post
// takes no more; must takes those whose keys the host has chosen, and which are therefore few.
type note struct {
	key  string
	tell func()
}

const (
	topicResources = iota
	topicPrompts
	topics
)

const maxNotes = 256

type listener struct{ changed func() }

type updateListener struct{ updated func(uri string) }

func (s *Server) audience() *audience {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crowd == nil {
		s.crowd = &audience{spawn: s.spawn, warn: s.log.Warn}
	}
	return s.crowd
}

// heard is the audience if there ever was one.
func (s *Server) heard() *audience {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.crowd
}

// post takes a note, unless too many wait.
func (a *audience) post(key string, tell func()) (taken bool) { return a.take(key, tell, maxNotes) }

// must takes a note in any case.
func (a *audience) must(key string, tell func()) { a.take(key, tell, math.MaxInt) }

func (a *audience) take(key string, tell func(), most int) (taken bool) {
	a.mu.Lock()
	if key != "" {
		for i := range a.queue {
			if a.queue[i].key == key {
				a.queue[i].tell = tell
				a.mu.Unlock()
				return true
			}
		}
	}
	if len(a.queue) >= most {
		if key == "" {
			a.lost++
		}
		a.mu.Unlock()
		return false
	}
	a.queue = append(a.queue, note{key, tell})
	begin := !a.working
	a.working = true
	a.mu.Unlock()
	if begin && !a.spawn(a.work) {
		a.mu.Lock()
		a.working, a.queue = false, nil // all is about to end
		a.mu.Unlock()
	}
	return true
}

func (a *audience) work() {
	for {
		a.mu.Lock()
		if len(a.queue) == 0 {
			a.working, a.queue = false, nil
			lost := a.lost
			a.lost = 0
			a.mu.Unlock()
			if lost > 0 {
				a.warn("messages of the server were lost, since they came faster than they were taken", "count", lost)
			}
			return
		}
		n := a.queue[0]
		a.queue = a.queue[1:]
		a.mu.Unlock()
		a.tell(n)
	}
}

// tell calls one function of the host. A panic of it is its own.
func (a *audience) tell(n note) {
	defer func() {
		if v := recover(); v != nil {
			a.warn("a function of the host panicked", "panic", fmt.Sprint(v))
		}
	}()
	n.tell()
}
