package sources

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/specdoc"
	"github.com/toolsource/toolsource/internal/tomldoc"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/sources/mcpsource"
)

const (
	offDisabled = "disabled"
	offBad      = "bad entry"
)

func (c *Config) readServers(root *tomldoc.Reader) {
	named(root, "mcp_servers", func(id string, e *tomldoc.Reader) {
		r := serverReader{Reader: e, root: root, lookup: c.opts.LookupEnv}
		s := r.read(id)
		if e.OK() && s.Off == "" {
			r.check(s.Config)
		}
		if !e.OK() {
			s = Server{Config: mcpclient.ServerConfig{ID: id, File: s.Config.File, Line: s.Config.Line, Required: s.Config.Required}, Off: offBad}
		}
		s.Precedence = toolsource.PrecedenceMCP
		c.Servers = append(c.Servers, s)
	})
}

// serverReader reads one [mcp_servers.NAME]. Problems of a single tool's table go to root, since they do
// not switch the server off.
type serverReader struct {
	*tomldoc.Reader
	root   *tomldoc.Reader
	lookup func(string) (string, bool)
}

func (r *serverReader) read(id string) Server {
	var s Server
	cfg, opt := &s.Config, &s.Source
	cfg.ID, cfg.File, cfg.Line = id, r.File(), r.Line()
	if strings.TrimSpace(id) == "" {
		r.Fail("", "write [mcp_servers.NAME]", "has no name")
	}
	if !r.Bool("enabled", true) {
		s.Off = offDisabled
	}
	cfg.Required = r.Bool("required", false)
	r.connection(cfg, s.Off == "")
	cfg.Era = r.era()
	cfg.Trust = r.trust()
	cfg.Replay = r.Bool("replay", false)
	r.limits(cfg)
	r.life(cfg)
	opt.Qualified = r.Word("names", "bare", "qualified") == "qualified"
	opt.Lax = !r.Bool("check_arguments", true)
	switch r.Word("check_results", "lenient", "strict", "off") {
	case "strict":
		opt.Output = mcpsource.OutputStrict
	case "off":
		opt.Output = mcpsource.OutputUnchecked
	}
	opt.Resources, opt.Prompts = r.Bool("resources", false), r.Bool("prompts", false)
	cfg.Asks = r.asks()
	r.tools(cfg, opt)
	r.later()
	r.Finish()
	return s
}

// elsewhere are keys that other programs have and that go by another name here, or are not there yet.
var elsewhere = map[string]string{
	"type": "write transport", "disabled": "write enabled = false", "serverUrl": "write url", "autoApprove": "", "alwaysAllow": "",
	"auth": "", "oauth": "", "identity_header": "write headers",
	"strict_redirect_headers": "", "skip_preflight": "", "parked_retry_interval": "", "sampling": "write asks = { sampling = true }", "elicitation": "write asks = { elicitation = true }",
	"scope": "",
}

// later reports keys that somebody may well write, without the guess of a near one.
func (r *serverReader) later() {
	for _, key := range r.Names() {
		hint, known := elsewhere[key]
		if !known {
			continue
		}
		if hint == "" {
			hint = "remove the key"
		}
		r.Fail(key, hint, "is not supported")
		r.Known(key)
	}
}

var transports = map[string]string{
	"stdio": mcpclient.TransportStdio, "http": mcpclient.TransportHTTP, "sse": mcpclient.TransportSSE,
	"streamable-http": mcpclient.TransportHTTP, "streamable_http": mcpclient.TransportHTTP, "streamableHttp": mcpclient.TransportHTTP,
}

// connection reads how the server is reached. Variables of a server that is switched off need not be set.
func (r *serverReader) connection(cfg *mcpclient.ServerConfig, on bool) {
	if t := r.Str("transport"); t != "" {
		if cfg.Transport = transports[t]; cfg.Transport == "" {
			r.Fail("transport", "want "+words(slices.Collect(maps.Keys(transports))), "unknown transport %q", t)
		}
	}
	expanding := func(lookup specdoc.Lookup) func(*tomldoc.Value, string) string {
		return func(v *tomldoc.Value, text string) string {
			out, err := specdoc.Expand(text, lookup)
			if err != nil && on {
				r.FailAt(v, "set it, or write ${NAME:-default}; the server is off", "%v", err)
			}
			return out
		}
	}
	expand := expanding(func(name string) (string, bool) {
		value, ok := r.lookup(name)
		if ok && value != "" {
			cfg.Secrets = append(cfg.Secrets, toolsource.Secret(value))
		}
		return value, ok
	})
	cfg.Command = expand(r.Get("command"), r.Str("command"))
	if args := r.Strs("args"); args != nil {
		cfg.Args = make([]string, 0, len(args))
		for _, v := range r.Array("args") {
			if text, ok := v.Data.(string); ok {
				cfg.Args = append(cfg.Args, expand(v, text))
			}
		}
	}
	cfg.URL = expand(r.Get("url"), r.Str("url"))
	cfg.Dir = expand(r.Get("cwd"), r.Str("cwd"))
	cfg.AllowEnv = r.Strs("allow_env")
	cfg.Env = r.secrets("env", expanding(r.lookup))
	cfg.Headers = r.secrets("headers", expanding(r.lookup))
	cfg.NoSSEFallback = !r.Bool("sse_fallback", true)
	r.tls(cfg, expand)
}

// tls reads the table tls, or the keys that other programs have for the same.
func (r *serverReader) tls(cfg *mcpclient.ServerConfig, expand func(*tomldoc.Value, string) string) {
	same := map[string]string{"client_cert": "cert", "client_key": "key", "ssl_verify": "verify"}
	if !r.Has("tls") {
		t := &cfg.TLS
		t.CertFile = expand(r.Get("client_cert"), r.Str("client_cert"))
		t.KeyFile = expand(r.Get("client_key"), r.Str("client_key"))
		if v := r.Get("ssl_verify"); v != nil {
			if file, ok := v.Data.(string); ok { // a file of certificates to trust
				t.CAFile = expand(v, file)
			} else {
				t.Insecure = !r.Bool("ssl_verify", true)
			}
		}
		return
	}
	for _, key := range slices.Sorted(maps.Keys(same)) {
		if r.Has(key) {
			r.Fail(key, "remove one of them", "means the same as tls.%s", same[key])
		}
	}
	t := r.Table("tls")
	if t == nil {
		return
	}
	cfg.TLS = mcpclient.TLSConfig{
		CAFile:   expand(t.Get("ca"), t.Str("ca")),
		CertFile: expand(t.Get("cert"), t.Str("cert")),
		KeyFile:  expand(t.Get("key"), t.Str("key")),
		Insecure: !t.Bool("verify", true),
	}
	t.Finish()
}

// life reads when the server is connected to, and how many calls it takes.
func (r *serverReader) life(cfg *mcpclient.ServerConfig) {
	cfg.Lazy = r.Bool("lazy", false)
	cfg.Serial = !r.Bool(either(r.Reader, "parallel", "supports_parallel_tool_calls"), true)
	cfg.EraProbe = r.Duration("era_probe")
	cfg.Relist = r.orOff("relist", -1)
}

func (r *serverReader) secrets(key string, expand func(*tomldoc.Value, string) string) map[string]toolsource.Secret {
	m := r.StrMap(key)
	if m == nil {
		return nil
	}
	t := r.Table(key)
	out := make(map[string]toolsource.Secret, len(m))
	for _, name := range t.Names() {
		if text, ok := m[name]; ok {
			out[name] = toolsource.Secret(expand(t.Get(name), text))
		}
	}
	return out
}

var eras = map[string]string{
	"auto": mcpclient.EraAuto, "stateless": mcpclient.Era20260728, "modern": mcpclient.Era20260728,
	"legacy": mcpclient.Era20251125, "handshake": mcpclient.Era20251125,
	mcpclient.Era20260728: mcpclient.Era20260728, mcpclient.Era20251125: mcpclient.Era20251125, mcpclient.Era20250618: mcpclient.Era20250618,
	mcpclient.Era20250326: mcpclient.Era20250326, mcpclient.Era20241105: mcpclient.Era20241105,
}

func (r *serverReader) era() string {
	key := either(r.Reader, "protocol", "era")
	word := r.Str(key)
	era, ok := eras[word]
	if word != "" && !ok {
		r.Fail(key, "want "+words(slices.Collect(maps.Keys(eras))), "unknown protocol %q", word)
	}
	return era
}

// trust takes an unknown word for untrusted, and says so.
func (r *serverReader) trust() toolsource.Trust {
	word := r.Str("trust")
	t, ok := toolsource.ParseTrust(word)
	if !ok {
		r.Warn("trust", "want full, default or untrusted", "unknown word %q counts as untrusted", word)
	}
	return t
}

func (r *serverReader) limits(cfg *mcpclient.ServerConfig) {
	l := specdoc.Limits(r.Reader)
	cfg.Silence, cfg.Ceiling = l.Silence, l.Ceiling
	cfg.Connect = r.Duration(either(r.Reader, "connect_timeout", "connect"))
	cfg.CloseBound = r.Duration(either(r.Reader, "close_timeout", "close_bound"))
	cfg.Keepalive = r.orOff(either(r.Reader, "keepalive", "keepalive_interval"), -1)
	cfg.IdleStop = r.orOff(either(r.Reader, "idle_stop", "idle_timeout_seconds"), 0)
	cfg.MaxLifetime = r.orOff(either(r.Reader, "max_lifetime", "max_lifetime_seconds"), 0)
	count(r.Reader, "max_in_flight", &cfg.MaxInFlight)
	count(r.Reader, "max_tools", &cfg.MaxTools)
	count(r.Reader, "max_pages", &cfg.MaxPages)
	count(r.Reader, "max_message", &cfg.MaxMessage)
}

// orOff is a duration that false or 0 switches off.
func (r *serverReader) orOff(key string, off time.Duration) time.Duration {
	v := r.Get(key)
	if v == nil {
		return 0
	}
	if v.Data == false || v.Data == int64(0) {
		return off
	}
	return r.Duration(key)
}

// tools reads allow and deny, and the table tools, which holds a table for each tool that has settings of
// its own, and may hold include and exclude for allow and deny. A string or an array there means include.
func (r *serverReader) tools(cfg *mcpclient.ServerConfig, opt *mcpsource.Options) {
	opt.Allow, opt.Deny = r.patterns(r.Reader, "allow"), r.patterns(r.Reader, "deny")
	v := r.Get("tools")
	if v == nil {
		return
	}
	t, isTable := v.Data.(*tomldoc.Table)
	if !isTable {
		r.include(&opt.Allow, r.Reader, "tools", "allow")
		return
	}
	sub := r.TableOf(v)
	for _, name := range t.Names {
		_, table := t.Get(name).Data.(*tomldoc.Table)
		switch {
		case table:
			r.tool(name, sub.TableOf(sub.Get(name)), cfg, opt)
		case name == "include":
			r.include(&opt.Allow, sub, name, "allow")
		case name == "exclude":
			r.include(&opt.Deny, sub, name, "deny")
		case name == "resources" || name == "prompts":
			on := map[string]*bool{"resources": &opt.Resources, "prompts": &opt.Prompts}[name]
			*on = sub.Bool(name, false)
		default:
			sub.FailAt(t.Get(name), "write [mcp_servers."+cfg.ID+".tools."+name+"]", "want a table with the settings of a tool")
		}
	}
}

func (r *serverReader) include(to *[]string, from *tomldoc.Reader, key, same string) {
	if *to != nil {
		from.Fail(key, "remove one of them", "means the same as %s", same)
		return
	}
	*to = r.patterns(from, key)
}

// patterns reads an array of strings, or one.
func (r *serverReader) patterns(from *tomldoc.Reader, key string) []string {
	v := from.Get(key)
	if v == nil {
		return nil
	}
	if s, ok := v.Data.(string); ok {
		return []string{s}
	}
	return from.Strs(key)
}

// tool reads the settings of one tool. Where they are wrong they are left out; a grade among them then
// counts as the most dangerous, so that a slip never makes a tool look harmless.
func (r *serverReader) tool(name string, t *tomldoc.Reader, cfg *mcpclient.ServerConfig, opt *mcpsource.Options) {
	e := t.Entry()
	var o mcpsource.Override
	graded := e.Has("grade")
	o.W, o.D = specdoc.Axes(e, "grade")
	o.Examples, o.Docs, o.Limits = specdoc.Examples(e), e.Str("docs"), specdoc.Limits(e)
	if e.Has("replay") {
		replay := e.Bool("replay", false)
		o.Replay = &replay
	}
	e.Finish()
	if !e.OK() {
		o = mcpsource.Override{}
		if worst := 3; graded {
			o.W, o.D = &worst, &worst
		}
	}
	r.root.Adopt(e)
	if opt.Overrides == nil {
		opt.Overrides = map[string]mcpsource.Override{}
		cfg.Tools = map[string]mcpclient.ToolConfig{}
	}
	opt.Overrides[name] = o
	cfg.Tools[name] = mcpclient.ToolConfig{Limits: o.Limits, Replay: o.Replay}
}

// keyOf are the keys behind the fields that a ServerConfig complains about by another name.
var keyOf = map[string]string{"connect": "connect_timeout", "close_bound": "close_timeout", "era": "protocol"}

// check has the client look at the whole.
func (r *serverReader) check(cfg mcpclient.ServerConfig) {
	srv, err := mcpclient.New(cfg, nil)
	if err == nil {
		_ = srv.Close()
		return
	}
	for _, e := range split(err) {
		var ce *mcpclient.ConfigError
		if !errors.As(e, &ce) {
			r.Fail("", "", "%v", e)
			continue
		}
		key := ce.Field
		if k, ok := keyOf[key]; ok && !slices.Contains(r.Names(), key) {
			key = k
		}
		if slices.Contains(r.Names(), key) {
			r.Fail(key, "", "%v", ce.Err)
		} else {
			r.Fail("", "", "%s", fmt.Sprint(ce.Field, " ", ce.Err))
		}
	}
}

// split takes joined errors apart.
func split(err error) []error {
	if err == nil {
		return nil
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		return j.Unwrap()
	}
	return []error{err}
}
