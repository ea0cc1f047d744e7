package mcpclient

import (
	"context"
	"maps"
	"sync"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// clientName is what the SDK's clients differ in.
type clientName struct {
	name, version string
	offers        offer // what they declare; log is not declared
}

// sharedClients gives servers whose programs call themselves the same one client of the SDK, as long as any
// of them has it: a client weighs more than all that a Server keeps, and holds nothing that one session could
// see of another. It is a table like that of package unique, and no state of anybody's.
var sharedClients = struct {
	mu   sync.Mutex
	made map[clientName]weak.Pointer[mcp.Client]
}{made: map[clientName]weak.Pointer[mcp.Client]{}}

func sdkClient(o *Options, offers offer) *mcp.Client {
	n := clientName{o.ClientName, o.ClientVersion, offers & asks}
	if n.name == "" {
		n.name = "toolsource"
	}
	if n.version == "" {
		n.version = "0"
	}
	t := &sharedClients
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.made[n].Value(); c != nil {
		return c
	}
	maps.DeleteFunc(t.made, func(_ clientName, p weak.Pointer[mcp.Client]) bool { return p.Value() == nil })
	c := newSDKClient(n)
	t.made[n] = weak.Make(c)
	return c
}

// newSDKClient makes a client that only declares what hosts answer: the answers go around the SDK, so that
// no handler of a client belongs to one session.
func newSDKClient(n clientName) *mcp.Client {
	c := mcp.NewClient(&mcp.Implementation{Name: n.name, Version: n.version}, &mcp.ClientOptions{
		Capabilities: capabilitiesOf(n.offers),
		// that there is a handler makes the SDK subscribe from 2026-07-28 on; the connection sees the notes
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) {},
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) {},
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) {},
	})
	c.AddSendingMiddleware(watchProbe)
	return c
}

func capabilitiesOf(o offer) *mcp.ClientCapabilities {
	caps := &mcp.ClientCapabilities{}
	if o&offerSampling != 0 {
		//lint:ignore SA1019 servers still ask for it
		caps.Sampling = &mcp.SamplingCapabilities{}
		if o&offerSamplingTools != 0 {
			//lint:ignore SA1019 servers still ask for it
			caps.Sampling.Tools = &mcp.SamplingToolsCapabilities{}
		}
	}
	if o&offerElicitation != 0 {
		caps.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}
		if o&offerURL != 0 {
			caps.Elicitation.URL = &mcp.URLElicitationCapabilities{}
		}
	}
	if o&offerRoots != 0 {
		//lint:ignore SA1019 servers still ask for them
		caps.RootsV2 = &mcp.RootCapabilities{ListChanged: true}
	}
	return caps
}

// probing is the question for the newest revision, in the context of its handshake.
type probing struct {
	limit  time.Duration // for any answer
	giveUp context.CancelCauseFunc
}

type probingKey struct{}

// watchProbe limits the time without an answer to the question for the newest revision, and ends a handshake
// whose answer would be the same for any.
func watchProbe(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		p, ok := ctx.Value(probingKey{}).(*probing)
		if !ok || method != "server/discover" && method != "initialize" {
			return next(ctx, method, req)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx) // given up: the SDK would go on with initialize
		}
		if method == "initialize" {
			return next(ctx, method, req)
		}
		t := time.AfterFunc(p.limit, func() { p.giveUp(errUnanswered{p.limit}) })
		defer t.Stop()
		res, err := next(ctx, method, req)
		if saysNothingOfEras(err) {
			p.giveUp(err) // else the SDK would be refused a second time
		}
		return res, err
	}
}
