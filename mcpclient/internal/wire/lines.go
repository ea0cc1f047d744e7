package wire

import (
	"bytes"
	"io"
)

const (
	firstBuffer  = 4 << 10
	shrinkWindow = 256  // lines after which a buffer that was not needed is given back
	headSize     = 4096 // of an over-long line, to see which call it answers
)

// lineReader reads lines under a cap into one buffer, which grows as it is needed and is given back when
// it was not needed for a while. It starts no goroutine.
type lineReader struct {
	r     io.Reader
	max   int    // longest line
	buf   []byte // all of its capacity
	start int    // first byte not yet given out
	seen  int    // no line end lies in buf[start:seen]
	end   int    // end of what was read
	skip  bool   // in the rest of an over-long line
	lines int    // given out in this window
	peak  int    // most bytes that one of them needed
	torn  bool   // the line given out last had no end: the stream broke off
	err   error
}

var bom = []byte("\xEF\xBB\xBF")

// next gives the next line that is not blank, without spaces around it and without a byte order mark. It
// is valid until the next call. What is left without a line end at the end of the stream is a line too.
// long says that it is only the head of a line over the cap, given as soon as that is seen.
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
			rest := tidy(l.buf[l.start:l.end])
			l.start, l.seen, l.end = 0, 0, 0
			if len(rest) > 0 && !l.skip {
				l.torn = true
				return rest, false, nil
			}
			return nil, false, l.err
		}
		l.makeRoom()
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		l.err = err
	}
}

func tidy(line []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), bom))
}

// cutLine takes a whole line out of the buffer, or the head of one that is too long.
func (l *lineReader) cutLine() (line []byte, found, long bool) {
	for {
		i := bytes.IndexByte(l.buf[l.seen:l.end], '\n')
		if i < 0 {
			l.seen = l.end
			n := l.end - l.start
			head := l.buf[l.start : l.start+min(n, headSize)]
			over := !l.skip && n > l.max
			l.skip = l.skip || over
			if l.skip {
				l.start, l.seen, l.end = 0, 0, 0
			}
			return head, over, over
		}
		line := l.buf[l.start : l.seen+i]
		l.start = l.seen + i + 1
		l.seen = l.start
		l.note(len(line) + 1)
		switch {
		case l.skip:
			l.skip = false
		case len(line) > l.max:
			return line[:min(len(line), headSize)], true, true
		default:
			return line, true, false
		}
	}
}

func (l *lineReader) note(n int) {
	l.lines++
	l.peak = max(l.peak, n)
}

// makeRoom leaves free space at the end of the buffer.
func (l *lineReader) makeRoom() {
	if l.buf == nil {
		l.buf = make([]byte, firstBuffer)
	}
	if l.start == l.end {
		l.start, l.seen, l.end = 0, 0, 0
		if l.lines >= shrinkWindow {
			if len(l.buf) > firstBuffer && l.peak <= len(l.buf)/4 {
				l.buf = make([]byte, max(firstBuffer, len(l.buf)/4))
			}
			l.lines, l.peak = 0, 0
		}
		return
	}
	if l.end < len(l.buf) {
		return
	}
	if l.start >= len(l.buf)/2 {
		n := copy(l.buf, l.buf[l.start:l.end])
		l.seen, l.start, l.end = l.seen-l.start, 0, n
		return
	}
	bigger := make([]byte, 2*len(l.buf))
	n := copy(bigger, l.buf[l.start:l.end])
	l.buf, l.seen, l.start, l.end = bigger, l.seen-l.start, 0, n
}
