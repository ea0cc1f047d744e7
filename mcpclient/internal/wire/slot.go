package wire

import "sync/atomic"

type slotState struct{ sent atomic.Bool }

// Sent reports whether any byte of the request may have left us. While it is false the call has certainly
// not reached the peer.
func (s *Slot) Sent() bool { return s.state.sent.Load() }
