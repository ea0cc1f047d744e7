package wire

import (
	"math/bits"
	"strings"
	"sync/atomic"
)

// noise counts what a peer sent that is no message, and logs the first few and then ever rarer ones.
type noise struct{ count atomic.Int64 }

const (
	noiseAlways = 10   // so many are logged one by one, then every power of two
	noiseLook   = 4096 // bytes that are looked at for secrets
	noiseShow   = 200  // bytes that are shown
)

func (n *noise) add(o *Options, text []byte, why error) {
	count := n.count.Add(1)
	if count > noiseAlways && bits.OnesCount64(uint64(count)) != 1 {
		return
	}
	s := strings.ToValidUTF8(string(text[:min(len(text), noiseLook)]), "\uFFFD")
	if o.Redact != nil {
		s = o.Redact(s)
	}
	o.Logger.Warn("skipped what is no MCP message", "text", cut(s, noiseShow), "why", why, "bytes", len(text), "count", count)
}
