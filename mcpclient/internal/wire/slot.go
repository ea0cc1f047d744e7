package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
)

// slotState is packed: there is one for each call.
type slotState struct {
	sent atomic.Bool

	mu      sync.Mutex
	dropped bool    // given up: nothing is written to the slot any more
	own     bool    // the caller makes the rounds of the call itself
	asks    bool    // the peer wants input before it gives the result
	num     int64   // id of the request it waits for; 0: none
	more    *[]byte // members of the params of a further round; nil: the first
}

// OwnRounds has a result that asks for input come back in Raw, with Asks, in place of the SDK going on by its
// own handlers. It is called before the request.
func (s *Slot) OwnRounds() { s.state.own = true }

// Asks reports whether Raw asks for input and is no result yet.
func (s *Slot) Asks() bool { return s.state.asks }

// NextRound readies the slot for the same request once more: with further members of its params, such as
// "inputResponses":{}, as JSON without line breaks. It still counts as sent.
func (s *Slot) NextRound(members []byte) {
	s.Raw, s.RPC, s.Bad = nil, nil, nil
	s.state.asks, s.state.more = false, &members
}

// rounds are the params with what a further round adds.
func (s *Slot) rounds(params []byte) []byte {
	if s == nil || s.state.more == nil || len(*s.state.more) == 0 {
		return params
	}
	at := bytes.IndexByte(params, '{') + 1
	if at == 0 {
		return slices.Concat([]byte("{"), *s.state.more, []byte("}"))
	}
	rest := bytes.TrimLeft(params[at:], " \t\r\n")
	comma := []byte(",")
	if len(rest) > 0 && rest[0] == '}' {
		comma = nil
	}
	return slices.Concat([]byte("{"), *s.state.more, comma, rest)
}

// Sent reports whether any byte of the request may have left us. While it is false the call has certainly
// not reached the peer.
func (s *Slot) Sent() bool { return s.state.sent.Load() || s.state.more != nil }

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

// ask hands over a reply that asks for input.
func (s *Slot) ask(raw json.RawMessage) {
	s.fill(raw, nil, nil)
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	s.state.asks = !s.state.dropped
}

// drop gives the slot up and says which request it waited for.
func (s *Slot) drop() (num int64) {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	s.state.dropped = true
	num, s.state.num = s.state.num, 0
	return num
}
