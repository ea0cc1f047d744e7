package tail

import (
	"bytes"
	"testing"
)

func TestTail(t *testing.T) {
	for _, step := range []int{0, 1, 3, 7, 8, 9, 16, 17, 40} {
		var all []byte
		tl := Tail{Max: 8}
		for i := range 50 {
			p := bytes.Repeat([]byte{byte(i)}, step)
			all = append(all, p...)
			tl.Add(p)
			if want := all[max(0, len(all)-8):]; !bytes.Equal(tl.Bytes(), want) {
				t.Fatalf("by %d: %v, want %v", step, tl.Bytes(), want)
			}
		}
		if len(tl.buf) > 16 {
			t.Errorf("by %d: %d bytes are held", step, len(tl.buf))
		}
	}
}
