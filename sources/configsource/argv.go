package configsource

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsource/toolsource"
)

// argv is a command as it was declared: groups of elements. An element of the array is a group of its own;
// an array inside it is a group that stands or falls together.
type argv []group

type group []element

// element becomes one argument of the command, or several where it is the whole of a list.
type element []part

type part struct {
	text string // literal, where arg is ""
	arg  string
}

// parseArgv reads the value of the key command.
func parseArgv(items []any, args []toolsource.ArgSpec) (argv, error) {
	if len(items) == 0 {
		return nil, badKey("command", `give the program and its arguments, as ["grep", "-n", "{pattern}"]`, "is empty")
	}
	var a argv
	for i, item := range items {
		key := fmt.Sprintf("command[%d]", i)
		inner, isGroup := item.([]any)
		if !isGroup {
			e, err := parseElement(key, item, args)
			if err != nil {
				return nil, err
			}
			a = append(a, group{e})
			continue
		}
		var g group
		for j, item := range inner {
			e, err := parseElement(fmt.Sprintf("%s[%d]", key, j), item, args)
			if err != nil {
				return nil, err
			}
			g = append(g, e)
		}
		a = append(a, g)
	}
	if prog, fixed := a.program(); !fixed || prog == "" {
		return nil, badKey("command[0]", "write the program out", "the program cannot come from an argument")
	}
	return a, nil
}

// program is the first element, which has to be literal.
func (a argv) program() (name string, fixed bool) {
	if len(a[0]) != 1 {
		return "", false
	}
	for _, p := range a[0][0] {
		if p.arg != "" {
			return "", false
		}
		name += p.text
	}
	return name, true
}

func parseElement(key string, item any, args []toolsource.ArgSpec) (element, error) {
	s, ok := item.(string)
	if !ok {
		return nil, badKey(key, "", "want a string, or an array of strings that are left out together")
	}
	if strings.ContainsRune(s, 0) {
		return nil, badKey(key, "", "holds a NUL character")
	}
	e, err := parseTemplate(s)
	if err != nil {
		return nil, badKey(key, "write {{ and }} for braces", "%w", err)
	}
	for _, p := range e {
		if p.arg == "" {
			continue
		}
		i := slices.IndexFunc(args, func(a toolsource.ArgSpec) bool { return a.Name == p.arg })
		switch {
		case i < 0:
			return nil, badKey(key, "declare it in args, or write {{ and }} for braces", "the tool has no argument %q", p.arg)
		case len(e) > 1 && (args[i].Type == "list" || args[i].Type == "dict"):
			return nil, badKey(key, "make it an element of its own", "the %s %q cannot be part of an element", args[i].Type, p.arg)
		}
	}
	return e, nil
}

// parseTemplate splits text into literal parts and {names}. {{ and }} are braces.
func parseTemplate(s string) (element, error) {
	var e element
	var lit strings.Builder
	flush := func() {
		if lit.Len() > 0 {
			e = append(e, part{text: lit.String()})
			lit.Reset()
		}
	}
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "{{"), strings.HasPrefix(s[i:], "}}"):
			lit.WriteByte(s[i])
			i++
		case s[i] == '}':
			return nil, errors.New("has a } without a {")
		case s[i] == '{':
			end := strings.IndexByte(s[i:], '}')
			if end < 0 {
				return nil, errors.New("has a { without a }")
			}
			name := s[i+1 : i+end]
			if name == "" {
				return nil, errors.New("has an empty {}")
			}
			flush()
			e = append(e, part{arg: name})
			i += end
		default:
			lit.WriteByte(s[i])
		}
	}
	flush()
	if e == nil {
		e = element{{}}
	}
	return e, nil
}

// expand makes the command's arguments, the program first. No shell is involved: a value is one argument,
// whatever it holds. A group with an argument that is not there is left out. A value at the start of an
// element must not begin with "-", since the program would take it for an option, unless a literal "--"
// stands before it.
func (a argv) expand(args map[string]any) ([]string, error) {
	var out []string
	literal := false // "--" has been seen
	for _, g := range a {
		if g.missing(args) {
			continue
		}
		for _, e := range g {
			values, err := e.expand(args)
			if err != nil {
				return nil, err
			}
			for _, v := range values {
				if !literal && e[0].arg != "" && strings.HasPrefix(v, "-") {
					return nil, fmt.Errorf("%w: argument %q begins with \"-\", which the command would take for an option", toolsource.ErrBadArguments, e[0].arg)
				}
			}
			if len(e) == 1 && e[0].text == "--" {
				literal = true
			}
			out = append(out, values...)
		}
	}
	return out, nil
}

func (g group) missing(args map[string]any) bool {
	for _, e := range g {
		for _, p := range e {
			if p.arg != "" && args[p.arg] == nil {
				return true
			}
		}
	}
	return false
}

func (e element) expand(args map[string]any) ([]string, error) {
	if list, ok := args[e[0].arg].([]any); ok && len(e) == 1 {
		out := make([]string, len(list))
		for i, v := range list {
			text, err := argText(e[0].arg, v)
			if err != nil {
				return nil, err
			}
			out[i] = text
		}
		return out, nil
	}
	var b strings.Builder
	for _, p := range e {
		if p.arg == "" {
			b.WriteString(p.text)
			continue
		}
		text, err := argText(p.arg, args[p.arg])
		if err != nil {
			return nil, err
		}
		b.WriteString(text)
	}
	return []string{b.String()}, nil
}

// argText is a value as an argument of a command: a string as it is, a number or boolean as JSON writes it,
// lists and dicts as JSON.
func argText(name string, v any) (string, error) {
	switch v := v.(type) {
	case string:
		if strings.ContainsRune(v, 0) {
			return "", fmt.Errorf("%w: argument %q holds a NUL character, which no command can take", toolsource.ErrBadArguments, name)
		}
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case toolsource.Blob:
		return "", fmt.Errorf("%w: argument %q is bytes, which no command line can take", toolsource.ErrBadArguments, name)
	}
	b, err := plainJSON(v)
	return string(b), err
}

func plainJSON(v any) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("%w: %w", toolsource.ErrBadArguments, err)
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), nil
}
