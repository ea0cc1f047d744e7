package main

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"

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

const (
	hidden     = "***"
	longestArg = 200 // runes of an argument that are shown
)

// secretName is the name of an option, a variable or a parameter whose value is not for showing.
var secretName = regexp.MustCompile(`(?i)(token|secret|password|passwd|passphrase|credential|authorization|bearer|(api|access|private|auth|secret)[-_.]?key)s?($|[^a-z])|^-*(key|pat)$`)

// secretText is a text that looks like a token, whatever its name.
var secretText = regexp.MustCompile(`^(sk-|sk_|ghp_|gho_|ghs_|github_pat_|glpat-|xox[a-z]-|AKIA|eyJ[A-Za-z0-9_-]+\.)|://[^/@]*:[^/@]*@|(?i)^bearer |: *bearer `)

// headerOption and variableOption are options whose argument is a header or a variable, whose value is never
// shown.
var (
	headerOption   = regexp.MustCompile(`^(-H|--?headers?)$`)
	variableOption = regexp.MustCompile(`^(-e|--?env)$`)
	variable       = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*=`)
)

// secretMember is a key in a text of JSON whose value is not for showing.
var secretMember = regexp.MustCompile(`(?i)(token|secret|passw|passphrase|credential|authorization|bearer|key|pat)s?\\*["']?\s*:`)

// hideArgs leaves values out that their names or their looks say are secrets. A variable is none yet.
func hideArgs(args []string) []string {
	out := make([]string, len(args))
	option := "" // the argument before it, if that is an option without a value
	for i, a := range args {
		out[i] = middle(hideArg(option, a), longestArg)
		option = ""
		if strings.HasPrefix(a, "-") && !strings.Contains(a, "=") {
			option = a
		}
	}
	return out
}

// hideArg is likewise for one argument and the option before it, "" if there is none.
func hideArg(option, a string) string {
	name, value, both := strings.Cut(a, "=")
	header, text, isHeader := strings.Cut(a, ":")
	switch {
	case option != "" && !strings.HasPrefix(a, "-") && secretName.MatchString(option):
		return hide(a)
	case both && strings.HasPrefix(name, "-") && !secretName.MatchString(name):
		return name + "=" + hideArg(name, value)
	case both && variable.MatchString(a) && variableOption.MatchString(option):
		return name + "=" + hide(value)
	case isHeader && headerOption.MatchString(option):
		return header + ":" + hide(text)
	case both && secretName.MatchString(name) && !strings.ContainsAny(name, ":{"):
		return name + "=" + hide(value)
	case isHeader && !strings.HasPrefix(text, "//") && secretName.MatchString(header) && !strings.ContainsAny(header, " ${"):
		return header + ":" + hide(text)
	case strings.Contains(a, "{") && secretMember.MatchString(a):
		return hide(a)
	case strings.Contains(a, "://"):
		return hideURL(a)
	case secretText.MatchString(a), both && secretText.MatchString(value):
		return hide(a)
	}
	return a
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

// hideURL leaves out who signs in, the values of the query, what follows a #, and parts of a web address's
// path that look like a token. What follows the # of a socket is the path on it.
func hideURL(address string) string {
	web := strings.HasPrefix(strings.ToLower(address), "http")
	before, fragment, marked := strings.Cut(address, "#")
	before, query, has := strings.Cut(before, "?")
	if scheme, rest, ok := strings.Cut(before, "://"); ok {
		parts := strings.Split(hideUser(rest), "/")
		for i, p := range parts[1:] {
			if web && looksRandom(p) {
				parts[i+1] = hidden
			}
		}
		before = scheme + "://" + strings.Join(parts, "/")
	}
	if has {
		parts := strings.Split(query, "&")
		for i, p := range parts {
			if name, value, both := strings.Cut(p, "="); both {
				parts[i] = name + "=" + hide(value)
			} else if looksRandom(p) {
				parts[i] = hidden
			}
		}
		before += "?" + strings.Join(parts, "&")
	}
	switch {
	case !marked:
		return before
	case web:
		fragment = hide(fragment)
	}
	return before + "#" + fragment
}

// hideUser leaves out who signs in, also where a password has a / in it.
func hideUser(rest string) string {
	host, _, _ := strings.Cut(rest, "/")
	if _, port, has := strings.Cut(host, ":"); has && !strings.Contains(host, "@") && strings.Trim(port, "0123456789") != "" {
		host = rest
	}
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		return hidden + rest[at:]
	}
	return rest
}

// looksRandom reports whether a part of an address is more likely a token than a word.
func looksRandom(part string) bool {
	const least = 20
	digits := strings.ContainsAny(part, "0123456789")
	letters := strings.ContainsFunc(part, unicode.IsLetter)
	return len(part) >= least && digits && letters && !strings.ContainsAny(part, "${}")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
