package configsource

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

func osLookup(name string) (string, bool) { return os.LookupEnv(name) }

// output keeps the head and the tail of what a command writes, at most max bytes together, and takes the
// rest too, so that the command never waits.
type output struct {
	headMax, tailMax int

	mu    sync.Mutex
	head  []byte
	tail  []byte // at most 2*tailMax, so that most writes only append
	total int64
}

func newOutput(max int) *output {
	head := max * 2 / 5
	return &output{headMax: head, tailMax: max - head}
}

func (o *output) readFrom(r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		o.add(buf[:n])
		if err != nil {
			return
		}
	}
}

func (o *output) add(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total += int64(len(b))
	n := min(o.headMax-len(o.head), len(b))
	o.head = append(o.head, b[:n]...)
	b = b[n:]
	if len(b) > o.tailMax {
		b = b[len(b)-o.tailMax:]
	}
	if len(o.tail)+len(b) > 2*o.tailMax {
		n := copy(o.tail, o.tail[len(o.tail)-o.tailMax:])
		o.tail = o.tail[:n]
	}
	o.tail = append(o.tail, b...)
}

// text is what was kept as UTF-8, with a line that says how much is missing where something is.
func (o *output) text() (text string, cut bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	tail := o.tail
	if len(tail) > o.tailMax {
		tail = tail[len(tail)-o.tailMax:]
	}
	missing := o.total - int64(len(o.head)+len(tail))
	if missing == 0 {
		return strings.ToValidUTF8(string(o.head)+string(tail), "\ufffd"), false
	}
	return strings.ToValidUTF8(string(o.head), "\ufffd") + fmt.Sprintf("\n[%d bytes cut]\n", missing) + strings.ToValidUTF8(string(tail), "\ufffd"), true
}
