package wire

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolsource/toolsource"
)

// lastAnswers is how long the calls in the air may still get answers of their own after one of them has
// learnt that the session is lost. They are most likely refused too, and only their own answer says so.
const lastAnswers = 100 * time.Millisecond

// parting is what a connection keeps for its end. A call that is refused because the session is lost gets
// its error from Read, before the error that ends Read: so it can neither come after the connection's end,
// which says less, nor before it, when a second attempt would meet the same session. Guarded by smu.
type parting struct {
	lost     error // the server says that the session is over; the connection is about to end
	asking   int   // calls in the air
	refusals []jsonrpc.Message
}

// asks counts a call in. Once the session is lost nothing is sent any more.
func (b *httpBase) asks() error {
	b.smu.Lock()
	defer b.smu.Unlock()
	b.parting.asking++
	if b.parting.lost != nil {
		return fmt.Errorf("%w: %w", toolsource.ErrNotReached, b.parting.lost)
	}
	return nil
}

// asked counts a call out and says what Write is to return for it. The last one ends a lost connection.
func (b *httpBase) asked(ctx context.Context, out outgoing, err error) error {
	tapped := out.call.slot != nil && err == error(out.call.slot)
	if err != nil && !tapped && !b.abandon(out) {
		err = nil // answered on another way, or given up
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	b.smu.Lock()
	p := &b.parting
	p.asking--
	lost, last := p.lost, p.asking == 0
	if lost != nil && err != nil && !tapped && ctx.Err() == nil {
		p.refusals = append(p.refusals, &jsonrpc.Response{ID: out.call.id, Error: err})
		err = nil
	}
	b.smu.Unlock()
	if lost != nil && last {
		b.shut(lost)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	return reject(err)
}

// lose ends the connection as soon as no call is in the air, or after a moment.
func (b *httpBase) lose(cause error) {
	b.smu.Lock()
	first := b.parting.lost == nil
	if first {
		b.parting.lost = cause
	}
	idle := b.parting.asking == 0
	b.smu.Unlock()
	switch {
	case idle:
		b.shut(cause)
	case first:
		b.spawn(func() {
			pause(b.ctx, lastAnswers)
			b.shut(cause)
		})
	}
}

// lastWord is what Read still has to give out after the end; nil: nothing.
func (b *httpBase) lastWord() jsonrpc.Message {
	select {
	case msg := <-b.incoming:
		return msg
	default:
	}
	b.smu.Lock()
	defer b.smu.Unlock()
	if len(b.parting.refusals) == 0 {
		return nil
	}
	msg := b.parting.refusals[0]
	b.parting.refusals = b.parting.refusals[1:]
	return msg
}
