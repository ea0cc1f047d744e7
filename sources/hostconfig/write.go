package hostconfig

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/childenv"
	"github.com/toolsource/toolsource/internal/hostvars"
)

// WriteTOML writes entries as [mcp_servers.NAME] of this module's own format, in their order, with the
// values as the files wrote them and variables in our notation: ${NAME}, ${NAME:-default}, and $${ for a ${
// that is none. An input or a secret becomes a variable of the environment, and a note names it. What cannot
// be said is a note and a comment; where the server would be another without it, it is written switched off.
// Approvals are never written. The result holds whatever secrets the files held.
func WriteTOML(entries []Entry) ([]byte, []Note) {
	w := &tomlWriter{}
	seen := map[string]bool{}
	for _, e := range entries {
		if seen[e.ID] {
			w.notes = append(w.notes, Note{File: e.File, Line: e.Line, Server: e.ID, Action: Refused, Reason: "another server of this name is written already", Remedy: "merge the files first, or rename one of them"})
			continue
		}
		seen[e.ID] = true
		w.entry(e)
	}
	return w.out.Bytes(), w.notes
}

type tomlWriter struct {
	out   bytes.Buffer
	notes []Note

	e        Entry // being written
	body     bytes.Buffer
	comments []string
	off      bool
}

func (w *tomlWriter) note(action, field, reason, remedy string) {
	w.notes = append(w.notes, Note{File: w.e.File, Line: w.e.Line, Server: w.e.ID, Field: field, Action: action, Reason: reason, Remedy: remedy})
}

// cannot notes what cannot be said; off: the server is switched off for it.
func (w *tomlWriter) cannot(field, reason, remedy string, off bool) {
	action := Ignored
	if off {
		action = Refused
		reason += "; the server is switched off"
	}
	w.off = w.off || off
	w.note(action, field, reason, remedy)
	line := field + ": " + reason
	if remedy != "" {
		line += "; " + remedy
	}
	w.comments = append(w.comments, line)
}

func (w *tomlWriter) entry(e Entry) {
	w.e, w.off, w.comments = e, false, nil
	w.body.Reset()
	w.connection()
	if e.ConnectTimeout > 0 {
		w.pair("connect_timeout", tomlString(e.ConnectTimeout.String()))
	}
	if e.CallTimeout > 0 {
		w.pair("timeout", tomlString(e.CallTimeout.String()))
	}
	if e.Required {
		w.pair("required", "true")
	}
	if e.Allow != nil {
		w.pair("allow", tomlList(e.Allow))
	}
	if len(e.Deny) > 0 {
		w.pair("deny", tomlList(e.Deny))
	}
	w.table("env", e.Env)
	w.table("headers", e.Headers)
	if !e.Approvals.IsZero() {
		w.cannot("approvals", "are not taken over: they raise no trust", "", false)
	}
	if w.out.Len() > 0 {
		w.out.WriteByte('\n')
	}
	if e.Name != "" {
		w.comment(e.Name)
	}
	if e.File != "" {
		w.comment(fmt.Sprintf("from %s:%d (%s)", e.File, e.Line, e.Format))
	}
	for _, c := range w.comments {
		w.comment(c)
	}
	fmt.Fprintf(&w.out, "[mcp_servers.%s]\n", tomlKey(e.ID))
	if !e.Enabled || w.off {
		w.out.WriteString("enabled = false\n")
	}
	w.out.Write(w.body.Bytes())
}

func (w *tomlWriter) connection() {
	e := w.e
	if e.Transport == TransportSSE || e.Transport == TransportHTTP {
		w.pair("transport", tomlString(e.Transport))
	}
	if e.Command != "" {
		w.pair("command", tomlString(w.own("command", e.Command)))
	}
	if len(e.Args) > 0 {
		args := make([]string, len(e.Args))
		for i, a := range e.Args {
			args[i] = w.own("args["+itoa(i)+"]", a)
		}
		w.pair("args", tomlList(args))
	}
	if e.Cwd != "" {
		w.cwd()
	}
	if e.EnvFile != "" {
		w.cannot("envFile", "there is no key for a file of variables", "write its variables into env", true)
	}
	if e.URL != "" {
		w.pair("url", tomlString(w.own("url", w.withoutUser(e.URL))))
	}
}

// withoutUser takes who signs in out of an address, where it may not stand.
func (w *tomlWriter) withoutUser(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return address
	}
	w.cannot("url", "held a user name or password, which are left out", "put them into headers", true)
	scheme, rest, _ := strings.Cut(address, "://")
	host := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		host = rest[:end]
	}
	return scheme + "://" + rest[strings.LastIndexByte(host, '@')+1:]
}

// cwd is written as it is: nothing is expanded in it, and a relative one lies beside the file.
func (w *tomlWriter) cwd() {
	cwd := w.e.Cwd
	text, n := w.e.vars.read("cwd", cwd)
	switch {
	case len(hostvars.Refs(text, n)) > 0:
		w.cannot("cwd", "variables are not expanded in it", "write the folder", true)
		return
	case strings.HasPrefix(cwd, "~"):
		w.cannot("cwd", "a leading ~ is not expanded in it", "write the folder", true)
		return
	case !isAbs(cwd):
		w.cannot("cwd", "is relative to the folder of this file here, and was to the workspace", "check it", false)
	}
	w.pair("cwd", tomlString(cwd))
}

func (w *tomlWriter) table(key string, m map[string]toolsource.Secret) {
	if len(m) == 0 {
		return
	}
	parts := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if reader := childenv.Injects(k, m[k].Reveal()); key == "env" && reader != "" {
			w.cannot("env."+k, "has "+reader+" run code that the command does not name, and is left out", "write it, and allow it by allow_env, if it is meant", true)
			continue
		}
		parts = append(parts, tomlKey(k)+" = "+tomlString(w.own(key+"."+k, m[k].Reveal())))
	}
	if len(parts) == 0 {
		return
	}
	w.pair(key, "{ "+strings.Join(parts, ", ")+" }")
}

// own is a text in our notation.
func (w *tomlWriter) own(field, text string) string {
	v := w.e.vars
	if p, ok := v.of(field, text); ok {
		if p.optional {
			w.note(Rewritten, field, "is empty where the variable is not set, and was left out", "")
			return p.before + "${" + p.name + ":-}"
		}
		return text
	}
	text, n := v.read(field, text)
	text, n, err := w.localValues(text, n)
	if err == nil {
		var out string
		if out, err = hostvars.ToOwn(text, n, func(r hostvars.Ref) (string, bool) { return w.variable(field, r) }); err == nil {
			return out
		}
	}
	w.cannot(field, "holds a variable that cannot be written: "+err.Error(), "write the value", true)
	return escape(text)
}

// localValues puts the values in that only this server's own variables have.
func (w *tomlWriter) localValues(text string, n hostvars.Notation) (string, hostvars.Notation, error) {
	if w.e.vars == nil || len(w.e.vars.local) == 0 || len(hostvars.Refs(text, n)) == 0 {
		return text, n, nil
	}
	var err error
	out := hostvars.Rewrite(text, n, func(r hostvars.Ref) string {
		v, ok := w.e.vars.local[r.Name]
		if !ok {
			return "${" + r.Name + "}"
		}
		if strings.Contains(v.Reveal(), "$") {
			err = errors.New("environment variable " + r.Name + " of this server cannot be written here")
		}
		return v.Reveal()
	}, escape)
	return out, hostvars.Own, err
}

// variable names the variable of the environment that stands for another kind of value.
func (w *tomlWriter) variable(field string, r hostvars.Ref) (string, bool) {
	switch r.Kind {
	case hostvars.Home:
		w.note(Rewritten, field, "the home directory is the variable HOME", "")
		return "HOME", true
	case hostvars.Input, hostvars.Secret:
		name := strings.Map(func(c rune) rune {
			if c < unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c)) {
				return unicode.ToUpper(c)
			}
			return '_'
		}, r.Name)
		w.note(Rewritten, field, "the "+string(r.Kind)+" "+r.Name+" is the variable "+name, "set it")
		return name, true
	}
	return "", false
}

func (w *tomlWriter) pair(key, value string) { fmt.Fprintf(&w.body, "%s = %s\n", key, value) }

func (w *tomlWriter) comment(text string) {
	w.out.WriteString("# " + strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }), " ") + "\n")
}

func tomlList(items []string) string {
	quoted := make([]string, len(items))
	for i, s := range items {
		quoted[i] = tomlString(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// tomlKey is a bare key where it may be one.
func tomlKey(s string) string {
	bare := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !bare(r) }) {
		return s
	}
	return tomlString(s)
}

// tomlString is a basic string.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
