package hostconfig

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/hostvars"
	"github.com/toolsource/toolsource/internal/tomldoc"
)

// typeOf are the words for a transport, without case and separators.
var typeOf = map[string]string{
	"stdio": TransportStdio, "local": TransportStdio,
	"http": TransportHTTP, "streamablehttp": TransportHTTP, "streamable": TransportHTTP,
	"sse": TransportSSE, "remote": TransportAuto,
}

const typeWords = "stdio, local, http, streamable-http, streamableHttp, streamable_http, sse or remote"

// builtIn are words for servers that are a part of the program itself.
var builtIn = []string{"builtin", "platform", "frontend", "inlinepython", "inprocess"}

// word reads the word for a transport. It is shown only where it is one of ours, lest it be something else.
func (s *server) word(v val) {
	word := plainWord(v.node.Text)
	switch {
	case typeOf[word] != "":
		s.kind = typeOf[word]
	case slices.Contains(builtIn, word):
		s.bad = true
		s.note(Ignored, "", "is a part of "+s.d.Program+" itself ("+word+")", "", s.line)
	case word == "ws" || word == "websocket":
		s.cost(v.key, word+" is not supported", "want "+typeWords, v.line)
	default:
		hint := "want " + typeWords
		if near := tomldoc.Nearest(word, []string{"stdio", "http", "streamable-http", "sse", "remote", "local"}); near != "" {
			hint = "did you mean " + near + "? " + hint
		}
		s.cost(v.key, "unknown word for a transport", hint, v.line)
	}
}

// transport decides how the server is reached and reports what that leaves without use.
func (s *server) transport() bool {
	e := &s.entry
	command, url := strings.TrimSpace(e.Command) != "", strings.TrimSpace(e.URL) != ""
	if line, ok := s.seen["command"]; ok && !command && !url {
		s.cost("command", "is empty", "write a program", line)
		return false
	}
	if s.urlKey != "" && !url && !command {
		s.cost(s.urlKey, "is empty", "write an address", s.urlLine)
		return false
	}
	kind := s.kind
	if kind == "" {
		switch {
		case command && url:
			s.cost(s.urlKey, "there is a command, too", "remove one of them, or write a type", s.urlLine)
		case command:
			kind = TransportStdio
		case url:
			kind = s.isKind
			if kind == "" {
				kind = s.d.bare
			}
			if kind == "" {
				s.cost(s.urlKey, s.d.Program+" wants a type beside an address; none means stdio", `write "type": "http" or "sse"`, s.urlLine)
			}
		default:
			s.nowhere()
		}
	}
	switch {
	case s.bad:
	case kind == TransportStdio && !command:
		s.cost("", "is of type stdio and has no command", "write a command, or the type of the address", s.line)
	case kind != TransportStdio && !url:
		s.cost("", "is of type "+kind+" and has no address", "write a url, or type stdio", s.line)
	}
	if s.bad {
		return false
	}
	e.Transport = kind
	s.unusedFields()
	if kind == TransportStdio {
		s.checkCommand()
	} else {
		s.checkURL()
	}
	return !s.bad
}

// nowhere costs a server that says neither what to run nor what to call.
func (s *server) nowhere() {
	remedy := "write one of them"
	if looksServers(s.node) {
		remedy = "it holds servers itself: move them one level up"
	}
	s.cost("command", "is missing, and so is an address", remedy, s.line)
}

// unusedFields takes out what the other transports are for.
func (s *server) unusedFields() {
	e := &s.entry
	drop := func(there bool, field string) {
		if there && s.d != codexFormat { // it refuses the server
			s.note(Ignored, field, noUse+" with "+e.Transport, "remove it", s.line)
		}
	}
	if e.Transport == TransportStdio {
		drop(e.URL != "", s.urlKey)
		drop(e.Headers != nil, "headers")
		e.URL, e.Headers = "", nil
		return
	}
	drop(e.Command != "", "command")
	drop(e.Args != nil, "args")
	drop(e.Env != nil && !s.d.localEnv, "env")
	drop(e.EnvFile != "", "envFile")
	drop(e.Cwd != "", "cwd")
	if s.d.localEnv {
		s.localEnv()
	}
	e.Command, e.Args, e.Env, e.EnvFile, e.Cwd = "", nil, nil, "", ""
}

// localEnv keeps the variables of a server with an address for its own values. Those that are handed on are
// found in the environment.
func (s *server) localEnv() {
	for name, text := range s.entry.Env {
		if _, ok := s.vars.of("env."+name, text.Reveal()); ok {
			continue
		}
		if s.vars.local == nil {
			s.vars.local = map[string]toolsource.Secret{}
		}
		s.vars.local[name] = text
	}
	if s.entry.Env != nil {
		s.note(Rewritten, "env", "no process gets these variables; the headers may name them", "", s.line)
	}
}

// launchers are programs that people write with their arguments in one line.
var launchers = []string{"npx", "npm", "node", "bunx", "bun", "deno", "pnpm", "yarn", "uvx", "uv", "python", "python3", "pipx", "docker", "podman", "cmd", "sh", "bash", "java", "dotnet", "go", "cargo", "ruby", "php"}

// checkCommand refuses a command that holds a whole line. A path may have spaces; a program without one may
// not, nor may there be an option in it.
func (s *server) checkCommand() {
	text := hostvars.Rewrite(s.entry.Command, s.vars.notation, func(hostvars.Ref) string { return "x" }, nil)
	words := strings.Fields(text)
	line := s.seen["command"]
	if line == 0 {
		line = s.line
	}
	if strings.HasPrefix(text, `"`) || strings.HasPrefix(text, "'") {
		s.cost("command", "begins with a quote, which would be a part of the name", "write the path without quotes", line)
		return
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		s.cost("command", "holds a tab, a line end or another control character", `in a Windows path, write \\ or /`, line)
		return
	}
	if len(words) < 2 {
		return
	}
	option := slices.ContainsFunc(words[1:], func(w string) bool { // or a path of its own
		return strings.ContainsAny(w[:1], "-/") || strings.HasPrefix(w, "~/") || len(w) > 2 && w[1:3] == `:\`
	})
	if strings.ContainsAny(words[0], `/\`) && !option {
		if next := strings.Join(words[1:], " "); !strings.ContainsAny(next, `/\`) || strings.Contains(next, "://") {
			s.note(Taken, "command", "has a space in it and is taken as one path", "if it holds arguments, move them to args", line)
		}
		return
	}
	first := "the first word"
	if slices.Contains(launchers, words[0]) {
		first = quoted(words[0])
	}
	rest := "the other word"
	if n := len(words) - 1; n > 1 {
		rest = "the other " + itoa(n) + " words"
	}
	s.cost("command", "seems to hold a whole line, and a command is never split", "write "+first+" as the command and "+rest+" as args", line)
}

// checkURL refuses what no client could reach. An address with variables is looked at when they are known.
func (s *server) checkURL() {
	scheme, _, ok := strings.Cut(s.entry.URL, "://")
	if len(hostvars.Refs(s.entry.URL, s.vars.notation)) > 0 && (!ok || strings.ContainsAny(scheme, "${}")) {
		return
	}
	switch strings.ToLower(scheme) {
	case "http", "https", "unix":
		if ok {
			s.checkParts()
			return
		}
	case "ws", "wss":
		s.cost(s.urlKey, "websocket is not supported", "want an address with http or https", s.urlLine)
		return
	case "pipe":
		s.cost(s.urlKey, "a named pipe is not supported", "want an address with http or https", s.urlLine)
		return
	}
	s.cost(s.urlKey, "is no address with http or https", "write http://HOST/PATH", s.urlLine)
}

// checkParts refuses an address that no client could call, if it has no variables that may change it.
func (s *server) checkParts() {
	if len(hostvars.Refs(s.entry.URL, s.vars.notation)) > 0 {
		return
	}
	u, err := url.Parse(s.entry.URL)
	switch {
	case err != nil: // its text repeats the address
		s.cost(s.urlKey, "is no valid address", "write http://HOST/PATH", s.urlLine)
	case u.Scheme == "unix" && (u.Host != "" || strings.Trim(u.Path, "/") == ""):
		s.cost(s.urlKey, "names no socket", "write unix:///path/to/socket#/mcp", s.urlLine)
	case u.Scheme != "unix" && u.Hostname() == "":
		s.cost(s.urlKey, "has no host", "write http://HOST/PATH", s.urlLine)
	case u.User != nil:
		s.note(Taken, s.urlKey, "holds a user name or password, with which no server is called here", "put them into headers", s.urlLine)
	}
}
