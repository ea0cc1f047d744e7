package hostconfig

import (
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/toolsource/toolsource/internal/hostdoc"
)

// maxLimit is the longest time that a limit may be; what is longer is a slip of unit.
const maxLimit = 30 * 24 * time.Hour

// text reads text. Numbers and booleans become theirs. The caller says what a wrong type costs.
func (s *server) text(v val) (string, bool) {
	switch v.node.Kind {
	case hostdoc.String:
		if hiddenSpace(v.node.Text) {
			s.note(Taken, v.key, "begins or ends with white space or a character that does not show; taken as it is", "remove it if it is not meant", v.line)
		}
		return v.node.Text, true
	case hostdoc.Number, hostdoc.Bool:
		s.note(Rewritten, v.key, a(v.node.Kind)+" taken as its text", "write it in quotes", v.line)
		return v.node.Text, true
	}
	return "", false
}

func hiddenSpace(t string) bool {
	trimmed := strings.TrimFunc(t, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) })
	return trimmed != t
}

// must reads text without which the server cannot be reached.
func (s *server) must(v val) string {
	t, ok := s.text(v)
	if !ok {
		s.cost(v.key, "want text, not "+a(v.node.Kind), "", v.line)
	}
	return t
}

// texts reads a list without which the server would be another.
func (s *server) texts(v val, remedy string) ([]string, bool) {
	if v.node.Kind != hostdoc.List {
		s.cost(v.key, "want a list, not "+a(v.node.Kind), remedy, v.line)
		return nil, false
	}
	out := make([]string, 0, len(v.node.Items))
	for i, n := range v.node.Items {
		item := val{key: v.key + "[" + itoa(i) + "]", node: n, line: n.Line}
		t, ok := s.text(item)
		if !ok {
			s.cost(item.key, "want text, not "+a(n.Kind), "", n.Line)
			return nil, false
		}
		out = append(out, t)
	}
	return out, true
}

// members are the members of a map, whose loss costs the field; what it should hold is for the message.
func (s *server) members(v val, want string) []hostdoc.Member {
	if v.node.Kind != hostdoc.Map {
		s.refuse(v.key, "want a map of "+want+", not "+a(v.node.Kind), "", v.line)
		return nil
	}
	s.r.repeated(v.node, func(lost hostdoc.Member, wins int) {
		s.note(Ignored, v.key+"."+shown(lost.Name), "is there again on line "+itoa(wins)+", which counts", "remove one of them", lost.Line)
	})
	return v.node.Last()
}

// shown is a name for a note: a value that was written into the name by mistake is left out.
func shown(name string) string {
	if i := strings.IndexAny(name, "=:"); i >= 0 && i+1 < len(name) {
		return name[:i+1] + "..."
	}
	return name
}

// pairs reads a map of texts.
func (s *server) pairs(v val, want string, set func(name, text string, at val)) {
	for _, m := range s.members(v, want) {
		at := val{key: v.key + "." + shown(m.Name), node: m.Value, line: m.Line}
		if m.Value.Kind == hostdoc.Null {
			s.note(Ignored, at.key, "is null", "", m.Line)
			continue
		}
		if t, ok := s.text(at); ok {
			set(m.Name, t, at)
		} else {
			s.refuse(at.key, "want text, not "+a(m.Value.Kind), "", m.Line)
		}
	}
}

func readCommand(s *server, v val) { s.entry.Command = s.must(v) }

func readArgs(s *server, v val) {
	if args, ok := s.texts(v, "write each argument as an element"); ok {
		s.entry.Args = args
	}
}

// readCommandLine reads a program and its arguments in one list, or a command.
func readCommandLine(s *server, v val) {
	if v.node.Kind != hostdoc.List {
		readCommand(s, v)
		return
	}
	line, ok := s.texts(v, "")
	if !ok {
		return
	}
	if len(line) == 0 {
		s.cost(v.key, "is empty", "write the program, then its arguments", v.line)
		return
	}
	s.entry.Command = line[0]
	s.entry.Args = append(line[1:len(line):len(line)], s.entry.Args...)
}

func readEnv(s *server, v val) {
	s.pairs(v, "variables", func(name, text string, at val) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			s.refuse(at.key, "is no name for a variable", "", at.line)
			return
		}
		if hiddenSpace(name) {
			s.note(Taken, at.key, "the name begins or ends with white space or a character that does not show; taken as it is", "remove it if it is not meant", at.line)
		}
		if !s.vars.has("env." + name) {
			s.put(&s.entry.Env, name, text)
		}
	})
}

// readHeaders reads a map, or a list of "Name: value".
func readHeaders(s *server, v val) {
	if v.node.Kind == hostdoc.List {
		s.headerLines(v)
		return
	}
	s.pairs(v, "headers", func(name, text string, at val) { s.header(name, text, at) })
}

func (s *server) headerLines(v val) {
	for i, n := range v.node.Items {
		at := val{key: v.key + "[" + itoa(i) + "]", node: n, line: n.Line}
		name, text, ok := strings.Cut(textOf(n), ":")
		if !ok {
			s.refuse(at.key, `want text "Name: value"`, "", n.Line)
			continue
		}
		s.header(strings.TrimSpace(name), strings.TrimSpace(text), at)
	}
}

func (s *server) header(name, text string, at val) {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) }) {
		s.refuse(at.key, "is no name for a header", "", at.line)
		return
	}
	if strings.ContainsAny(text, "\r\n\x00") {
		s.refuse(at.key, "holds a line end, which no header may", "", at.line)
		return
	}
	if s.vars.has("headers." + strings.ToLower(name)) {
		s.note(Ignored, at.key, "a variable gives this header, which wins", "remove one of them", at.line)
		return
	}
	if have, ok := s.headers[strings.ToLower(name)]; ok && have != name {
		s.note(Ignored, at.key, "is the same header as "+have+", which it replaces", "remove one of them", at.line)
	}
	s.put(&s.entry.Headers, name, text)
}

// address reads an address that means a transport; "": the program's rule.
func address(transport string) func(*server, val) {
	return func(s *server, v val) {
		t := s.must(v)
		if s.bad {
			return
		}
		if s.urlKey != "" { // of several the more exact one counts
			if s.isKind == TransportHTTP || transport == "" {
				s.note(Ignored, v.key, s.urlKey+" is there too and wins", "remove one of them", v.line)
				return
			}
			s.note(Ignored, s.urlKey, v.key+" is there too and wins", "remove one of them", s.urlLine)
		}
		s.entry.URL, s.isKind, s.urlKey, s.urlLine = t, transport, v.key, v.line
	}
}

func readType(s *server, v val) {
	if s.kindKey != "" {
		s.note(Ignored, v.key, s.kindKey+" is there too and wins", "remove one of them", v.line)
		return
	}
	s.kindKey, s.kindLine = v.key, v.line
	if v.node.Kind != hostdoc.String {
		s.cost(v.key, "want text, not "+a(v.node.Kind), "want "+typeWords, v.line)
		return
	}
	s.word(v)
}

func readName(s *server, v val) {
	if t := textOf(v.node); t != s.entry.ID {
		s.entry.Name = t
	}
}

func readCwd(s *server, v val) { s.entry.Cwd = s.must(v) }

func readEnvFile(s *server, v val) { s.entry.EnvFile = s.must(v) }

// flag reads a switch. One that cannot be read switches the server off, which is the safe side.
func (s *server) flag(v val, off bool) bool {
	value, ok := v.node.Bool()
	if ok {
		return value
	}
	switch strings.ToLower(strings.TrimSpace(v.node.Text)) {
	case "true", "1", "yes", "on":
		value, ok = true, true
	case "false", "0", "no", "off":
		value, ok = false, true
	}
	if ok && (v.node.Kind == hostdoc.String || v.node.Kind == hostdoc.Number) {
		s.note(Rewritten, v.key, a(v.node.Kind)+" taken as a boolean", "write true or false", v.line)
		return value
	}
	s.refuse(v.key, "want true or false, not "+a(v.node.Kind)+"; the server is switched off", "", v.line)
	return off
}

func readDisabled(s *server, v val) { s.entry.Enabled = s.entry.Enabled && !s.flag(v, true) }

func readEnabled(s *server, v val) { s.entry.Enabled = s.entry.Enabled && s.flag(v, false) }

func readRequired(s *server, v val) {
	value, ok := v.node.Bool()
	if !ok {
		s.refuse(v.key, "want true or false, not "+a(v.node.Kind), "", v.line)
	}
	s.entry.Required = value
}

// patterns reads a list of tools. One that cannot be read costs the server, since it would have fewer.
func (s *server) patterns(v val) []string {
	if v.node.Kind == hostdoc.String {
		s.note(Rewritten, v.key, "text taken as a list of one", "write a list", v.line)
		return []string{v.node.Text}
	}
	list, _ := s.texts(v, "write a list of names of tools")
	return list
}

func readAllow(s *server, v val) { s.entry.Allow = s.patterns(v) }

func readDeny(s *server, v val) { s.entry.Deny = append(s.entry.Deny, s.patterns(v)...) }

const noTrust = "kept as data: it raises no trust"

// readApproved reads the tools that run without asking: a list, or true or "*" for all.
func readApproved(s *server, v val) {
	to := &s.entry.Approvals.Tools
	switch all, isBool := v.node.Bool(); {
	case isBool && all, v.node.Kind == hostdoc.String && v.node.Text == "*":
		*to = append(*to, "*")
	case isBool:
		return
	case v.node.Kind == hostdoc.List:
		for _, n := range v.node.Items {
			if n.Kind == hostdoc.String {
				*to = append(*to, n.Text)
			}
		}
		if len(v.node.Items) == 0 {
			return
		}
	default:
		s.note(Ignored, v.key, "want a list of names of tools, not "+a(v.node.Kind), "", v.line)
		return
	}
	s.note(Ignored, v.key, noTrust, "", v.line)
}

func readTrust(s *server, v val) {
	if trust, ok := v.node.Bool(); ok && !trust {
		return
	}
	if v.node.Kind == hostdoc.Bool || v.node.Kind == hostdoc.String {
		s.entry.Approvals.Trust = v.node.Text
	}
	s.note(Ignored, v.key, noTrust, "", v.line)
}

// approve keeps the word for how a tool asks; "*" is every tool.
func (s *server) approve(tool string, v val) {
	if v.node.Kind == hostdoc.String {
		if s.entry.Approvals.Modes == nil {
			s.entry.Approvals.Modes = map[string]string{}
		}
		s.entry.Approvals.Modes[tool] = v.node.Text
	}
	s.note(Ignored, v.key, noTrust, "", v.line)
}

// limit reads a time in a unit. What is no time is refused, and the default applies.
func (s *server) limit(v val, unit time.Duration) time.Duration {
	reason := ""
	n, ok := v.node.Float()
	switch d := n * float64(unit); {
	case v.node.Kind != hostdoc.Number:
		reason = "want a number, not " + a(v.node.Kind)
	case !ok || math.IsInf(d, 0) || math.IsNaN(d):
		reason = "is not a finite number"
	case n <= 0:
		reason = "is not more than 0"
	case d > float64(maxLimit):
		reason = "is longer than 30 days"
	case d < 1:
		reason = "is shorter than a nanosecond"
	default:
		return time.Duration(math.Round(d))
	}
	s.refuse(v.key, reason+"; the default applies", "write a number of "+unitWord(unit), v.line)
	return 0
}

func unitWord(unit time.Duration) string {
	if unit == time.Millisecond {
		return "milliseconds"
	}
	return "seconds"
}

func callTimeout(unit time.Duration) func(*server, val) {
	return func(s *server, v val) { s.entry.CallTimeout = s.limit(v, unit) }
}

func connectTimeout(unit time.Duration) func(*server, val) {
	return func(s *server, v val) { s.entry.ConnectTimeout = s.limit(v, unit) }
}

// quiet is for keys that say nothing about a server, whatever their value is.
var quiet func(*server, val)

// noUnit reports a limit whose unit the program does not document.
func noUnit(s *server, v val) {
	s.note(Ignored, v.key, "its unit is not documented", "set the limit in your own configuration", v.line)
}

// ignored reports a key that means something to its program, but nothing here.
func ignored(reason, remedy string) func(*server, val) {
	return func(s *server, v val) {
		if off, ok := v.node.Bool(); ok && !off || v.node.Kind == hostdoc.Map && len(v.node.Members) == 0 {
			return
		}
		s.note(Ignored, v.key, reason, remedy, v.line)
	}
}
