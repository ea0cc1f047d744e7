package wire

import (
	"encoding/json"
	"sync"
	"sync/atomic"
)

type slotState struct {
	sent atomic.Bool

	mu      sync.Mutex
	num     int64 // id of the request it waits for; 0: none
	dropped bool  // given up: nothing is written to the slot any more
}

// Sent reports whether any byte of the request may have left us. While it is false the call has certainly
// not reached the peer.
func (s *Slot) Sent() bool { return s.state.sent.Load() }

func (s *Slot) setSent(v bool) {
	if s != nil {
		s.state.sent.Store(v)
	}
}

// begin ties the slot to a request. It is false while another one is under way with it, and once it was
// given up.
func (s *Slot) begin(num int64) bool {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	if s.state.num != 0 || s.state.dropped {
		return false
	}
	s.state.num = num
	return true
}

// unbind unties the slot from its request, so that the next round of the same call may use it.
func (s *Slot) unbind() {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	s.state.num = 0
}

// fill hands the reply over, unless the slot was given up.
func (s *Slot) fill(raw json.RawMessage, rpc *RPCError, bad error) {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	s.state.num = 0
	if !s.state.dropped {
		s.Raw, s.RPC, s.Bad = raw, rpc, bad
	}
}

// drop gives the slot up and says which request it waited for.
func (s *Slot) drop() (num int64) {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	s.state.dropped = true
	num, s.state.num = s.state.num, 0
	return num
}
