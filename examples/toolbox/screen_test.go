package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// hostile is text of a file or server that would move the cursor or forge a line.
const hostile = "a\x1b[2Jb\rc\nd\u202ee\u2028f\x07g"

func TestTableFitsTheScreen(t *testing.T) {
	long := strings.Repeat("w\u00f6rd ", 60)
	unbroken := strings.Repeat("\u00fc", 300)
	tests := []struct {
		why  string
		rows [][]string
	}{
		{"everything short", [][]string{{"a", "b", "c"}}},
		{"the last column is long", [][]string{{"a", "b", long}}},
		{"the first one is", [][]string{{long, "b", "c"}}},
		{"all are, without a space to break at", [][]string{{unbroken, unbroken, unbroken}, {"a", "b", "c"}}},
		{"empty cells", [][]string{{"", "", ""}}},
		{"hostile cells", [][]string{{hostile, hostile, hostile}}},
	}
	for _, width := range []int{leastWidth, 80, 200} {
		for _, tt := range tests {
			tab := &table{head: []string{"FIRST", "SECOND", "LAST"}}
			for _, r := range tt.rows {
				tab.add(r...)
			}
			var out bytes.Buffer
			if err := tab.print(&out, screen{width: width}); err != nil {
				t.Fatal(err)
			}
			for _, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
				if n := utf8.RuneCountInString(line); n > width {
					t.Errorf("%s: a line has %d runes on a screen of %d: %q", tt.why, n, width, line)
				}
				if line != clean(line) {
					t.Errorf("%s: a line can move the cursor: %q", tt.why, line)
				}
			}
		}
	}
}

func TestTableShowsAllOfItsLastColumn(t *testing.T) {
	tab := &table{head: []string{"A", "B"}}
	tab.addParts([]string{strings.Repeat("x", 100) + "END"}, "one two three four five six seven eight nine ten", "second")
	var out bytes.Buffer
	if err := tab.print(&out, screen{width: 40}); err != nil {
		t.Fatal(err)
	}
	for _, w := range strings.Fields("one two three four five six seven eight nine ten second xxx...x END") {
		if !strings.Contains(out.String(), w) {
			t.Errorf("%q is missing in\n%s", w, &out)
		}
	}
	if strings.Contains(out.String(), "ten second") {
		t.Errorf("the parts share a line:\n%s", &out)
	}
}

// TestNarrowTableNamesItsRows: the first column stays readable while there is anything else to cut.
func TestNarrowTableNamesItsRows(t *testing.T) {
	tb := &table{head: []string{"SERVER", "TRANSPORT", "STATE", "LINE", "RUNS OR CALLS"}}
	tb.add("github", "stdio", "disabled", "10", "npx -y some-server /srv/a")
	var b strings.Builder
	if err := tb.print(&b, screen{width: 40}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "github  ") {
		t.Errorf("the row has lost its name:\n%s", b.String())
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 40 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestMiddle(t *testing.T) {
	tests := []struct {
		text  string
		width int
		want  string
	}{
		{"short", 5, "short"},
		{"0123456789", 8, "012...89"},
		{"0123456789", 3, "012"},
		{"\u00e0\u00e1\u00e2\u00e3\u00e4\u00e5\u00e6\u00e7", 7, "\u00e0\u00e1...\u00e6\u00e7"},
		{"x", 0, ""},
	}
	for _, tt := range tests {
		if got := middle(tt.text, tt.width); got != tt.want {
			t.Errorf("middle(%q, %d) is %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}

func TestScreenOf(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for columns, want := range map[string]int{"": 80, "120": 120, "12": leastWidth, "-1": 80, "wide": 80} {
		t.Setenv("COLUMNS", columns)
		if got := screenOf(file); got.colour || got.terminal || got.width != want {
			t.Errorf("COLUMNS=%q: a file is %+v, want no terminal of %d columns", columns, got, want)
		}
	}
	if s := screenOf(&bytes.Buffer{}); s.colour || s.paint(red, "x") != "x" {
		t.Error("there are colours though there is no terminal")
	}
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a character device, as a terminal is
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	if !isTerminal(device) {
		t.Skip("the null device is no character device here")
	}
	for _, tt := range []struct {
		no, term string
		want     bool
	}{{"", "xterm", true}, {"1", "xterm", false}, {"", "dumb", false}} {
		t.Setenv("NO_COLOR", tt.no)
		t.Setenv("TERM", tt.term)
		if got := screenOf(device).colour; got != tt.want {
			t.Errorf("NO_COLOR=%q TERM=%q: colours %t", tt.no, tt.term, got)
		}
	}
}

func TestPaintedTable(t *testing.T) {
	tab := &table{head: []string{"A", "STATE", "B"}, style: func(column int, cell string) string {
		if column == 1 {
			return stateStyle(cell)
		}
		return ""
	}}
	tab.add("a", "ready", "b")
	tab.add("a", "parked", "b")
	var plain, painted bytes.Buffer
	if err := tab.print(&plain, screen{width: 80}); err != nil {
		t.Fatal(err)
	}
	if err := tab.print(&painted, screen{width: 80, colour: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(painted.String(), "\x1b[32mready\x1b[0m   b") || !strings.Contains(painted.String(), "\x1b[31mparked\x1b[0m  b") {
		t.Errorf("the states are not painted, or the columns not aligned: %q", painted.String())
	}
	for _, code := range []string{"\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[0m"} {
		painted = *bytes.NewBuffer(bytes.ReplaceAll(painted.Bytes(), []byte(code), nil))
	}
	if painted.String() != plain.String() {
		t.Errorf("colours change the text:\n%s\n%s", &plain, &painted)
	}
}

func TestHarmless(t *testing.T) {
	if got := harmless("a\x1b[2Jb\n\tc\rd\u202ee"); got != "a [2Jb\n\tc d e" {
		t.Errorf("got %q", got)
	}
}
