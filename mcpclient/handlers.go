package mcpclient

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/toolsource/toolsource"
)

// Handlers answer what servers ask of the program, and hear what they say beside results. What has no handler
// is not declared, and a server that asks for it all the same is refused. Untrusted servers get none of them,
// unless AskConfig says so.
//
// A handler runs on a goroutine of its own, side by side with others. Its context is derived from the call
// that caused the request, where that is known: it has the values of that call's context, and ends with the
// call. Else it has no values. Calls of the same server made with it never wait for the place that the outer
// call holds, but fail with toolsource.ErrReentrant. It also ends with the session, with the limit of the
// kind, and when the server takes the request back. A handler that does not return then is left behind: the
// server gets a refusal, nothing waits for it, and it counts as running until it returns. A panic is an error.
// As long as it runs for a known call, that call's silence limit is renewed: its listener hears its last report
// again every five seconds, with a message that says what is waited for.
//
// Revision 2026-07-28 has no requests of servers: a call is answered by what is still needed, and sent again
// with it. Handlers see no difference, but a refusal fails the call there, save for elicitation, which is
// declined.
type Handlers struct {
	// Sample has a model go on with messages of the server. An error is told to the server, as far as
	// secrets of ours are not in it; toolsource.ErrDenied is told as the user's refusal.
	Sample      func(ctx context.Context, r *SampleRequest) (*SampleResult, error)
	SampleTools bool // Sample gives the server's tools to the model: declares sampling.tools

	// Elicit asks the user. An error is told to the server as a decline, one that matches
	// context.DeadlineExceeded or context.Canceled as a cancel.
	Elicit    func(ctx context.Context, r *ElicitRequest) (*ElicitResult, error)
	ElicitURL bool // Elicit can have the user open an address too; without it these are declined unasked
	// Elicited hears that what an address was opened for is done; id is that of the request.
	Elicited func(server, id string)

	// Roots are the folders that a server may work in. See Server.RootsChanged.
	Roots func(ctx context.Context, server string) ([]Root, error)

	// Log gets what servers log: the message, or its JSON, cut at 2000 characters and without control
	// characters, with the attributes server and logger. nil: nobody hears it.
	Log      *slog.Logger
	LogLevel slog.Level // the least that servers are asked to log

	Limits AskLimits
}

// Root is a folder, or another place, that a server may work in.
type Root struct {
	URI  string `json:"uri"` // file://...
	Name string `json:"name,omitempty"`
}

// AskLimits bound what one server may ask for. Zero fields are defaults; they count over all its sessions.
type AskLimits struct {
	PerMinute   int           // requests for sampling within any 60 s, and as many for elicitation; 0: 10. For roots it is six times that
	AtOnce      int           // handlers that run at once; 0: 8
	MaxTokens   int           // of one answer: the least of this and what was asked for counts; 0: 4096
	ToolRounds  int           // answers in a row that use tools; 0: 5, negative: none
	Sampling    time.Duration // 0: 30 s
	Elicitation time.Duration // 0: 5 min
	Roots       time.Duration // 0: 5 s
	MaxMessage  int           // bytes of the parameters of a request, and of an answer; 0: 1 MiB
}

var defaultAskLimits = AskLimits{
	PerMinute: 10, AtOnce: 8, MaxTokens: 4096, ToolRounds: 5,
	Sampling: 30 * time.Second, Elicitation: 5 * time.Minute, Roots: 5 * time.Second, MaxMessage: 1 << 20,
}

// Or fills l's zero fields from d.
func (l AskLimits) Or(d AskLimits) AskLimits {
	for _, f := range []struct{ to, from *int }{
		{&l.PerMinute, &d.PerMinute}, {&l.AtOnce, &d.AtOnce}, {&l.MaxTokens, &d.MaxTokens},
		{&l.ToolRounds, &d.ToolRounds}, {&l.MaxMessage, &d.MaxMessage},
	} {
		if *f.to == 0 {
			*f.to = *f.from
		}
	}
	for _, f := range []struct{ to, from *time.Duration }{
		{&l.Sampling, &d.Sampling}, {&l.Elicitation, &d.Elicitation}, {&l.Roots, &d.Roots},
	} {
		if *f.to == 0 {
			*f.to = *f.from
		}
	}
	return l
}

// AskConfig says which of Options.Handlers one server may use, and how much.
type AskConfig struct {
	// nil: it may, unless its Trust is untrusted. A handler that is not there stays undeclared.
	Sampling, Elicitation, Roots, Logging *bool
	Limits                                AskLimits // zero fields: those of Handlers
}

func (c *AskConfig) check(wrong func(string, string, ...any)) {
	if c == nil {
		return
	}
	for _, d := range []struct {
		field string
		v     time.Duration
	}{{"sampling", c.Limits.Sampling}, {"elicitation", c.Limits.Elicitation}, {"roots", c.Limits.Roots}} {
		if d.v < 0 {
			wrong("asks."+d.field, "is %v; a duration cannot be negative", d.v)
		}
	}
	for _, n := range []struct {
		field string
		v     int
	}{{"per_minute", c.Limits.PerMinute}, {"at_once", c.Limits.AtOnce}, {"max_tokens", c.Limits.MaxTokens}, {"max_message", c.Limits.MaxMessage}} {
		if n.v < 0 {
			wrong("asks."+n.field, "is %d; a count cannot be negative", n.v)
		}
	}
}

func (c *ServerConfig) asks() AskConfig {
	if c.Asks == nil {
		return AskConfig{}
	}
	return *c.Asks
}

// offer is what of the handlers is declared to a server, as bits.
type offer uint8

const (
	offerSampling offer = 1 << iota
	offerSamplingTools
	offerElicitation
	offerURL
	offerRoots
	offerLog
)

// asks are the bits that a server learns of.
const asks = offerSampling | offerSamplingTools | offerElicitation | offerURL | offerRoots

func (h *Handlers) offers(cfg *ServerConfig) (o offer) {
	if h == nil {
		return 0
	}
	says := cfg.asks()
	may := func(word *bool) bool {
		if word != nil {
			return *word
		}
		return cfg.Trust != toolsource.TrustUntrusted
	}
	if h.Sample != nil && may(says.Sampling) {
		o |= offerSampling
		if h.SampleTools && says.Limits.Or(h.Limits).ToolRounds >= 0 {
			o |= offerSamplingTools
		}
	}
	if h.Elicit != nil && may(says.Elicitation) {
		o |= offerElicitation
		if h.ElicitURL {
			o |= offerURL
		}
	}
	if h.Roots != nil && may(says.Roots) {
		o |= offerRoots
	}
	if h.Log != nil && may(says.Logging) {
		o |= offerLog
	}
	return o
}

// limits are those of a session's server, complete.
func (s *session) limits() AskLimits {
	return s.set.cfg.asks().Limits.Or(s.srv.opt.Handlers.Limits).Or(defaultAskLimits)
}

// RootsChanged tells the server that Handlers.Roots would return others now. It does not block, and a server
// that is not connected, or whose revision knows no such message, is not told: it asks again by itself.
func (s *Server) RootsChanged() {
	sess := s.live()
	if sess == nil || sess.set.offers&offerRoots == 0 || sess.era >= Era20260728 {
		return
	}
	s.spawn(func() {
		ctx, cancel := sess.lasting(notifyTime)
		defer cancel()
		if err := sess.conn.Write(ctx, notification("notifications/roots/list_changed")); err != nil {
			s.log.Debug("the server was not told of its new roots", "err", s.redact.err(err))
		}
	})
}

// notifyTime is how long something that a server is told may take to leave.
const notifyTime = 10 * time.Second

// lasting is a context that lasts as long as the session, and no longer than limit.
func (s *session) lasting(limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, fmt.Errorf("not done within %v: %w", limit, context.DeadlineExceeded))
	stop := make(chan struct{})
	go func() { // its owner calls the cancel function
		select {
		case <-s.conn.Done():
			cancel()
		case <-stop:
		}
	}()
	return ctx, func() { cancel(); close(stop) }
}
