package sources

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/redact"
	"github.com/toolsource/toolsource/internal/specdoc"
	"github.com/toolsource/toolsource/internal/tomldoc"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/sources/hostconfig"
)

const offConsent = "awaiting consent"

// HostFile is another program's file of MCP servers that the configuration names in [mcp].host_configs.
type HostFile struct {
	Path    string // absolute
	Format  string // one of hostconfig.Formats
	Sum     string // SHA-256 of its content, in hex
	Entries []hostconfig.Entry
	Trusted bool // what Options.TrustHostFile said; its servers start only then

	trust toolsource.Trust // of its servers
	named *tomldoc.Value   // where the configuration names it
	file  *hostconfig.File
}

// readMCP reads what is said of MCP as a whole.
func (c *Config) readMCP(root *tomldoc.Reader) {
	t := root.Table("mcp")
	if t == nil {
		return
	}
	if dir := c.path(t, t.Get("cache"), t.Str("cache")); dir != "" {
		c.cache = mcpclient.FileCache(dir)
	}
	for _, v := range t.Array("host_configs") {
		c.readHostFile(t, v)
	}
	t.Finish()
	c.mergeHostFiles()
}

// path is a path of the configuration: a leading ~ is the home directory, a relative one lies beside the
// file. "" where it cannot be told.
func (c *Config) path(r *tomldoc.Reader, v *tomldoc.Value, text string) string {
	if text == "" {
		return ""
	}
	text, err := specdoc.Expand(text, c.opts.LookupEnv)
	if err != nil {
		r.FailAt(v, "set it, or write ${NAME:-default}", "%v", err)
		return ""
	}
	if rest, ok := strings.CutPrefix(text, "~"); ok && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
		home := c.home()
		if home == "" {
			r.FailAt(v, "write the whole path", "the home directory is not known")
			return ""
		}
		text = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(filepath.Dir(c.File), text)
	}
	if abs, err := filepath.Abs(text); err == nil {
		text = abs
	}
	return text
}

// readHostFile reads one element of host_configs: a path, or a table with path, format and trust. A file
// that cannot be read is a problem and costs no other.
func (c *Config) readHostFile(t *tomldoc.Reader, v *tomldoc.Value) {
	h := HostFile{named: v}
	name, isText := v.Data.(string)
	if !isText {
		sub := t.TableOf(v)
		if sub == nil {
			return
		}
		name, h.Format = sub.Str("path"), sub.Str("format")
		trust, known := toolsource.ParseTrust(sub.Str("trust"))
		if h.trust = trust; !known {
			sub.Warn("trust", "want full, default or untrusted", "an unknown word counts as untrusted")
		}
		sub.Finish()
	}
	if name == "" {
		t.FailAt(v, `write "path", or { path = "...", format = "..." }`, "names no file")
		return
	}
	if h.Path = c.path(t, v, name); h.Path == "" {
		return
	}
	if slices.ContainsFunc(c.HostFiles, func(o HostFile) bool { return o.Path == h.Path }) {
		t.FailAt(v, "remove one of them", "is named twice")
		return
	}
	f, err := hostconfig.Read(h.Path, c.hostOptions(h.Format))
	if err != nil {
		p, ok := err.(*Problem)
		switch {
		case !ok:
			t.FailAt(v, "", "%s: %v", name, err)
		case p.Line == 0: // of the file as a whole
			t.FailAt(v, p.Hint, "%s: %s", name, p.Message)
		default:
			c.report(p)
		}
		return
	}
	h.Format, h.Sum, h.Entries, h.file = f.Format, f.Sum, f.Entries, f
	c.Reports = append(c.Reports, f.Report...)
	h.Trusted = c.opts.TrustHostFile != nil && c.opts.TrustHostFile(h)
	c.HostFiles = append(c.HostFiles, h)
}

// home is the home directory by the variables that the host gives, else the user's; "": it is not known.
func (c *Config) home() string {
	if home, _ := c.opts.LookupEnv("HOME"); home != "" {
		return home
	}
	home, _ := os.UserHomeDir()
	return home
}

func (c *Config) hostOptions(format string) *hostconfig.Options {
	return &hostconfig.Options{
		Format: format, Workspace: c.Workspace, Home: c.home(), LookupEnv: c.opts.LookupEnv, Input: c.opts.Input, Secret: c.opts.Secret,
	}
}

// mergeHostFiles makes servers of what the host files declare: an id that the configuration itself declares
// is its own, then the earlier file's.
func (c *Config) mergeHostFiles() {
	files := make([]*hostconfig.File, len(c.HostFiles))
	for i, h := range c.HostFiles {
		files[i] = h.file
	}
	entries, notes := hostconfig.Merge(files)
	c.Reports = append(c.Reports, notes...)
	own := make(map[string]int, len(c.Servers)) // lines, by id
	for i := range c.Servers {
		own[c.Servers[i].Config.ID] = c.Servers[i].Config.Line
	}
	for _, e := range entries {
		if line, taken := own[e.ID]; taken {
			c.Reports = append(c.Reports, Report{
				File: e.File, Line: e.Line, Server: e.ID, Action: hostconfig.Refused,
				Reason: fmt.Sprintf("the configuration declares a server of this name itself, in line %d of %s", line, c.File),
				Remedy: "rename one of them, or remove it there",
			})
			continue
		}
		i := slices.IndexFunc(c.HostFiles, func(h HostFile) bool { return h.file.Name == e.File })
		c.hosted = append(c.hosted, c.hostServer(e, i))
	}
	c.Servers = append(c.Servers, c.hosted...)
}

// hostServer is the server of an entry. Variables are expanded, and files of variables read, only where the
// file is trusted and the server is on.
func (c *Config) hostServer(e hostconfig.Entry, i int) Server {
	h := &c.HostFiles[i]
	s := Server{Config: mcpclient.ServerConfig{ID: e.ID, File: e.File, Line: e.Line}, Entry: &e}
	s.Precedence, s.Order = toolsource.HostFile(i)
	switch {
	case !e.Enabled:
		s.Off = offDisabled
	case !h.Trusted:
		s.Off = offConsent
	}
	if s.Off != "" {
		return s
	}
	full, secrets, err := e.Resolve(c.hostOptions(h.Format))
	if err == nil {
		s.Config = serverConfig(full, h.trust, secrets)
		s.Source.Allow, s.Source.Deny = full.Allow, full.Deny
		err = checkConfig(s.Config)
	}
	if err != nil {
		for _, err := range split(err) {
			p := hostProblem(e, err, secrets)
			c.report(p)
			c.clean[p] = true
		}
		s.Config, s.Off = mcpclient.ServerConfig{ID: e.ID, File: e.File, Line: e.Line, Required: e.Required}, offBad
	}
	return s
}

// hostProblem is what is wrong with a server of a host file. Values of its variables do not show.
func hostProblem(e hostconfig.Entry, err error, secrets []toolsource.Secret) *Problem {
	var p *Problem
	if errors.As(err, &p) { // of Resolve, which shows none
		return p
	}
	message := err.Error()
	p = &Problem{File: e.File, Line: e.Line, Hint: "change it there; the server is off", Severity: SeverityError}
	var ce *mcpclient.ConfigError
	if errors.As(err, &ce) {
		p.Key, message = ce.Field, ce.Err.Error()
	}
	p.Message = fmt.Sprintf("server %q: %s", e.ID, masked(secrets).Text(message))
	return p
}

// serverConfig is a resolved entry as the client takes it. Approvals raise no trust.
func serverConfig(e hostconfig.Entry, trust toolsource.Trust, secrets []toolsource.Secret) mcpclient.ServerConfig {
	cfg := mcpclient.ServerConfig{
		ID: e.ID, File: e.File, Line: e.Line, Required: e.Required, Trust: trust,
		Secrets: secrets, Command: e.Command, Args: e.Args, Env: e.Env, Dir: e.Cwd, URL: e.URL, Headers: e.Headers,
		Connect: e.ConnectTimeout, Silence: e.CallTimeout, Ceiling: e.CallTimeout,
	}
	if e.Transport != hostconfig.TransportAuto {
		cfg.Transport = e.Transport
	}
	return cfg
}

// checkConfig is what the client finds wrong.
func checkConfig(cfg mcpclient.ServerConfig) error {
	srv, err := mcpclient.New(cfg, nil)
	if err != nil {
		return err
	}
	return srv.Close()
}

// Launch is what starting the server would run, or the address it would call, for the question whether to
// trust a file: with variables as the host file has them. In one of the configuration's own, their values are
// masked. Values of Env and Headers are not shown, and characters that do not show are written out.
func (s Server) Launch() string {
	command, args, url := s.Config.Command, s.Config.Args, s.Config.URL
	hidden := masked(s.Config.Secrets)
	if s.Entry != nil {
		command, args, url, hidden = s.Entry.Command, s.Entry.Args, s.Entry.URL, nil
	}
	if command == "" {
		if url = hidden.Text(url); strings.ContainsFunc(url, hides) {
			return strconv.Quote(url)
		}
		return url
	}
	words := []string{quoted(hidden.Text(command))}
	for _, a := range args {
		words = append(words, quoted(hidden.Text(a)))
	}
	return strings.Join(words, " ")
}

// masked takes secrets out of texts.
func masked(secrets []toolsource.Secret) *redact.Set {
	values := make([]string, len(secrets))
	for i, s := range secrets {
		values[i] = s.Reveal()
	}
	return redact.New(values...)
}

// quoted is a word of a command line as a person reads it. Characters that do not show, or that show
// something else, are written out.
func quoted(word string) string {
	odd := func(r rune) bool { return hides(r) || strings.ContainsRune(" \"'`\\;&|<>()*?", r) }
	if word == "" || strings.ContainsFunc(word, odd) {
		return strconv.Quote(word)
	}
	return word
}

// hides reports whether a character does not show as what it is.
func hides(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }

// String is the file's path, its format and how many servers it has, which may hold secrets.
func (h HostFile) String() string {
	trusted := "not trusted"
	if h.Trusted {
		trusted = "trusted"
	}
	return fmt.Sprintf("%s (%s, %d servers, %s)", h.Path, h.Format, len(h.Entries), trusted)
}

// GoString is String.
func (h HostFile) GoString() string { return h.String() }

// LogValue is String.
func (h HostFile) LogValue() slog.Value { return slog.StringValue(h.String()) }
