package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/childenv"
)

// The transports of a ServerConfig.
const (
	TransportStdio = "stdio" // a child process
	TransportHTTP  = "http"  // streamable HTTP
	TransportSSE   = "sse"   // the older HTTP transport, with a stream of events and a place to post to
)

// The eras: revisions of the protocol that a ServerConfig may ask for.
const (
	EraAuto     = ""
	Era20260728 = "2026-07-28"
	Era20251125 = "2025-11-25"
	Era20250618 = "2025-06-18"
	Era20250326 = "2025-03-26"
	Era20241105 = "2024-11-05"
)

var eras = []string{Era20260728, Era20251125, Era20250618, Era20250326, Era20241105}

// ServerConfig says how to reach one MCP server and how far to trust it. Its ID and either Command or URL
// are needed; every other zero value is a default.
type ServerConfig struct {
	ID        string // unique among the program's servers: it names the server in errors, and its source
	Transport string // TransportStdio, TransportHTTP, TransportSSE; "": stdio with a Command, http with a URL

	// Command is for stdio: a path, or a bare name looked up on the child's PATH. In Command, Dir and the
	// files of TLS a leading ~ alone or before a separator is the child's own HOME (on Windows its
	// USERPROFILE); ~name, and ~ anywhere else, Args and Env included, stay as they are.
	Command string
	Args    []string                     // stdio: passed as they are, never split, no shell
	Env     map[string]toolsource.Secret // stdio: beside the base environment, over it
	Dir     string                       // stdio: relative to File's folder, else to the workspace; "": the workspace

	// AllowEnv are names that Env may set although they have code run that Command does not name, such as
	// LD_PRELOAD, BASH_ENV, or NODE_OPTIONS with --require; see InjectingEnv. Others of these are refused. It
	// is for those who wrote the entry themselves, never for one from another program's file.
	AllowEnv []string

	// URL is absolute, http or https; or unix:///path/to/socket#/path, where the part after # is the path
	// that is asked for, "" meaning /.
	URL     string
	Headers map[string]toolsource.Secret // http and sse: sent with every request to URL's origin, to no other
	TLS     TLSConfig                    // https

	// Secrets are further values that must not show: those that stand in Command, Args, URL, Dir or TLS, and
	// came from a variable or a store of secrets. They are taken out of errors, logs, status, the tail of
	// standard error and the errors of tools, as Env and Headers are.
	Secrets []toolsource.Secret

	// NoSSEFallback keeps to streamable HTTP. Without it a server that answers the first request ever by 400,
	// 404 or 405 is tried once over the older transport, in the same attempt.
	NoSSEFallback bool

	Era      string           // protocol revision to ask for; EraAuto: the library finds out, and remembers it for a day
	EraProbe time.Duration    // EraAuto: longest wait for an answer to the newest revision, at most a third of Connect; 0: 5 s
	Trust    toolsource.Trust // how far the server's hints are believed

	Silence time.Duration         // longest time of a call without progress; 0: 60 s
	Ceiling time.Duration         // longest time of a call altogether; 0: 10 min
	Replay  bool                  // every tool may be sent again after a lost session, whatever its grade
	Tools   map[string]ToolConfig // by wire name: settings of single tools

	Connect     time.Duration // bounds each attempt to connect, the first listing included; 0: 30 s
	CloseBound  time.Duration // from Close to the last process gone; 0: 5 s
	Keepalive   time.Duration // between pings of an idle session; 0: 180 s on http and sse, off on stdio; negative: off
	IdleStop    time.Duration // an idle session is stopped, and wakes at a call; 0: never
	MaxLifetime time.Duration // a session is replaced once it is this old and idle; 0: never

	// Relist is the time between listings of a server that cannot announce a change of its tools. 0: what the
	// server hints, else 5 min, over HTTP from 2026-07-28 on, and never with others; negative: never.
	Relist time.Duration
	// Lazy puts the first connect off until a call, or Start, where Options.Cache knows the server's tools.
	Lazy bool

	Serial      bool // one call at a time, in order, as with MaxInFlight 1
	MaxInFlight int  // calls at once, others wait; 0: 64
	MaxTools    int  // of a listing, the rest is cut; 0: 1000
	MaxPages    int  // of a listing, the rest is cut; 0: 50
	MaxMessage  int  // bytes of one message; 0: 10 MiB

	Asks *AskConfig // which of Options.Handlers it may use; nil: as Trust says

	Required bool   // a host that opens many servers fails if this one does
	File     string // file that declares the server, for errors and for Dir; "" if none does
	Line     int    // line in File, from 1; 0: unknown
}

// ToolConfig is what is set for one tool of a server.
type ToolConfig struct {
	Limits toolsource.Limits // zero fields: the server's
	Replay *bool             // nil: the server's
}

// Options are what a program's servers have in common. The zero value and nil work.
type Options struct {
	Logger    *slog.Logger                // nil: discard
	Workspace string                      // working directory of children whose Dir is ""; "": the process's own
	LookupEnv func(string) (string, bool) // base environment of children; nil: os.LookupEnv

	OAuth auth.OAuthHandler // http: asked for tokens, and after 401 and 403; nil: none
	// HTTPTransport carries the requests of http and sse, except those of servers with TLS settings or a unix
	// socket. nil: one of our own per session, with the proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name.
	HTTPTransport http.RoundTripper

	// HeaderFunc gives further headers for a request to a server, over those of its configuration; ctx is that
	// of the call that causes it. What it returns is kept out of errors and logs. It is called for each
	// request, from several goroutines; one that does not return by ctx's end is left behind. nil: none.
	HeaderFunc func(ctx context.Context, server string) (map[string]toolsource.Secret, error)

	// Cache keeps what servers list from one run of the program to the next, see ServerConfig.Lazy; nil: none.
	Cache Cache

	// Handlers answer servers that ask for a model, the user or folders, and hear what they log; nil: nobody
	// does. It is not changed after the first New with it.
	Handlers *Handlers

	ClientName    string // what we call ourselves; "": toolsource
	ClientVersion string // "": 0

	Jitter func(time.Duration) time.Duration // spreads reconnects; nil: a random part
}

const (
	defaultSilence    = 60 * time.Second
	defaultCeiling    = 10 * time.Minute
	defaultConnect    = 30 * time.Second
	defaultCloseBound = 5 * time.Second
	defaultKeepalive  = 180 * time.Second
	defaultEraProbe   = 5 * time.Second
	defaultInFlight   = 64
	defaultTools      = 1000
	defaultPages      = 50
	defaultMessage    = 10 << 20
)

// resolved returns a copy of the configuration with its defaults filled in, or all that is wrong with it.
func (c ServerConfig) resolved() (ServerConfig, error) {
	c.Args, c.Secrets, c.AllowEnv = slices.Clone(c.Args), slices.Clone(c.Secrets), slices.Clone(c.AllowEnv)
	if c.Asks != nil {
		asks := *c.Asks
		c.Asks = &asks
	}
	c.Env, c.Headers, c.Tools = maps.Clone(c.Env), maps.Clone(c.Headers), maps.Clone(c.Tools)
	var bad []error
	wrong := func(field, format string, args ...any) {
		bad = append(bad, &ConfigError{Server: c.ID, Field: field, File: c.File, Line: c.Line, Err: fmt.Errorf(format, args...)})
	}
	if strings.TrimSpace(c.ID) == "" {
		wrong("id", "is empty; every server needs a name of its own")
	}
	c.Transport = c.transport(wrong)
	if c.Transport == TransportHTTP || c.Transport == TransportSSE {
		c.checkURL(wrong)
		c.checkHeaders(wrong)
	}
	c.TLS.check(&c, wrong)
	for name := range c.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			wrong("env", "%q is no name of an environment variable", name)
		}
		if strings.Contains(c.Env[name].Reveal(), "\x00") {
			wrong("env", "the value of %s holds a NUL byte", name)
		}
	}
	c.checkInjecting(wrong)
	for i, a := range c.Args {
		if strings.Contains(a, "\x00") {
			wrong("args", "argument %d holds a NUL byte", i+1)
		}
	}
	if c.Era != EraAuto && !slices.Contains(eras, c.Era) {
		wrong("era", "%q is no protocol revision; known are %s, and \"\" for the library's choice", c.Era, strings.Join(eras, ", "))
	}
	c.Asks.check(wrong)
	c.durations(wrong)
	c.counts(wrong)
	if len(bad) > 0 {
		c.hide(bad)
		return c, errors.Join(bad...)
	}
	return c, nil
}

// hide takes the secrets out of what is wrong with the configuration.
func (c *ServerConfig) hide(bad []error) {
	var r redactor
	r.configure(c)
	for _, err := range bad {
		if e, ok := err.(*ConfigError); ok {
			e.Err = r.err(e.Err)
		}
	}
}

func (c *ServerConfig) checkInjecting(wrong func(string, string, ...any)) {
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		allowed := slices.ContainsFunc(c.AllowEnv, func(a string) bool { return strings.EqualFold(a, name) })
		if reader := InjectingEnv(name, c.Env[name]); reader != "" && !allowed {
			wrong("env", "sets %s, by which %s runs code that the command does not name; remove it, or allow it by allow_env in a configuration of your own", name, reader)
		}
	}
}

// InjectingEnv says who runs code that the command does not name where a child's environment has this
// setting, such as "the loader" for LD_PRELOAD; "": nobody that is known. It is what ServerConfig.AllowEnv
// is about.
func InjectingEnv(name string, value toolsource.Secret) (reader string) {
	return childenv.Injects(name, value.Reveal())
}

func (c *ServerConfig) transport(wrong func(string, string, ...any)) string {
	t := c.Transport
	switch {
	case c.Command != "" && c.URL != "":
		wrong("command", "is set beside url; a server is either a command or an address, remove one")
	case c.Command == "" && c.URL == "":
		wrong("command", "and url are both missing; give the command to start, or the address to call")
	case t == "" && c.Command != "":
		return TransportStdio
	case t == "" && endsInSSE(c.URL):
		return TransportSSE
	case t == "":
		return TransportHTTP
	case t == TransportStdio && c.Command == "":
		wrong("transport", "stdio needs a command, and there is only a url")
	case (t == TransportHTTP || t == TransportSSE) && c.URL == "":
		wrong("transport", "%s needs a url, and there is only a command", t)
	case t != TransportStdio && t != TransportHTTP && t != TransportSSE:
		wrong("transport", "%q is unknown; use stdio, http or sse", t)
	}
	return t
}

func (c *ServerConfig) durations(wrong func(string, string, ...any)) {
	for _, d := range []struct {
		field string
		v     *time.Duration
		def   time.Duration
	}{
		{"silence", &c.Silence, defaultSilence},
		{"ceiling", &c.Ceiling, defaultCeiling},
		{"connect", &c.Connect, defaultConnect},
		{"era_probe", &c.EraProbe, defaultEraProbe},
		{"close_bound", &c.CloseBound, defaultCloseBound},
		{"idle_stop", &c.IdleStop, 0},
		{"max_lifetime", &c.MaxLifetime, 0},
	} {
		if *d.v < 0 {
			wrong(d.field, "is %v; a duration cannot be negative", *d.v)
		}
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	if c.Keepalive == 0 && c.Transport != TransportStdio {
		c.Keepalive = defaultKeepalive
	}
	for name, t := range c.Tools {
		if t.Limits.Silence < 0 || t.Limits.Ceiling < 0 {
			wrong("tools."+name, "has a negative limit")
		}
	}
}

func (c *ServerConfig) counts(wrong func(string, string, ...any)) {
	if c.Serial {
		if c.MaxInFlight > 1 {
			wrong("max_in_flight", "is %d, but the server takes one call at a time", c.MaxInFlight)
		}
		c.MaxInFlight = 1
	}
	for _, n := range []struct {
		field string
		v     *int
		def   int
	}{
		{"max_in_flight", &c.MaxInFlight, defaultInFlight},
		{"max_tools", &c.MaxTools, defaultTools},
		{"max_pages", &c.MaxPages, defaultPages},
		{"max_message", &c.MaxMessage, defaultMessage},
	} {
		if *n.v < 0 {
			wrong(n.field, "is %d; a count cannot be negative", *n.v)
		}
		if *n.v == 0 {
			*n.v = n.def
		}
	}
}

// dir is the working directory of the child; "" only where neither the entry nor the program names one.
func (c *ServerConfig) dir(workspace string) string {
	switch {
	case c.Dir == "":
		return workspace
	case filepath.IsAbs(c.Dir):
		return c.Dir
	case c.File != "":
		return filepath.Join(filepath.Dir(c.File), c.Dir)
	case workspace != "":
		return filepath.Join(workspace, c.Dir)
	}
	return c.Dir
}

// Format writes the server's id and how it is reached, without arguments, environment and headers: any of
// them may hold a secret.
func (c ServerConfig) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// String is what Format writes.
func (c ServerConfig) String() string {
	reached := c.Command
	if c.URL != "" {
		reached = origin(c.URL)
	}
	if len(c.Secrets) > 0 {
		var r redactor
		r.configure(&c)
		reached = r.text(reached)
	}
	return fmt.Sprintf("server %q (%s)", c.ID, reached)
}

// MarshalJSON writes the id, the transport and the place in a file, as an object. It cannot be read back.
func (c ServerConfig) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID        string `json:"id"`
		Transport string `json:"transport,omitempty"`
		File      string `json:"file,omitempty"`
		Line      int    `json:"line,omitempty"`
	}{c.ID, c.Transport, c.File, c.Line})
}

// LogValue is String.
func (c ServerConfig) LogValue() slog.Value { return slog.StringValue(c.String()) }

// ConfigError is one thing wrong with a ServerConfig.
type ConfigError struct {
	Server string
	Field  string // as a configuration file calls it
	File   string // "" if no file declares the server
	Line   int    // from 1; 0: unknown
	Err    error
}

// Error is one line: place, server, field and what is wrong.
func (e *ConfigError) Error() string {
	place := ""
	if e.File != "" {
		place = e.File + ":"
		if e.Line > 0 {
			place += fmt.Sprintf("%d:", e.Line)
		}
		place += " "
	}
	return fmt.Sprintf("mcpclient: %sserver %q: %s %v", place, e.Server, e.Field, e.Err)
}

// Unwrap is the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// Is matches toolsource.ErrPermanent: trying again cannot help.
func (e *ConfigError) Is(target error) bool { return target == toolsource.ErrPermanent }
