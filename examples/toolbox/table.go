package main

import (
	"io"
	"strings"
	"unicode/utf8"
)

// A table is printed with its columns aligned, as wide as the screen at most: its last column is wrapped,
// and the others are cut in the middle.
type table struct {
	head  []string
	style func(column int, cell string) string // of a cell; nil: none
	rows  []row
}

// row has its last cell in parts, each of which begins a line.
type row struct {
	cells []string // without the last
	end   []string
}

const (
	between  = 2  // spaces between columns
	leastEnd = 24 // runes that the last column keeps while others are cut; on a narrow screen a third of it
	leastID  = 12 // runes of the first column, which names the row, that are kept while others have more than
	leastMid = 4
)

func (t *table) add(cells ...string) {
	last := len(cells) - 1
	t.addParts(cells[:last], cells[last])
}

func (t *table) addParts(cells []string, end ...string) {
	t.rows = append(t.rows, row{tidied(cells), tidied(end)})
}

func tidied(cells []string) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = strings.Join(words(c), " ")
	}
	return out
}

// all are the rows and the head.
func (t *table) all() []row {
	last := len(t.head) - 1
	return append([]row{{t.head[:last], t.head[last:]}}, t.rows...)
}

// widths fits the columns into so many runes: the widest is cut first, the name of a row last.
func (t *table) widths(screen int) []int {
	last := len(t.head) - 1
	width := make([]int, last+1)
	wide := func(i int, cell string) { width[i] = max(width[i], min(utf8.RuneCountInString(cell), screen)) }
	for _, r := range t.all() {
		for i, c := range r.cells {
			wide(i, c)
		}
		for _, c := range r.end {
			wide(last, c)
		}
	}
	room := screen - between*last
	end := min(width[last], leastEnd, screen/3)
	sum := 0
	for _, w := range width[:last] {
		sum += w
	}
	for sum > room-end {
		widest := 0
		for i, w := range width[:last] {
			if w > width[widest] || widest == 0 && width[0] <= leastID && w > leastMid {
				widest = i
			}
		}
		if width[widest] <= 1 {
			break
		}
		width[widest]--
		sum--
	}
	width[last] = max(min(width[last], room-sum), 1)
	return width
}

func (t *table) print(w io.Writer, s screen) error {
	width := t.widths(s.width)
	var b strings.Builder
	for n, r := range t.all() {
		style := func(i int, cell string) string {
			switch {
			case n == 0:
				return bold
			case t.style != nil:
				return t.style(i, cell)
			}
			return ""
		}
		r.print(&b, s, width, style)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// print writes a line, and more where the last cell has parts or is wrapped.
func (r row) print(b *strings.Builder, s screen, width []int, style func(column int, cell string) string) {
	last, indent := len(r.cells), 0
	var line strings.Builder
	for i, c := range r.cells {
		cut := middle(c, width[i])
		line.WriteString(s.paint(style(i, c), cut))
		line.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(cut)+between))
		indent += width[i] + between
	}
	for i, part := range r.end {
		for j, text := range wrap(part, width[last], true) {
			if i+j > 0 {
				line.WriteString(strings.Repeat(" ", indent))
			}
			line.WriteString(s.paint(style(last, part), text))
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
			line.Reset()
		}
	}
}
