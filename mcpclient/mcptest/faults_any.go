package mcptest

import (
	"strings"
	"time"
)

// events has a server over HTTP answer by events, so that it can send more than a reply.
func events(b Behaviour) Behaviour {
	b.SSE = true
	return b
}

// anywhere are the faults of what a server says, whatever carries it.
func anywhere() []Fault {
	loop := map[string]string{
		"":  `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}],"nextCursor":"8"}`,
		"8": `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}],"nextCursor":"8"}`,
	}
	odd := func(page string) Behaviour { return Behaviour{Pages: map[string]string{"": page}} }
	return []Fault{
		{Name: "healthy", Why: "The base line: nothing is wrong.", Ends: Answered},
		{Name: "mute tool", Why: "A call that never returns makes the SDK's Close hang on every transport.", Tool: "mute", Ends: Unending},
		{Name: "slow tool", Why: "The SDK frees its caller at once when a slow call is cancelled.", Tool: "sleep", Args: map[string]any{"ms": 5000}, Ends: Unending},
		{Name: "silent initialize", Why: "(d), case 61: reads, and never answers initialize.", Behaviour: Behaviour{SilentInit: true}, Dialling: true, Ends: Unending},
		{Name: "slow initialize", Why: "Case 68: answers initialize after 1.5 s.", Behaviour: Behaviour{InitDelay: 1500 * time.Millisecond}, Dialling: true, Ends: Unending},
		{Name: "silent list", Why: "A connection that hangs after its handshake.", Behaviour: Behaviour{SilentList: true}, Dialling: true, Ends: Unending},
		{Name: "slow list", Why: "Case 68: a list that takes longer than the caller has.", Behaviour: Behaviour{ListDelay: 1500 * time.Millisecond}, Dialling: true, Ends: Unending},
		{Name: "cursor loop", Why: "Case 48: a cursor that does not move made 160 tools of 8.", Behaviour: Behaviour{Pages: loop}, Ends: Answered},
		{Name: "endless pages", Why: "Case 48, the other way: each page names another one.", Behaviour: Behaviour{EndlessPages: true}, Ends: Answered},
		{Name: "tools null", Why: "Case 50: the SDK panics on a null tool.", Behaviour: odd(`{"tools":[null,{"name":"echo","inputSchema":{"type":"object"}}]}`), Ends: Answered},
		{Name: "tools no list", Why: "Case 50: tools is an object.", Behaviour: odd(`{"tools":{}}`), Dialling: true, Ends: Refused},
		{Name: "list change storm", Why: "Case 51: 200 list changes inside one call.", Behaviour: events(Behaviour{Stream: true}), Tool: "storm", Args: map[string]any{"n": 200}, Ends: Answered},
		{Name: "list change drizzle", Why: "Case 51: a list change every 2 ms, for ever.", Behaviour: Behaviour{Stream: true, ListStorm: 2 * time.Millisecond}, Ends: Answered},
		{Name: "list change drizzle, mute tool", Why: "Case 51: the same during a call that never returns.", Behaviour: Behaviour{Stream: true, ListStorm: 2 * time.Millisecond}, Tool: "mute", Ends: Unending},
		{Name: "list awaited in a call", Why: "Case 52: the server answers the call only once it was listed again.", Behaviour: events(Behaviour{Stream: true}), Tool: "await_list", Ends: Answered},
		{Name: "pings in a call", Why: "A blocked notification handler makes the server's pings hang, and it drops the client.", Behaviour: events(Behaviour{}), Tool: "pings", Args: map[string]any{"n": 20}, Ends: Answered},
		{Name: "requests in a call", Why: "Case 64: requests that the client does not serve, with ids that it uses itself.", Behaviour: events(Behaviour{}), Tool: "ask", Ends: Answered},
		{Name: "chatter", Why: "20,000 notifications in one call: the SDK's queue of them has no bound.", Behaviour: events(Behaviour{}), Tool: "chatter", Args: map[string]any{"n": 20000}, Ends: Either, Heavy: true},
		{Name: "late reply", Why: "Case 66: the reply comes 400 ms after the call, though it was cancelled.", Tool: "late", Args: map[string]any{"ms": 400}, Ends: Unending},
		{Name: "reply after cancel", Why: "Case 66: the cancel itself makes the server reply.", Tool: "stubborn", Ends: Unending},
		{Name: "duplicate reply", Why: "A reply that comes twice.", Behaviour: events(Behaviour{Reply: ReplyTwice}), Ends: Answered},
		{Name: "wrong id", Why: "A reply to no request leaves the call waiting.", Behaviour: events(Behaviour{Reply: ReplyWrongID}), Ends: Either},
		{Name: "string id", Why: "The id comes back as a string: the SDK waits to the deadline.", Behaviour: events(Behaviour{Reply: ReplyStringID}), Ends: Either},
		{Name: "null id", Why: "Case 70: an error that names no request.", Behaviour: events(Behaviour{Reply: ReplyNullID}), Ends: Either},
		{Name: "server-error id", Why: "The Python SDK's errors have the id \"server-error\".", Behaviour: events(Behaviour{Reply: ReplyServerErr}), Ends: Either},
		{Name: "no version", Why: "A reply without jsonrpc kills the SDK's session.", Behaviour: Behaviour{Reply: ReplyNoVersion}, Ends: Answered},
		{Name: "garbage reply", Why: "A reply whose result is no JSON.", Behaviour: Behaviour{Reply: ReplyGarbage}, Ends: Refused},
		{Name: "truncated reply", Why: "Half a reply, and then the end of the line.", Behaviour: Behaviour{Reply: ReplyTruncated}, Ends: Refused},
		{Name: "reply over several lines", Why: "Pretty-printed JSON: valid over HTTP, and no line of the protocol on stdio.", Behaviour: Behaviour{Reply: ReplyManyLines}, Ends: Either},
		{Name: "reply that is no UTF-8", Why: "The SDK reads it, with the bad bytes replaced.", Behaviour: Behaviour{Reply: ReplyBadUTF8}, Ends: Answered},
		{Name: "result and error", Why: "Members that exclude each other.", Behaviour: Behaviour{Reply: ReplyBoth}, Ends: Refused},
		{Name: "no result and no error", Why: "A reply that says nothing.", Behaviour: Behaviour{Reply: ReplyNeither}, Ends: Refused},
		{Name: "batch", Why: "A reply inside a list, as revision 2025-03-26 allowed it.", Behaviour: Behaviour{Reply: ReplyBatch}, Ends: Answered},
		{Name: "result that is a list", Why: "A result of another type than the protocol has.", Behaviour: Behaviour{Reply: ReplyListResult}, Ends: Refused},
		{Name: "unknown content", Why: "A content type that the SDK does not know is an error of the call there.", Behaviour: Behaviour{Results: map[string]string{"echo": `{"content":[{"type":"hologram","x":1}]}`}}, Ends: Answered},
		{Name: "error -32003", Why: "The SDK takes this code of a server for its own closed connection.", Tool: "rpc_error", Args: map[string]any{"code": -32003, "message": "mine"}, Ends: Refused},
		{Name: "error -32004", Why: "The same.", Tool: "rpc_error", Args: map[string]any{"code": -32004, "message": "mine"}, Ends: Refused},
		{Name: "error of the tool", Why: "Case 54: isError.", Tool: "fail", Ends: Refused},
		{Name: "half a reply", Why: "A reply that stops in the middle, without an end.", Behaviour: events(Behaviour{}), Tool: "half", Ends: Unending},
		{Name: "cut in a reply", Why: "A reply that stops in the middle, and so does the connection: the call is lost, not malformed.", Behaviour: events(Behaviour{}), Tool: "half", Args: map[string]any{"cut": true}, Ends: Refused},
		{Name: "requests before the handshake", Why: "Case 64: requests of the server before it answers initialize.", Behaviour: Behaviour{Asks: AsksEarly}, Ends: Answered},
		{Name: "endless reply", Why: "A line, an event or a body without an end.", Behaviour: events(Behaviour{}), Tool: "endless", Ends: Either, Heavy: true},
		{Name: "15 MB reply", Why: "15 MB: over the default cap of 10 MiB.", Tool: "big", Args: map[string]any{"bytes": 15 << 20}, Ends: Either, Heavy: true},
		{Name: "50 MB reply", Why: "50 MB kill the SDK's session, or take 790 MB of memory.", Tool: "big", Args: map[string]any{"bytes": 50 << 20}, Ends: Either, Heavy: true},
		{Name: "1 MB argument", Why: "An argument that no pipe holds, to a server that is well.", Tool: "args", Args: map[string]any{"text": strings.Repeat("x", 1<<20)}, Ends: Either, Heavy: true},
		{Name: "connection cut in a call", Why: "In-flight calls of a child that is killed end at once.", Behaviour: events(Behaviour{}), Tool: "cut", Ends: Refused},
		{Name: "dies at each call", Why: "(c), R-04: a server that comes back and dies again.", Behaviour: Behaviour{DieAt: 1}, Ends: Refused},
		{Name: "initialize refused", Why: "Case 76: another protocol revision than any that is known.", Behaviour: Behaviour{Only: "1999-01-01"}, Dialling: true, Ends: Refused},
		{Name: "unknown revision", Why: "Case 76: agrees on a revision that nobody knows.", Behaviour: Behaviour{Version: "2099-01-01"}, Dialling: true, Ends: Refused},
		{Name: "silent discover", Why: "Ignores server/discover: the SDK never tries initialize.", Behaviour: Behaviour{Discover: Silent}, Ends: Either},
		{Name: "slow, and then mute", Why: "A server that slows down and then answers nothing.", Behaviour: Behaviour{InitDelay: 100 * time.Millisecond, ListDelay: 100 * time.Millisecond}, Tool: "mute", Ends: Unending},
	}
}

// modern are the faults of revision 2026-07-28.
func modern() []Fault {
	listen := func(h HTTPFault) Behaviour {
		h.At = "subscriptions/listen"
		return Behaviour{Modern: true, HTTP: []HTTPFault{h}}
	}
	return []Fault{
		{Name: "modern", Why: "Case 80: speaks only revision 2026-07-28; nothing is wrong.", Behaviour: Behaviour{Modern: true}, Ends: Answered},
		{Name: "modern, mute tool", Why: "Case 80: (i) in that revision.", Behaviour: Behaviour{Modern: true}, Tool: "mute", Ends: Unending},
		{Name: "modern, silent discover", Why: "Case 80: (d) it answers neither discover nor initialize.", Behaviour: Behaviour{Modern: true, Discover: Silent}, Dialling: true, Ends: Unending},
		{Name: "modern, list change drizzle", Why: "Case 51 in that revision, by the subscription.", Behaviour: Behaviour{Modern: true, ListStorm: 2 * time.Millisecond}, Tool: "mute", Ends: Unending},
		{Name: "modern, stalled listen", Why: "The headers of subscriptions/listen are never flushed: the SDK's Connect hangs.", Behaviour: listen(HTTPFault{Then: ThenSilent}), Ends: Answered, On: []string{Memory, HTTP}, Elsewhere: NoPost},
		{Name: "modern, listen cut", Why: "The SDK does not subscribe again, and says nothing.", Behaviour: listen(HTTPFault{Header: content(asEvents), Body: "data: " + acknowledged + "\n\n", Then: ThenCut}), Ends: Answered, On: []string{Memory, HTTP}, Elsewhere: NoPost},
		{Name: "modern, listen refused", Why: "The subscription is refused by HTTP.", Behaviour: listen(HTTPFault{Status: 500}), Ends: Answered, On: []string{Memory, HTTP}, Elsewhere: NoPost},
	}
}
