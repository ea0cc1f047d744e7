package main

import (
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unicode"
)

// screen is where the output for people goes.
type screen struct {
	terminal bool
	colour   bool
	width    int // columns
}

const (
	usualWidth = 80
	leastWidth = 40
)

func screenOf(out io.Writer) screen {
	s := screen{terminal: isTerminal(out), width: usualWidth}
	s.colour = s.terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if runtime.GOOS == "windows" && os.Getenv("WT_SESSION") == "" && os.Getenv("TERM") == "" {
		s.colour = false // an old console writes the codes out
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		s.width = max(n, leastWidth)
	}
	return s
}

func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

// The styles of a terminal.
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	dim    = "2"
)

// paint gives a text a style, where there are colours.
func (s screen) paint(style, text string) string {
	if !s.colour || style == "" || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// clean is a text of which nothing can move the cursor or look like another line.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, text)
}

// harmless is a text of several lines of which nothing can move the cursor elsewhere.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
			return ' '
		}
		return r
	}, text)
}

// words are a text's, cleaned.
func words(text string) []string { return strings.Fields(clean(text)) }

// wrap breaks a text into lines of at most so many runes: between words, and a word that is longer by itself
// only if strict, else it has a line of its own and can be copied.
func wrap(text string, width int, strict bool) []string {
	var lines []string
	var line []rune
	for _, w := range words(text) {
		word := []rune(w)
		if len(line) > 0 && len(line)+1+len(word) <= width {
			line = append(append(line, ' '), word...)
			continue
		}
		if len(line) > 0 {
			lines = append(lines, string(line))
		}
		for strict && len(word) > width {
			lines = append(lines, string(word[:width]))
			word = word[width:]
		}
		line = word
	}
	if len(line) > 0 || len(lines) == 0 {
		lines = append(lines, string(line))
	}
	return lines
}

// indented is a paragraph that fits the screen, but for words that are longer: its first line begins with
// first, the others with as many spaces as indent.
func (s screen) indented(first string, indent int, text string) string {
	var b strings.Builder
	for i, line := range wrap(text, max(s.width-indent, leastWidth/2), false) {
		if i > 0 {
			first = strings.Repeat(" ", indent)
		}
		b.WriteString(first + line + "\n")
	}
	return b.String()
}

// middle cuts a text to so many runes, and keeps both of its ends.
func middle(text string, width int) string {
	r := []rune(text)
	if len(r) <= width {
		return text
	}
	const gap = "..."
	if width <= len(gap) {
		return string(r[:width])
	}
	head := (width - len(gap) + 1) / 2
	return string(r[:head]) + gap + string(r[len(r)-(width-len(gap)-head):])
}
