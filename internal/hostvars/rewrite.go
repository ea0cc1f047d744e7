package hostvars

import (
	"fmt"
	"regexp"
	"strings"
)

// Rewrite gives a text with each variable as write gives it, and the text between them, if literal is not
// nil, as literal gives it. A literal ${ that was escaped comes to literal without its escape.
func Rewrite(text string, n Notation, write func(Ref) string, literal func(string) string) string {
	var b strings.Builder
	for _, p := range joined(split(text, n)) {
		switch {
		case p.ref != nil:
			b.WriteString(write(*p.ref))
		case literal != nil:
			b.WriteString(literal(p.literal))
		default:
			b.WriteString(p.literal)
		}
	}
	return b.String()
}

// joined makes one piece of neighbouring literals.
func joined(ps []piece) []piece {
	var out []piece
	for i := 0; i < len(ps); i++ {
		if ps[i].ref != nil {
			out = append(out, ps[i])
			continue
		}
		var b strings.Builder
		for ; i < len(ps) && ps[i].ref == nil; i++ {
			b.WriteString(ps[i].literal)
		}
		out = append(out, piece{literal: b.String()})
		i--
	}
	return out
}

// ToOwn gives a text in the library's own notation, so that [Expand] of it with Own is what Expand of the
// text with n is. name gives the environment variable that stands for a variable of another kind; if it is
// nil, or says no, that is an error, which names the variable. So is a variable that stands right after a $,
// which the own notation cannot express.
func ToOwn(text string, n Notation, name func(Ref) (string, bool)) (string, error) {
	var b strings.Builder
	for _, p := range joined(split(text, n)) {
		if p.ref == nil {
			b.WriteString(strings.ReplaceAll(p.literal, "${", "$${"))
			continue
		}
		own, ok := p.ref.Name, p.ref.Kind == Env
		if !ok && name != nil {
			own, ok = name(*p.ref)
		}
		switch {
		case !ok || own == "" || nameIn(own) != own:
			return "", fmt.Errorf("%s %s cannot be written as a variable of the environment", p.ref.Kind, p.ref.Name)
		case strings.HasSuffix(b.String(), "$"):
			return "", fmt.Errorf("%s %s stands after a $, which cannot be written", p.ref.Kind, p.ref.Name)
		case p.ref.HasDefault:
			b.WriteString("${" + own + ":-" + p.ref.Default + "}")
		default:
			b.WriteString("${" + own + "}")
		}
	}
	return b.String(), nil
}

// looksForeign is what people take for a variable. A bare $NAME and a %NAME% only in capitals and where a
// word may begin, lest a password be taken for one.
var looksForeign = regexp.MustCompile(`\$\{\{[^{}]*\}\}|\$\{[^{}$]*\}|\$\{|\{(?:env|file):[^{}]*\}|\$\([^()]*\)` +
	`|(?:^|[\s=:/"'])(\$[A-Z_][A-Z0-9_]+)(?:$|[^A-Za-z0-9_])|(?:^|[\s=:/\\"'])(%[A-Z_][A-Z0-9_]{2,}%)`)

// maxForeign is how much of what was found is shown, in bytes.
const maxForeign = 80

// Foreign is what looks like a variable in a text but is not expanded, since this format has no such
// notation or since it has no end: it would be sent as it stands. In the order of the text, each once; what
// is longer than 80 bytes only as its beginning, "${".
func Foreign(text string, n Notation) []string {
	var out []string
	seen := map[string]bool{}
	find := func(s string) {
		if !strings.ContainsAny(s, "${%") {
			return
		}
		for _, m := range looksForeign.FindAllStringSubmatch(s, -1) {
			f := m[0]
			if m[1] != "" || m[2] != "" {
				f = m[1] + m[2]
			}
			if len(f) > maxForeign || strings.ContainsAny(f, "\r\n") {
				f = f[:2]
			}
			if !seen[f] {
				seen[f] = true
				out = append(out, f)
			}
		}
	}
	for _, p := range split(text, n) {
		switch {
		case p.ref != nil:
			find(p.ref.Default)
		case !p.escaped:
			find(p.literal)
		}
	}
	return out
}
