package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// widest is how much of a cell is shown, so that one long signature does not push the other columns away.
const widest = 56

// A table is printed with its columns aligned; its last column is as wide as it is.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) {
	for i, c := range cells {
		c = strings.Join(strings.Fields(c), " ")
		if r := []rune(c); len(r) > widest && i < len(cells)-1 {
			c = string(r[:widest-3]) + "..."
		}
		cells[i] = c
	}
	t.rows = append(t.rows, cells)
}

func (t *table) print(w io.Writer) error {
	width := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	for _, row := range append([][]string{t.head}, t.rows...) {
		var b strings.Builder
		for i, c := range row {
			b.WriteString(c)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(c)+2))
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}
