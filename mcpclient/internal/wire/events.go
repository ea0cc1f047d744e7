package wire

import (
	"bufio"
	"bytes"
	"io"
	"slices"
	"strconv"
	"time"
)

// event is one event of a text/event-stream. data is valid until the next one is read.
type event struct {
	name  string
	id    string // "" with hasID: the server took the id back
	hasID bool
	retry time.Duration // 0: not said
	data  []byte        // lines joined by \n; nil: none
	long  bool          // data is only the head of more than the cap allows
}

// eventReader reads events under a cap. Lines end with LF, CR or CRLF, comments and unknown fields are
// skipped, and an event that the end of the stream cuts off is dropped, as the specification wants it.
type eventReader struct {
	r      *bufio.Reader
	max    int
	data   []byte // the event's data is data[from:]
	from   int
	line   []byte
	begun  bool // past a byte order mark
	skipLF bool // the last line ended with CR
}

func (e *eventReader) reset(r io.Reader) {
	e.r.Reset(r)
	e.begun, e.skipLF = false, false
}

// next gives the next event that has any field.
func (e *eventReader) next() (event, error) {
	var ev event
	if cap(e.data) > cap(e.line) {
		e.data, e.line = e.line, e.data // the room is needed for lines
	}
	e.data, e.from = e.data[:0], 0
	lines, any := 0, false
	for {
		line, long, err := e.readLine()
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 && !long {
			if !any {
				continue
			}
			if lines > 0 {
				ev.data = e.data[e.from:]
			}
			return ev, nil
		}
		name, value := field(line)
		switch string(name) {
		case "data":
			any = true
			lines++
			size := len(e.data) - e.from + len(value)
			if ev.long = ev.long || long || size > e.max; ev.long {
				e.addHead(value, lines > 1)
				continue
			}
			if lines == 1 { // mostly there is only one: it stays where it is
				e.data, e.line = e.line, e.data
				e.from = len(e.data) - len(value)
				continue
			}
			if e.from > 0 {
				e.data, e.from = append(e.data[:0], e.data[e.from:]...), 0
			}
			e.data = append(append(e.data, '\n'), value...)
		case "event":
			any, ev.name = true, string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				any, ev.id, ev.hasID = true, string(value), true
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				any, ev.retry = true, time.Duration(ms)*time.Millisecond
			}
		}
	}
}

// addHead keeps the beginning of data that is too long.
func (e *eventReader) addHead(value []byte, more bool) {
	if e.from > 0 {
		e.data, e.from = append(e.data[:0], e.data[e.from:]...), 0
	}
	value = value[:min(len(value), headSize)]
	if len(e.data) >= headSize {
		e.data, value = e.data[:headSize], nil
	}
	if more {
		e.data = append(e.data, '\n')
	}
	e.data = append(e.data, value...)
}

func field(line []byte) (name, value []byte) {
	name, value, found := bytes.Cut(line, []byte(":"))
	if !found {
		return line, nil
	}
	return name, bytes.TrimPrefix(value, []byte(" "))
}

// readLine gives one line without its end, or the head of one that is longer than the cap.
func (e *eventReader) readLine() (line []byte, long bool, err error) {
	e.line = e.line[:0]
	for {
		if _, err := e.r.Peek(1); err != nil {
			return nil, false, err
		}
		chunk, _ := e.r.Peek(e.r.Buffered())
		if e.skipLF {
			e.skipLF = false
			if chunk[0] == '\n' {
				_, _ = e.r.Discard(1)
				continue
			}
		}
		end := bytes.IndexAny(chunk, "\r\n")
		piece := chunk
		if end >= 0 {
			piece = chunk[:end]
		}
		if long = long || len(e.line)+len(piece) > e.max+len("data: "); !long {
			if room := cap(e.line) - len(e.line); room < len(piece) {
				e.line = slices.Grow(e.line, max(len(piece), cap(e.line))) // twice as much: it may be a long line
			}
			e.line = append(e.line, piece...)
		} else if len(e.line) < headSize {
			e.line = append(e.line, piece[:min(len(piece), headSize)]...)
		}
		if end < 0 {
			_, _ = e.r.Discard(len(chunk))
			continue
		}
		e.skipLF = chunk[end] == '\r'
		_, _ = e.r.Discard(end + 1)
		if !e.begun {
			e.begun = true
			return bytes.TrimPrefix(e.line, bom), long, nil
		}
		return e.line, long, nil
	}
}
