package main

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/toolsource/toolsource/sources"
	"github.com/toolsource/toolsource/sources/hostconfig"
)

// What sources says of a server that is off.
const (
	awaiting = "awaiting consent" // nobody has agreed to its host file
	disabled = "disabled"
	badEntry = "bad entry"
)

// would is what a server does once it starts, for lists: values that look like secrets are not shown.
// trust shows all of it.
func would(s sources.Server) string {
	what := launch(s)
	switch {
	case what == "":
		return "do nothing"
	case s.Entry != nil && s.Entry.Command != "" || s.Entry == nil && s.Config.Command != "":
		return "run " + what
	}
	return "call " + what
}

// launch is the command that a server runs, or the address that it calls. Of a server of the configuration
// itself the arguments are not shown: their variables are expanded.
func launch(s sources.Server) string {
	switch {
	case s.Entry != nil:
		return entryLaunch(*s.Entry)
	case s.Config.Command != "" && len(s.Config.Args) > 0:
		return fmt.Sprintf("%s (and %s)", s.Config.Command, count(len(s.Config.Args), "argument"))
	case s.Config.Command != "":
		return s.Config.Command
	}
	if u, err := url.Parse(s.Config.URL); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host
	}
	return ""
}

// entryLaunch is likewise for an entry of a host file, with variables as the file has them.
func entryLaunch(e hostconfig.Entry) string {
	e.URL = hideURL(e.URL)
	e.Args = hideArgs(e.Args)
	return sources.Server{Entry: &e}.Launch()
}

const hidden = "***"

// secretName is the name of an option, a variable or a parameter whose value is not for showing.
var secretName = regexp.MustCompile(`(?i)(token|secret|password|passwd|passphrase|credential|authorization|bearer|(api|access|private|auth|secret)[-_.]?key)s?($|[^a-z])|^-*(key|pat)$`)

// secretText is a text that looks like a token, whatever its name.
var secretText = regexp.MustCompile(`^(sk-|sk_|ghp_|gho_|ghs_|github_pat_|glpat-|xox[a-z]-|AKIA|eyJ[A-Za-z0-9_-]+\.)|://[^/@]*:[^/@]*@|(?i)^bearer |: *bearer `)

// hideArgs leaves values out that their names or their looks say are secrets. A variable is none yet.
func hideArgs(args []string) []string {
	out := make([]string, len(args))
	named := false // the argument before it is the name of a secret
	for i, a := range args {
		name, value, both := strings.Cut(a, "=")
		header, text, isHeader := strings.Cut(a, ":")
		switch {
		case named && !strings.HasPrefix(a, "-"):
			out[i] = hide(a)
		case both && secretName.MatchString(name) && !strings.Contains(name, "://"):
			out[i] = name + "=" + hide(value)
		case isHeader && !strings.HasPrefix(text, "//") && secretName.MatchString(header) && !strings.ContainsAny(header, " ${"):
			out[i] = header + ":" + hide(text)
		case strings.Contains(a, "://"):
			out[i] = hideURL(a)
		case secretText.MatchString(a), both && secretText.MatchString(value):
			out[i] = hide(a)
		default:
			out[i] = a
		}
		named = strings.HasPrefix(a, "-") && !both && secretName.MatchString(a)
	}
	return out
}

var references = regexp.MustCompile(`\$\{[^}]*\}|\{env:[^}]*\}|\$[A-Za-z_][A-Za-z0-9_]*`)

// hide keeps of a text the variables that it names, without what they fall back on.
func hide(text string) string {
	found := references.FindAllString(text, -1)
	if len(found) == 0 {
		if text == "" {
			return ""
		}
		return hidden
	}
	for i, f := range found {
		if name, _, has := strings.Cut(f, ":-"); has {
			found[i] = name + ":-" + hidden + "}"
		}
	}
	if rest := references.ReplaceAllString(text, ""); strings.TrimSpace(rest) == "" {
		return strings.Join(found, "")
	}
	return hidden + strings.Join(found, hidden)
}

// hideURL leaves out who signs in, and the values of the query.
func hideURL(address string) string {
	before, query, has := strings.Cut(address, "?")
	if scheme, rest, ok := strings.Cut(before, "://"); ok {
		host, path, slash := strings.Cut(rest, "/")
		if _, at, signed := strings.Cut(host, "@"); signed {
			host = hidden + "@" + at
		}
		if before = scheme + "://" + host; slash {
			before += "/" + path
		}
	}
	if !has {
		return before
	}
	parts := strings.Split(query, "&")
	for i, p := range parts {
		if name, value, both := strings.Cut(p, "="); both {
			parts[i] = name + "=" + hide(value)
		}
	}
	return before + "?" + strings.Join(parts, "&")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
