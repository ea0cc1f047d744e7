//go:build unix

package wire

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/toolsource/toolsource"
)

// naiveLines is the specification of lineReader.
func naiveLines(in []byte, max int) (lines []string) {
	parts := bytes.Split(in, []byte("\n"))
	for i, p := range parts {
		if len(p) > max {
			lines = append(lines, "LONG")
			continue
		}
		if p = tidy(p); len(p) > 0 {
			lines = append(lines, string(p))
		}
		_ = i
	}
	return lines
}

func readLines(t *testing.T, r io.Reader, max int) (lines []string) {
	l := lineReader{r: r, max: max}
	for {
		line, long, err := l.next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			return lines
		}
		if long {
			lines = append(lines, "LONG")
		} else {
			lines = append(lines, string(line))
		}
		if l.held > max+largePage {
			t.Fatalf("%d bytes are held of lines of %d", l.held, max)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\n  c  \n\xEF\xBB\xBF{}\nlast"), uint8(3))
	f.Add([]byte(strings.Repeat("x", 300)+"\ny\n"), uint8(100))
	f.Fuzz(func(t *testing.T, in []byte, max uint8) {
		want := naiveLines(in, int(max))
		for _, r := range []io.Reader{bytes.NewReader(in), iotest.OneByteReader(bytes.NewReader(in)), iotest.DataErrReader(bytes.NewReader(in))} {
			got := readLines(t, r, int(max))
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Fatalf("%q, max %d: got %q, want %q", in, max, got, want)
			}
		}
	})
}

// A line of any length is put together in a buffer of just its size, and the next small one is read into a
// small page again.
func TestLineBufferGrowsAndShrinks(t *testing.T) {
	pr, pw := io.Pipe()
	l := lineReader{r: pr, max: 1 << 20}
	put := func(s string) []byte {
		t.Helper()
		go func() { _, _ = io.WriteString(pw, s+"\n") }()
		line, _, err := l.next()
		if err != nil || string(line) != s {
			t.Fatal(err)
		}
		return line
	}
	for range 3 {
		put("a")
		if l.own || len(l.page.b) != smallPage {
			t.Fatalf("own %v, a page of %d", l.own, len(l.page.b))
		}
		line := put(strings.Repeat("b", 1<<20))
		if !l.own || cap(line) > 1<<20+largePage {
			t.Fatalf("own %v, %d bytes for a line of %d", l.own, cap(line), len(line))
		}
		if l.held != 0 || len(l.full) != 0 {
			t.Fatalf("still holds %d bytes in %d pages", l.held, len(l.full))
		}
	}
}

// Lines of all lengths around a page's, after others that lie before them in the page, come out whole.
func TestLinesAcrossPages(t *testing.T) {
	for _, before := range []int{0, 1, 2000, smallPage - 1, largePage / 2} {
		for _, size := range []int{smallPage - 1, smallPage, smallPage + 1, largePage - 1, largePage, largePage + 1, 2*largePage - 1, 2 * largePage, 3 * largePage} {
			a, b := strings.Repeat("a", before), strings.Repeat("b", size)
			for _, r := range []io.Reader{strings.NewReader(a + "\n" + b + "\nc"), iotest.HalfReader(strings.NewReader(a + "\n" + b + "\nc"))} {
				got := strings.Join(readLines(t, r, 1<<20), "\n")
				if want := strings.TrimPrefix(a+"\n"+b+"\nc", "\n"); got != want {
					t.Errorf("%d before %d: %d bytes instead of %d", before, size, len(got), len(want))
				}
			}
		}
	}
}

// While a pipe has nothing to read, its reader has no page, whatever it read before, or what of a line.
func TestIdleReaderHoldsNoPage(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	l := lineReader{max: 1 << 20}
	l.reads(r)
	for _, size := range []int{10, 100 << 10, 20} {
		want := strings.Repeat("x", size)
		go func() { _, _ = io.WriteString(w, want+"\n") }()
		if line, _, err := l.next(); err != nil || string(line) != want {
			t.Fatal(len(line), err)
		}
		_ = r.SetReadDeadline(time.Now().Add(time.Millisecond))
		l.fill()
		if !errors.Is(l.err, os.ErrDeadlineExceeded) || l.page != nil || len(l.full) != 0 {
			t.Fatalf("after %d bytes: %v, a page is held: %v", size, l.err, l.page != nil)
		}
		_ = r.SetReadDeadline(time.Time{})
		l.err = nil
	}
	_, _ = io.WriteString(w, strings.Repeat("y", smallPage)) // a page full, and then the end
	_ = w.Close()
	if line, _, err := l.next(); err != nil || len(line) != smallPage || !l.torn {
		t.Fatal(len(line), err, l.torn)
	}
	if _, _, err := l.next(); !errors.Is(err, io.EOF) || l.page != nil {
		t.Fatal(err)
	}
}

// naiveEvents reads events by the letter of the specification.
func naiveEvents(in string) (events []string) {
	in = strings.TrimPrefix(in, string(bom))
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(in, "\n")
	var data []string
	name := ""
	for _, line := range lines[:len(lines)-1] { // what no line end follows is not a line yet
		if line == "" {
			if d := strings.Join(data, "\n"); d != "" {
				events = append(events, name+"|"+d)
			}
			data, name = nil, ""
			continue
		}
		k, v, _ := strings.Cut(line, ":")
		v = strings.TrimPrefix(v, " ")
		switch k {
		case "data":
			data = append(data, v)
		case "event":
			name = v
		}
	}
	return events
}

func readEvents(t *testing.T, r io.Reader, max int) (events []string) {
	e := &eventReader{r: bufioReader(), max: max}
	e.reset(r)
	for {
		ev, err := e.next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			return events
		}
		if len(ev.data) > 0 {
			events = append(events, ev.name+"|"+string(ev.data))
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("\xEF\xBB\xBF: hi\r\ndata: a\r\ndata:b\rdata\n\nevent: x\ndata: c\n\nid: 1\nretry: 5\n\ndata: cut")
	f.Add("data: a\r\n\r\ndata: b\r\rdata: c\n\n")
	f.Fuzz(func(t *testing.T, in string) {
		want := naiveEvents(in)
		for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in))} {
			if got := readEvents(t, r, 1<<20); strings.Join(got, "\x00") != strings.Join(want, "\x00") {
				t.Fatalf("%q: got %q, want %q", in, got, want)
			}
		}
	})
}

func TestEventsOverTheCap(t *testing.T) {
	e := &eventReader{r: bufioReader(), max: 5000}
	for _, tt := range []struct {
		in, why string
	}{
		{"data: " + strings.Repeat("x", 1<<20) + "\n\n", "one line"},
		{strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 1000) + "\n", "many lines"},
		{"data: " + strings.Repeat("x", 4990) + "\ndata: " + strings.Repeat("x", 4990) + "\n\n", "two lines"},
	} {
		e.reset(strings.NewReader(tt.in + "data: next\n\n"))
		ev, err := e.next()
		if err != nil || !ev.long || !bytes.HasPrefix(ev.data, []byte("xxx")) {
			t.Errorf("%s: %v, long %v, %d bytes", tt.why, err, ev.long, len(ev.data))
		}
		if cap(e.data)+cap(e.line) > 64<<10 {
			t.Errorf("%s: %d bytes are held", tt.why, cap(e.data)+cap(e.line))
		}
		if ev, err = e.next(); err != nil || ev.long || string(ev.data) != "next" {
			t.Errorf("%s: the next event is %q, %v", tt.why, ev.data, err)
		}
	}
}

func TestReadPieces(t *testing.T) {
	const limit = 3 << 20
	for _, size := range []int{0, 1, 100, 32<<10 - 1, 32 << 10, 32<<10 + 1, 160 << 10, 160<<10 + 1, 1 << 20, limit, limit + 1} {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(i * 7)
		}
		for name, r := range map[string]io.Reader{
			"whole": bytes.NewReader(want), "halves": iotest.HalfReader(bytes.NewReader(want)),
			"end with the data": iotest.DataErrReader(bytes.NewReader(want)), "broken": io.MultiReader(bytes.NewReader(want), iotest.ErrReader(io.ErrClosedPipe)),
		} {
			var room bodyPiece
			got, ours, err := readPieces(r, room[:], limit)
			switch {
			case size > limit:
				if !errors.Is(err, toolsource.ErrProtocol) {
					t.Errorf("%d, %s: %v", size, name, err)
				}
			case name == "broken":
				if !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("%d, %s: %v", size, name, err)
				}
			case err != nil || !bytes.Equal(got, want):
				t.Errorf("%d, %s: %d bytes, %v", size, name, len(got), err)
			case size > 0 && ours == (&got[0] == &room[0]):
				t.Errorf("%d, %s: ours is %v", size, name, ours)
			}
		}
	}
}
