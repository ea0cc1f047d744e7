package toolsource

import (
	"context"
	"errors"
	"io"
	"time"
)

// Optional capabilities. Each embeds ToolSource and has a package function that looks for it on a source
// and down its chain of Unwrap, and holds the fallback.

// Watcher is a source that changes by itself.
type Watcher interface {
	ToolSource
	// Watch has changed called after each change of what Discover would list, until stop. The call only
	// tells: it comes on any goroutine, returns at once, and several changes may be told as one.
	Watch(changed func()) (stop func())
}

// UserSource is a source with private tools per user.
type UserSource interface {
	ToolSource
	// ForUser gives the source as u sees it, of the same name. It does no I/O. Closing it frees what is
	// held for u and nothing that others use.
	ForUser(u User) (ToolSource, error)
}

// Gate is a source some of whose tools come and go without a change of its listing.
type Gate interface {
	ToolSource
	// Offers reports whether a tool can be called now. A Toolbox asks once per selection, and again
	// before each call. A panic counts as false.
	Offers(ctx context.Context, spec ToolSpec) bool
}

// SelfGated is a Gate whose callables ask for themselves, so that a Toolbox need not ask before each call.
type SelfGated interface {
	Gate
	SelfGated() bool
}

// StatusSource is a source that knows how it is.
type StatusSource interface {
	ToolSource
	// Status does no I/O and does not block.
	Status() SourceStatus
}

// Bounded is a source whose callables end by themselves within the rules of Callable, soon after their
// context ends. A Toolbox may then run them on the caller's goroutine.
type Bounded interface {
	ToolSource
	Bounded() bool
}

// SelfLimited is a Bounded source whose callables keep the limits of their spec and of LimitsFrom as well, so
// that a Toolbox need not put a time limit around each call.
type SelfLimited interface {
	Bounded
	SelfLimited() bool
}

// Claimer is a source that owns names before its first listing: those of its schema cache and allow list.
type Claimer interface {
	ToolSource
	Claims() []string
}

// Decorator is a source that wraps another. The package functions below look on the decorator first,
// then on what Unwrap gives.
type Decorator interface {
	ToolSource
	Unwrap() ToolSource
}

// Mapper is a decorator that shows its inner source's tools as others. Inner gives the inner spec for one of
// the decorator's own, Outer the other way round; ok is false for a tool that the decorator does not have.
// A decorator without it passes specs and names as they are.
type Mapper interface {
	Decorator
	Inner(spec ToolSpec) (inner ToolSpec, ok bool)
	Outer(name string) (outer string, ok bool)
}

// maxChain bounds how far Unwrap is followed, so that a chain without end is no call without end.
const maxChain = 100

// find looks for a capability on src and down its chain.
func find[C ToolSource](src ToolSource) (c C, ok bool) {
	for range maxChain {
		if src == nil {
			break
		}
		if c, ok = src.(C); ok {
			return c, true
		}
		d, isDecorator := src.(Decorator)
		if !isDecorator {
			break
		}
		src = d.Unwrap()
	}
	return c, false
}

// Watch subscribes to a source's own changes; ok is false, and stop does nothing, if it has none.
func Watch(src ToolSource, changed func()) (stop func(), ok bool) {
	if w, found := find[Watcher](src); found {
		return w.Watch(changed), true
	}
	return func() {}, false
}

// SourceForUser gives a source as u sees it. private is false, and the source is src itself, if it is the
// same for everybody. A decorator around a UserSource is put around the user's source as well; one that
// cannot be is an error, since nobody may see through it.
func SourceForUser(src ToolSource, u User) (s ToolSource, private bool, err error) {
	if u == (User{}) {
		return nil, false, errors.New("toolsource: the zero User is nobody")
	}
	if us, ok := src.(UserSource); ok {
		s, err = us.ForUser(u)
		return s, true, err
	}
	if _, ok := find[UserSource](src); !ok {
		return src, false, nil
	}
	rw, ok := src.(rewrapper)
	if !ok {
		return nil, true, &SourceError{Source: src.Name(), Op: "user", Err: errors.New("the source has private tools, but its decorator has no ForUser")}
	}
	inner, _, err := SourceForUser(src.(Decorator).Unwrap(), u)
	if err != nil {
		return nil, true, err
	}
	return rw.rewrap(inner), true, nil
}

// rewrapper is one of our decorators: it can be put around another source.
type rewrapper interface {
	rewrap(inner ToolSource) ToolSource
}

// Offered asks a source's gates about a tool, each in its own terms; a source without one offers every tool.
// Every gate of the chain has to agree, so that no decorator can open what an inner source has shut.
func Offered(ctx context.Context, src ToolSource, spec ToolSpec) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	for range maxChain {
		if g, isGate := src.(Gate); isGate && !g.Offers(ctx, spec) {
			return false
		}
		d, isDecorator := src.(Decorator)
		if !isDecorator || d.Unwrap() == nil {
			return true
		}
		if m, maps := src.(Mapper); maps {
			if spec, ok = m.Inner(spec); !ok {
				return false
			}
		}
		src = d.Unwrap()
	}
	return false
}

// gates reports whether a gate stands anywhere in the chain, and whether one of them has to be asked before
// each call.
func gates(src ToolSource) (any, atCall bool) {
	for range maxChain {
		if g, ok := src.(Gate); ok {
			any = true
			if s, ok := g.(SelfGated); !ok || !s.SelfGated() {
				atCall = true
			}
		}
		d, ok := src.(Decorator)
		if !ok {
			break
		}
		src = d.Unwrap()
	}
	return any, atCall
}

// IsBounded reports whether a source's callables end by themselves. A decorator has to say so itself, since
// what it puts around them may block.
func IsBounded(src ToolSource) bool {
	b, ok := src.(Bounded)
	return ok && b.Bounded()
}

func isSelfLimited(src ToolSource) bool {
	s, ok := src.(SelfLimited)
	return ok && s.SelfLimited()
}

// Claims lists the names that a source owns before its first listing, under the names that the decorators
// of the chain give them.
func Claims(src ToolSource) []string { return claims(src, maxChain) }

func claims(src ToolSource, steps int) []string {
	if c, ok := src.(Claimer); ok {
		return c.Claims()
	}
	d, ok := src.(Decorator)
	if !ok || steps == 0 {
		return nil
	}
	names := claims(d.Unwrap(), steps-1)
	m, ok := src.(Mapper)
	if !ok {
		return names
	}
	outer := make([]string, 0, len(names))
	for _, n := range names {
		if o, ok := m.Outer(n); ok {
			outer = append(outer, o)
		}
	}
	return outer
}

// StatusOf is what a source says of itself; ok is false if it says nothing.
func StatusOf(src ToolSource) (st SourceStatus, ok bool) {
	if s, found := find[StatusSource](src); found {
		return s.Status(), true
	}
	return SourceStatus{}, false
}

// CloseSource closes the outermost source of the chain that can be closed; such a source closes what it
// wraps. Without one it does nothing.
func CloseSource(src ToolSource) error {
	for range maxChain {
		if c, ok := src.(io.Closer); ok {
			return c.Close()
		}
		d, ok := src.(Decorator)
		if !ok {
			break
		}
		src = d.Unwrap()
	}
	return nil
}

// State is a source's state in one word. A session's states are those of a Bridge; a source that needs no
// session is ready, unavailable, failed or closed.
type State string

// The states.
const (
	StateIdle        State = "idle"        // not asked for yet
	StateDialling    State = "dialling"    // connecting, or listing for the first time
	StateReady       State = "ready"       // can be called
	StateBackoff     State = "backoff"     // lost; the next try is timed
	StateParked      State = "parked"      // given up for now; probed from time to time
	StateDormant     State = "dormant"     // stopped on purpose; wakes at a call
	StateUnavailable State = "unavailable" // says that it cannot contribute tools now
	StateFailed      State = "failed"      // its last listing failed
	StateClosed      State = "closed"
)

// SourceStatus is how a source is, for operators. Durations and times are the library's clock; the zero
// time means never or unknown.
type SourceStatus struct {
	Source     string        `json:"source"`
	Kind       string        `json:"kind"` // as Origin.Kind
	State      State         `json:"state"`
	Since      time.Time     `json:"since,omitzero"` // of the state
	Err        error         `json:"-"`              // why it is not ready, or its last failure; nil: none
	Tools      int           `json:"tools"`          // in its last good listing
	Precedence Precedence    `json:"precedence"`
	Order      int           `json:"order"`
	Shared     bool          `json:"shared"`
	Listed     time.Time     `json:"listed,omitzero"`       // when the last good listing came
	Stale      bool          `json:"stale"`                 // it announced a change that the Toolbox has not taken in
	Problems   []error       `json:"-"`                     // single tools or entries that were left out, each with its reason
	InFlight   int           `json:"in_flight"`             // calls running
	Queued     int           `json:"queued"`                // calls waiting for a place
	QueueTime  time.Duration `json:"queue_time"`            // waited for places by all calls so far
	Abandoned  int           `json:"abandoned"`             // callables that outlived their call and still run
	Attempts   int           `json:"attempts"`              // connects since it was last ready
	NextTry    time.Time     `json:"next_try,omitzero"`     // when the next connect is due
	Epoch      uint64        `json:"epoch"`                 // sessions so far
	Era        string        `json:"era,omitempty"`         // MCP revision spoken
	Transport  string        `json:"transport,omitempty"`   // "stdio", "http", "sse"
	Server     string        `json:"server,omitempty"`      // id of the MCP server
	ServerInfo string        `json:"server_info,omitempty"` // the name and version it gives itself
	Stderr     string        `json:"-"`                     // tail of a child's standard error, secrets removed
}
