package wire

import (
	"bytes"
	"io"
	"os"
	"sync"
	"syscall"
	"weak"

	"github.com/toolsource/toolsource/internal/procgroup"
)

const (
	smallPage = 4 << 10
	largePage = 64 << 10 // as much as a pipe holds
	headSize  = 4096     // of an over-long line, to see which call it answers
)

type page struct{ b []byte }

// largePages are shared by all connections.
var largePages = sync.Pool{New: func() any { return &page{make([]byte, largePage)} }}

// lineReader reads lines under a cap, page by page. A line that lies in one page is given out in it; one
// that does not is put together in a buffer of its own. Where the system can say when a pipe has something
// to read, no page is held while there is nothing. It starts no goroutine.
type lineReader struct {
	r   io.Reader
	max int // longest line

	raw     syscall.RawConn // of the pipe; nil: r blocks, and has a page while it does
	attempt func(fd uintptr) bool

	page  *page              // nil: none is needed
	spare weak.Pointer[page] // the small page, which the garbage collector may have while it is not needed
	start int                // first byte of it that is not yet given out
	seen  int                // no line end lies in the page's bytes from start to seen
	end   int                // end of what was read
	full  []*page            // the beginning of the line, all of each page
	first int                // where the line begins in the first of them
	held  int                // bytes of the line in them
	skip  bool               // in the rest of an over-long line
	torn  bool               // the line given out last had no end: the stream broke off
	own   bool               // the line given out last is the receiver's to keep
	err   error
}

var bom = []byte("\xEF\xBB\xBF")

// reads sets the pipe to read.
func (l *lineReader) reads(f *os.File) {
	l.r = f
	if procgroup.CanTry {
		if raw, err := f.SyscallConn(); err == nil {
			l.raw, l.attempt = raw, l.try
		}
	}
}

// next gives the next line that is not blank, without spaces around it and without a byte order mark. It
// is valid until the next call, or for good if own is set. What is left without a line end at the end of the
// stream is a line too. long says that it is only the head of a line over the cap, given as soon as that is
// seen.
func (l *lineReader) next() (line []byte, long bool, err error) {
	for {
		line, found, long := l.cutLine()
		if found {
			if line = tidy(line); len(line) > 0 || long {
				return line, long, nil
			}
			continue
		}
		if l.err != nil {
			rest := tidy(l.join(l.end))
			l.start, l.seen, l.end = 0, 0, 0
			if len(rest) > 0 && !l.skip {
				l.torn = true
				return rest, false, nil
			}
			l.rest()
			return nil, false, l.err
		}
		l.fill()
	}
}

func tidy(line []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), bom))
}

// cutLine takes a whole line out of what was read, or the head of one that is too long.
func (l *lineReader) cutLine() (line []byte, found, long bool) {
	for l.page != nil {
		i := bytes.IndexByte(l.page.b[l.seen:l.end], '\n')
		if i < 0 {
			l.seen = l.end
			over := !l.skip && l.held+l.end-l.start > l.max
			if over {
				line = l.head(l.end)
				l.skip = true
			}
			if l.skip {
				l.drop()
				l.start, l.seen, l.end = 0, 0, 0
			}
			return line, over, over
		}
		at := l.seen + i
		switch {
		case l.skip:
			l.skip = false
			l.start, l.seen = at+1, at+1
			continue
		case l.held+at-l.start > l.max:
			line, long = l.head(at), true
			l.drop()
		default:
			line = l.join(at)
		}
		l.start, l.seen = at+1, at+1
		return line, true, long
	}
	return nil, false, false
}

// join is the line up to the end of its last page.
func (l *lineReader) join(end int) []byte {
	if l.own = len(l.full) > 0; l.own {
		line := l.collect(make([]byte, 0, l.held+end-l.start), end)
		l.drop()
		return line
	}
	if l.page == nil {
		return nil
	}
	return l.page.b[l.start:end]
}

// head is the beginning of the line up to the end of its last page.
func (l *lineReader) head(end int) []byte {
	l.own = true
	return l.collect(make([]byte, 0, headSize), end)
}

// collect copies as much of the line as there is room for.
func (l *lineReader) collect(to []byte, end int) []byte {
	add := func(b []byte) { to = append(to, b[:min(len(b), cap(to)-len(to))]...) }
	for i, p := range l.full {
		if i == 0 {
			add(p.b[l.first:])
		} else {
			add(p.b)
		}
	}
	if l.page != nil {
		add(l.page.b[l.start:end])
	}
	return to
}

// drop gives back the pages that are full.
func (l *lineReader) drop() {
	for _, p := range l.full {
		giveBack(p)
	}
	l.full, l.held = nil, 0
}

// fill reads once.
func (l *lineReader) fill() {
	if l.raw != nil {
		if err := l.raw.Read(l.attempt); err != nil {
			l.err = err
		}
		return
	}
	l.rest()
	l.makeRoom()
	var n int
	n, l.err = l.r.Read(l.page.b[l.end:])
	l.end += n
}

// try reads what there is. It is false if that is nothing.
func (l *lineReader) try(fd uintptr) bool {
	l.makeRoom()
	n, err := procgroup.TryRead(fd, l.page.b[l.end:])
	l.end += n
	l.err = err
	if n == 0 && err == nil {
		l.rest()
		return false
	}
	return true
}

// rest gives the page back if nothing lies in it.
func (l *lineReader) rest() {
	if l.page != nil && l.start == l.end {
		giveBack(l.page)
		l.page, l.start, l.seen, l.end = nil, 0, 0, 0
	}
}

// makeRoom leaves free space at the end of the page. From a small page that is full what is left of it goes
// into a large one: there is much to read. A line that fills a large one goes on in the next.
func (l *lineReader) makeRoom() {
	if l.page == nil {
		l.page = l.takePage()
	}
	b := l.page.b
	switch {
	case l.start == l.end:
		l.start, l.seen, l.end = 0, 0, 0
	case l.end < len(b):
	case l.start >= len(b)/2 || len(b) < largePage:
		if len(b) < largePage {
			l.page = largePages.Get().(*page)
		}
		l.end = copy(l.page.b, b[l.start:l.end])
		l.seen, l.start = l.seen-l.start, 0
	default:
		if len(l.full) == 0 {
			l.first = l.start
		}
		l.full = append(l.full, l.page)
		l.held += l.end - l.start
		l.page, l.start, l.seen, l.end = l.takePage(), 0, 0, 0
	}
}

func (l *lineReader) takePage() *page {
	if len(l.full) > 0 {
		return largePages.Get().(*page)
	}
	p := l.spare.Value()
	if p == nil {
		p = &page{make([]byte, smallPage)}
		l.spare = weak.Make(p)
	}
	return p
}

// giveBack keeps the large ones for whoever needs one next.
func giveBack(p *page) {
	if len(p.b) == largePage {
		largePages.Put(p)
	}
}
