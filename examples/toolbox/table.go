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
	rows  [][]string
}

const (
	between  = 2  // spaces between columns
	leastEnd = 24 // runes that the last column keeps while others are cut
)

func (t *table) add(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.Join(words(c), " ")
	}
	t.rows = append(t.rows, cells)
}

// widths fits the columns into so many runes: the widest is cut first.
func (t *table) widths(screen int) []int {
	width := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, c := range row {
			width[i] = max(width[i], min(utf8.RuneCountInString(c), screen))
		}
	}
	last := len(width) - 1
	room := screen - between*last
	end := min(width[last], leastEnd)
	sum := 0
	for _, w := range width[:last] {
		sum += w
	}
	for sum > room-end {
		widest := 0
		for i, w := range width[:last] {
			if w > width[widest] {
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
	for n, row := range append([][]string{t.head}, t.rows...) {
		style := func(i int) string {
			switch {
			case n == 0:
				return bold
			case t.style != nil:
				return t.style(i, row[i])
			}
			return ""
		}
		t.row(&b, s, width, row, style)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// row writes one row: a line, and more where the last cell is wrapped.
func (t *table) row(b *strings.Builder, s screen, width []int, row []string, style func(column int) string) {
	last, indent := len(row)-1, 0
	var line strings.Builder
	for i, c := range row[:last] {
		c = middle(c, width[i])
		line.WriteString(s.paint(style(i), c))
		line.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(c)+between))
		indent += width[i] + between
	}
	for i, part := range wrap(row[last], width[last]) {
		if i > 0 {
			line.WriteString(strings.Repeat(" ", indent))
		}
		line.WriteString(s.paint(style(last), part))
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		line.Reset()
	}
}
