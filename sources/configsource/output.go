package configsource

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/toolsource/toolsource/internal/tail"
)

func osLookup(name string) (string, bool) { return os.LookupEnv(name) }

// output keeps the head and the tail of what a command writes, at most max bytes together, and takes the
// rest too, so that the command never waits.
type output struct {
	headMax, tailMax int

	mu    sync.Mutex
	head  []byte
	tail  tail.Tail
	total int64
}

// newOutput keeps also at least the last bytes that an error may need.
func newOutput(max, last int) *output {
	o := &output{headMax: max * 2 / 5}
	o.tailMax = max - o.headMax
	o.tail.Max = o.tailMax
	if last > o.tailMax {
		o.tail.Max = last
	}
	return o
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
	o.tail.Add(b[n:])
}

// text is the output as UTF-8, of at most max bytes. Where it is longer the middle is missing, and a line
// says how much.
func (o *output) text() (text string, cut bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	head, rest := o.head, o.tail.Bytes()
	missing := o.total - int64(len(head)+len(rest))
	if missing == 0 {
		whole := valid(string(head) + string(rest))
		if len(whole) <= o.headMax+o.tailMax {
			return whole, false
		}
		before, after := prefix(whole, o.headMax), suffix(whole, o.tailMax)
		return joined(before, int64(len(whole)-len(before)-len(after)), after), true
	}
	before, after := unbroken(string(head)), suffix("?"+string(rest), o.tailMax)
	missing = o.total - int64(len(before)+len(after))
	return joined(prefix(valid(before), o.headMax), missing, suffix(valid(after), o.tailMax)), true
}

func joined(head string, missing int64, tail string) string {
	return fmt.Sprintf("%s\n[%d bytes cut]\n%s", head, missing, tail)
}

// last is what was written last, with more than is to be shown, so that redaction sees secrets whole.
func (o *output) last(n int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	rest := o.tail.Bytes()
	if o.total == int64(len(o.head)+len(rest)) {
		rest = append(o.head[:len(o.head):len(o.head)], rest...)
	}
	return string(rest[max(0, len(rest)-n):])
}

func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// unbroken is s without the beginning of a character that it ends with.
func unbroken(s string) string {
	for i := len(s) - 1; i >= 0 && i > len(s)-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(s[i:]) {
				return s[:i]
			}
			break
		}
	}
	return s
}

// prefix is at most the first n bytes of s, whole characters only.
func prefix(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := n; i > 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:n] // no characters at all
}

// suffix is at most the last n bytes of s, whole characters only.
func suffix(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := len(s) - n; i < len(s) && i < len(s)-n+utf8.UTFMax; i++ {
		if utf8.RuneStart(s[i]) {
			return s[i:]
		}
	}
	return s[len(s)-n:]
}
