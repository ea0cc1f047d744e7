package hostconfig

import "strings"

type envVar struct{ name, value string }

// parseEnvFile reads lines NAME=VALUE. A line may begin with export, be blank or a comment. A value in single
// quotes is what stands in them; in double quotes \n, \r, \t, \" and \\ are read, and it may go over several
// lines; without quotes it ends at a # after white space, and white space around it is not part of it. No
// variable in it is expanded. Of a name that is there twice the last counts. The second result is the first
// line that is none of this; 0: all are.
func parseEnvFile(text string) ([]envVar, int) {
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var out []envVar
	at := map[string]int{}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if line == "" || line[0] == '#' {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "export"); ok && rest != "" && (rest[0] == ' ' || rest[0] == '\t') {
			line = strings.TrimSpace(rest)
		}
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" || strings.ContainsAny(name, " \t\"'#\x00") {
			return nil, i + 1
		}
		value = strings.TrimSpace(value)
		first := i
		if value, i, ok = envValue(value, lines, i); !ok {
			return nil, first + 1
		}
		if n, ok := at[name]; ok {
			out[n].value = value
			continue
		}
		at[name] = len(out)
		out = append(out, envVar{name, value})
	}
	return out, 0
}

// envValue reads a value that begins on line i, and gives the line that it ends on.
func envValue(value string, lines []string, i int) (string, int, bool) {
	if value == "" {
		return "", i, true
	}
	quote := value[0]
	if quote != '"' && quote != '\'' {
		for k := 1; k < len(value); k++ {
			if value[k] == '#' && (value[k-1] == ' ' || value[k-1] == '\t') {
				value = strings.TrimRight(value[:k], " \t")
				break
			}
		}
		if value[0] == '#' {
			value = ""
		}
		return value, i, true
	}
	rest := value[1:]
	var b strings.Builder
	for {
		for k := 0; k < len(rest); k++ {
			switch c := rest[k]; {
			case c == quote:
				after := strings.TrimSpace(rest[k+1:])
				return b.String(), i, after == "" || after[0] == '#'
			case c == '\\' && quote == '"' && k+1 < len(rest):
				k++
				b.WriteString(unescaped(rest[k]))
			default:
				b.WriteByte(c)
			}
		}
		if i++; quote == '\'' || i >= len(lines) {
			return "", i, false
		}
		b.WriteByte('\n')
		rest = lines[i]
	}
}

func unescaped(c byte) string {
	switch c {
	case 'n':
		return "\n"
	case 'r':
		return "\r"
	case 't':
		return "\t"
	case '"', '\\':
		return string(c)
	}
	return `\` + string(c)
}
