// Package tail keeps the end of what is written.
package tail

// Tail keeps the last Max bytes that are added. It is for one goroutine at a time, and holds at most twice
// as much, so that most additions only append.
type Tail struct {
	Max int
	buf []byte
}

// Add adds p.
func (t *Tail) Add(p []byte) {
	if len(p) > t.Max {
		p = p[len(p)-t.Max:]
	}
	if len(t.buf)+len(p) > 2*t.Max {
		n := copy(t.buf, t.buf[len(t.buf)-t.Max:])
		t.buf = t.buf[:n]
	}
	t.buf = append(t.buf, p...)
}

// Bytes are the last Max bytes. They are the Tail's own, until the next Add.
func (t *Tail) Bytes() []byte {
	if len(t.buf) > t.Max {
		return t.buf[len(t.buf)-t.Max:]
	}
	return t.buf
}
