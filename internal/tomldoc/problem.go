package tomldoc

import (
	"fmt"
	"strings"
	"unicode"
)

// Severity says what a Problem costs.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"   // the entry, or the file, is left out
	SeverityWarning Severity = "warning" // something is odd; nothing is left out
)

// Problem is something wrong with a configuration file, with its place and its remedy. It never holds a
// value that may be a secret.
type Problem struct {
	File     string   // as it was given; "" for data that is no file
	Line     int      // from 1; 0: the file as a whole
	Column   int      // in characters, from 1; 0: unknown
	Key      string   // path of the key, as tools[0].args[1].name; "" for the file as a whole
	Message  string   // what is wrong
	Hint     string   // what to do about it; may be ""
	Severity Severity // error or warning

	err error // the cause, for errors.Is
}

// Error is one line: file:line:column: key: message (hint).
func (p *Problem) Error() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d", p.Line)
			if p.Column > 0 {
				fmt.Fprintf(&b, ":%d", p.Column)
			}
		}
		b.WriteString(": ")
	}
	if p.Severity == SeverityWarning {
		b.WriteString("warning: ")
	}
	if p.Key != "" {
		b.WriteString(p.Key)
		b.WriteString(": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		fmt.Fprintf(&b, " (%s)", p.Hint)
	}
	return oneLine(b.String())
}

// Unwrap is the cause, where there is one: fs.ErrNotExist for a missing file.
func (p *Problem) Unwrap() error { return p.err }

// Because sets the cause and returns p.
func (p *Problem) Because(err error) *Problem {
	p.err = err
	return p
}

func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.In(r, unicode.Cf)
	}), " ")
}

// Nearest is the known word most like w: equal but for case and separators, or at most two edits away
// (one for words of up to four letters, none for those of one or two). "" if none is.
func Nearest(w string, known []string) string {
	best, bestDist := "", 3
	switch {
	case len(w) <= 2:
		bestDist = 1
	case len(w) <= 4:
		bestDist = 2
	}
	for _, k := range known {
		if plain(k) == plain(w) {
			return k
		}
		if d := distance(w, k, bestDist); d < bestDist {
			best, bestDist = k, d
		}
	}
	return best
}

func plain(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
}

// distance counts insertions, deletions, substitutions and swaps of neighbours; limit where it is more.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit || len(a) > 64 || len(b) > 64 {
		return limit
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return min(rows[len(a)][len(b)], limit)
}
