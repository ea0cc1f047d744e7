package hostconfig

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/hostdoc"
	"github.com/toolsource/toolsource/internal/redact"
	"github.com/toolsource/toolsource/internal/tomldoc"
)

// server is one server while it is read.
type server struct {
	r     *reader
	d     *dialect
	entry Entry
	line  int // of its key
	node  *hostdoc.Node
	seen  map[string]int // line of each key that has a value
	bad   bool           // it is left out

	kind     string // transport that the type names; "": none
	kindKey  string
	kindLine int
	isKind   string // transport that the key of the address means; "": the program's rule for addresses
	urlKey   string
	urlLine  int
	headers  map[string]string // names as written, by their small letters
	vars     *variables
}

// val is a value with the path of its key below the server.
type val struct {
	key  string
	node *hostdoc.Node
	line int
}

// read reads one server; false: it is left out, and a note says why.
func (r *reader) read(d *dialect, id string, line int, n *hostdoc.Node) (Entry, bool) {
	s := &server{r: r, d: d, line: line, seen: map[string]int{}, vars: &variables{notation: d.vars, fields: d.expands, program: d.Program, mcphost: d.Name == "mcphost"}}
	s.entry = Entry{ID: id, File: r.file.Name, Line: line, Format: d.Name, Enabled: true, vars: s.vars}
	switch {
	case strings.TrimSpace(id) == "":
		s.cost("", "has no name", "give it one", line)
		return s.entry, false
	case n.Kind == hostdoc.Null:
		s.note(Ignored, "", "is null", "", line)
		return s.entry, false
	case n.Kind != hostdoc.Map:
		s.cost("", "want a map, not "+a(n.Kind), "", line)
		return s.entry, false
	}
	if hiddenSpace(id) {
		s.note(Taken, "", "its name begins or ends with white space or a character that does not show; taken as it is", "remove it if it is not meant", line)
	}
	s.node = n
	s.r.repeated(s.node, func(lost hostdoc.Member, wins int) {
		s.note(Ignored, lost.Name, "is there again on line "+itoa(wins)+", which counts", "remove one of them", lost.Line)
	})
	if d.shape != nil && !d.shape(s) {
		return s.entry, false
	}
	for _, m := range s.node.Last() {
		s.key(val{key: m.Name, node: m.Value, line: m.Line})
	}
	if s.bad || !s.transport() {
		return s.entry, false
	}
	if d.finish != nil {
		d.finish(s)
	}
	if s.bad {
		return s.entry, false
	}
	s.foreign()
	s.note(Taken, "", "as "+s.entry.Transport+s.disabled(), "", line)
	return s.entry, true
}

func (s *server) disabled() string {
	if s.entry.Enabled {
		return ""
	}
	return ", disabled"
}

// key reads one key.
func (s *server) key(v val) {
	read, ok := s.d.keys[v.key]
	switch {
	case !ok && (v.key == "disabled" || v.key == "enabled") && v.node.Kind != hostdoc.Null:
		s.note(Rewritten, v.key, s.d.Program+" itself does not know this key; taken as it is meant", "", v.line)
		if v.key == "disabled" {
			readDisabled(s, v)
		} else {
			readEnabled(s, v)
		}
	case !ok:
		s.unknown(v, v.key, s.d.keys)
	case read == nil: // quiet
	case v.node.Kind == hostdoc.Null:
		s.note(Ignored, v.key, "is null", "", v.line)
	default:
		s.seen[v.key] = v.line
		read(s, v)
	}
}

// unknown reports a key that nobody reads, with the one that was probably meant.
func (s *server) unknown(v val, name string, known keys) {
	remedy := ""
	if near := s.r.nearest(name, known); near != "" {
		remedy = "did you mean " + quoted(near) + "?"
	} else if hint, ok := elsewhere[name]; ok {
		remedy = hint
	}
	s.note(Ignored, v.key, "unknown key of "+s.d.Program, remedy, v.line)
}

// maxGuesses is for how many unknown keys of a file a near one is looked for, since that takes time.
const maxGuesses = 100

// nearest is the known key that was probably meant.
func (r *reader) nearest(name string, known keys) string {
	near, ok := r.near[name]
	if !ok && len(r.near) < maxGuesses {
		near = tomldoc.Nearest(name, slices.Sorted(maps.Keys(known)))
		if r.near == nil {
			r.near = map[string]string{}
		}
		r.near[name] = near
	}
	if _, ok := known[near]; !ok || near == name {
		return ""
	}
	return near
}

// elsewhere are keys of other programs that people carry over.
var elsewhere = map[string]string{
	"timeout":   "its unit differs from program to program: set the limit in your own configuration",
	"serverUrl": "write url", "httpUrl": "write url and a type", "uri": "write url",
	"environment": "write env", "envs": "write env", "cmd": "write command",
}

// note adds a line to the report.
func (s *server) note(action, field, reason, remedy string, line int) {
	s.r.note(Note{Server: s.entry.ID, Field: field, Action: action, Reason: reason, Remedy: remedy, Line: line})
}

// refuse leaves a field out.
func (s *server) refuse(field, reason, remedy string, line int) {
	s.note(Refused, field, reason, remedy, line)
}

// cost leaves the server out.
func (s *server) cost(field, reason, remedy string, line int) {
	s.bad = true
	if field != "" {
		reason += "; the server is left out"
	}
	s.note(Refused, field, reason, remedy, line)
}

// pass has a value come from a variable that a key of its own names. field is env or headers.
func (s *server) pass(field, name, before, variable string, optional bool, v val) {
	text := before + "${" + variable + "}"
	var to *map[string]toolsource.Secret
	if to = &s.entry.Env; field == "headers" {
		to = &s.entry.Headers
	}
	at := field + "." + name
	if field == "headers" {
		at = field + "." + strings.ToLower(name)
	}
	if strings.ContainsAny(variable, "${}=\x00") || strings.TrimSpace(variable) != variable || variable == "" {
		s.cost(v.key, "is not the name of a variable", "write the name alone", v.line)
		return
	}
	if looksToken(variable) {
		s.cost(v.key, "looks like a credential, where the name of a variable is wanted", "put it into a variable, and write the name of that", v.line)
		return
	}
	s.put(to, name, text)
	s.vars.pass(at, passed{name: variable, before: before, text: text, optional: optional})
	s.note(Rewritten, v.key, "taken as "+field+"."+name+" = "+quoted(text), "", v.line)
}

// looksToken reports whether a text is more likely a credential than the name of a variable.
func looksToken(text string) bool {
	const least = 20
	has := func(is func(rune) bool) bool { return strings.ContainsFunc(text, is) }
	return redact.Shaped(text) != text || len(text) >= least && has(unicode.IsDigit) && has(unicode.IsLower) && (has(unicode.IsUpper) || strings.ContainsAny(text, "-."))
}

// put sets an element of env or headers. Names of headers are equal whatever their case. What is passed on
// from a variable wins over what stands in the file, whichever is read first.
func (s *server) put(to *map[string]toolsource.Secret, name, text string) {
	if *to == nil {
		*to = map[string]toolsource.Secret{}
	}
	if to == &s.entry.Headers {
		if have, ok := s.headers[strings.ToLower(name)]; ok && have != name {
			delete(*to, have)
		}
		if s.headers == nil {
			s.headers = map[string]string{}
		}
		s.headers[strings.ToLower(name)] = name
	}
	(*to)[name] = toolsource.Secret(text)
}

// each calls f with every text that goes to the server or starts it.
func (e *Entry) each(f func(field, text string)) {
	f("command", e.Command)
	for i, t := range e.Args {
		f("args["+itoa(i)+"]", t)
	}
	for _, k := range slices.Sorted(maps.Keys(e.Env)) {
		f("env."+k, e.Env[k].Reveal())
	}
	f("envFile", e.EnvFile)
	f("cwd", e.Cwd)
	f("url", e.URL)
	for _, k := range slices.Sorted(maps.Keys(e.Headers)) {
		f("headers."+k, e.Headers[k].Reveal())
	}
}
