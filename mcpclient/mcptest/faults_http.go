package mcptest

import (
	"fmt"
	"strings"
)

const (
	asJSON   = "application/json"
	asEvents = "text/event-stream"
	asHTML   = "text/html"
)

// answer is a behaviour with one fault of HTTP.
func answer(h HTTPFault) Behaviour { return Behaviour{HTTP: []HTTPFault{h}} }

func content(kind string) map[string]string { return map[string]string{"Content-Type": kind} }

// overHTTP are the faults of connections and of connecting over both HTTP transports.
func overHTTP() []Fault {
	every := func(h HTTPFault) Behaviour {
		h.At = "*"
		b := answer(h)
		b.HTTP = append(b.HTTP, HTTPFault{At: "GET", Status: h.Status, Header: h.Header, Body: h.Body, Then: h.Then})
		return b
	}
	moved := func(status int, to string) Behaviour {
		return every(HTTPFault{Status: status, Header: map[string]string{"Location": to}})
	}
	faults := []Fault{
		{Name: "connection refused", Why: "Nothing listens there.", Behaviour: Behaviour{Listen: Refuse}, Dialling: true, Ends: Refused},
		{Name: "black hole", Why: "Accepts TCP connections, and says nothing.", Behaviour: Behaviour{Listen: BlackHole}, Dialling: true, Ends: Unending},
		{Name: "no headers", Why: "Takes each request, and never answers.", Behaviour: every(HTTPFault{Then: ThenSilent}), Dialling: true, Ends: Unending},
		{Name: "no answer to a call", Why: "Takes the call's request, and never answers.", Behaviour: answer(HTTPFault{Then: ThenSilent}), Ends: Unending},
		{Name: "drops each connection", Why: "Breaks the connection instead of an answer.", Behaviour: every(HTTPFault{Then: ThenDrop}), Dialling: true, Ends: Refused},
		{Name: "drops a call's connection", Why: "Breaks the connection of a call: it may have run.", Behaviour: answer(HTTPFault{Then: ThenDrop}), Ends: Refused},
		{Name: "a web page", Why: "(f), case 75: 200 with HTML.", Behaviour: every(HTTPFault{Header: content(asHTML), Body: "<html>sign in</html>"}), Dialling: true, Ends: Refused},
		{Name: "a web page without an end", Why: "The same, and it goes on.", Behaviour: every(HTTPFault{Header: content(asHTML), Body: "<html>", Then: ThenPour}), Dialling: true, Ends: Either, Heavy: true},
		{Name: "moved to another origin", Why: "(f), case 75: the SDK follows, and sends headers and session there.", Behaviour: moved(307, "http://elsewhere.invalid/mcp"), Dialling: true, Ends: Refused},
		{Name: "moved in a circle", Why: "Case 75: a redirect to itself.", Behaviour: moved(308, "/mcp"), Dialling: true, Ends: Refused},
		{Name: "sent to a login page", Why: "Case 75: 302.", Behaviour: moved(302, "/login"), Dialling: true, Ends: Refused},
	}
	for _, status := range []int{400, 401, 403, 404, 405, 406, 408, 409, 410, 411, 413, 429, 500, 502, 503, 504} {
		faults = append(faults, Fault{
			Name: fmt.Sprintf("%d from the start", status), Why: "(f), case 72: the first request is refused.",
			Behaviour: every(HTTPFault{Status: status, Header: content("text/plain"), Body: "no"}), Dialling: true, Ends: Refused,
		})
	}
	return faults
}

// ofStatus are the refusals of a call, with each kind of body.
func ofStatus() []Fault {
	var faults []Fault
	for _, status := range []int{400, 401, 403, 404, 405, 406, 408, 409, 411, 413, 429, 500, 502, 503, 504} {
		for _, body := range []struct{ name, kind, text string }{
			{"plain", "text/plain", "no"},
			{"HTML", asHTML, "<html><body>no</body></html>"},
			{"JSON-RPC", asJSON, `{"jsonrpc":"2.0","id":{id},"error":{"code":-32000,"message":"no"}}`},
		} {
			faults = append(faults, Fault{
				Name: fmt.Sprintf("%d, %s", status, body.name), Why: "Many of these kill the SDK's session.",
				Behaviour: answer(HTTPFault{Status: status, Header: content(body.kind), Body: body.text}), Ends: Refused,
			})
		}
	}
	return faults
}

// inAnswers are the faults of answers to POST, and of the stream for GET.
func inAnswers() []Fault {
	const reply = "event: message\ndata: {reply}\n\n"
	event := func(body, then string) Behaviour {
		return answer(HTTPFault{Header: content(asEvents), Body: body, Then: then})
	}
	get := func(h HTTPFault) Behaviour { h.At = "GET"; return answer(h) }
	moved := func(status int, to string) Behaviour {
		return answer(HTTPFault{Status: status, Header: map[string]string{"Location": to}})
	}
	lost := func(status int, kind, body string) Behaviour {
		return answer(HTTPFault{Status: status, Header: content(kind), Body: body})
	}
	return []Fault{
		{Name: "stalled GET", Why: "The headers of the GET stream are never flushed: the SDK's Connect hangs.", Behaviour: get(HTTPFault{Then: ThenSilent}), Ends: Answered},
		{Name: "stalled GET, mute tool", Why: "The same, and a call that never returns.", Behaviour: get(HTTPFault{Then: ThenSilent}), Tool: "mute", Ends: Unending},
		{Name: "GET stream cut", Why: "Cut six times: the SDK's session is dead.", Behaviour: get(HTTPFault{Header: content(asEvents), Body: "retry: 5\n\n", Then: ThenCut}), Ends: Answered},
		{Name: "GET stream ends", Why: "The same, without an error.", Behaviour: get(HTTPFault{Header: content(asEvents), Body: "retry: 5\n\n"}), Ends: Answered},
		{Name: "GET 401", Why: "Silently no stream.", Behaviour: get(HTTPFault{Status: 401}), Ends: Answered},
		{Name: "GET 500", Why: "Silently no stream.", Behaviour: get(HTTPFault{Status: 500}), Ends: Answered},
		{Name: "GET JSON", Why: "Silently no stream.", Behaviour: get(HTTPFault{Header: content(asJSON), Body: "{}"}), Ends: Answered},
		{Name: "GET 405 after a cut", Why: "The SDK's session is dead.", Behaviour: Behaviour{HTTP: []HTTPFault{{At: "GET", Count: 1, Header: content(asEvents), Body: "retry: 5\n\n", Then: ThenCut}, {At: "GET", Status: 405}}}, Ends: Answered},
		{Name: "stalled DELETE", Why: "The SDK's Close takes 5 s.", Behaviour: Behaviour{HTTP: []HTTPFault{{At: "DELETE", Then: ThenSilent}}}, Ends: Answered},
		{Name: "stream held open after the reply", Why: "The SDK leaks goroutines and a connection with each call.", Behaviour: event(reply, ThenHold), Ends: Answered},
		{Name: "stream ends without the reply", Why: "Without event ids: the call is lost.", Behaviour: event(": nothing\n\n", ""), Ends: Refused},
		{Name: "stream cut before the reply", Why: "The same by a broken connection.", Behaviour: event(": nothing\n\n", ThenCut), Ends: Refused},
		{Name: "stream cut in the reply", Why: "Half an event.", Behaviour: event("data: {\"jsonrpc\":\"2.0\",\"id\":{id},\"res", ThenCut), Ends: Refused},
		{Name: "stream without the reply", Why: "It is held open, and nothing comes.", Behaviour: event(": nothing\n\n", ThenHold), Ends: Unending},
		{Name: "stream of comments", Why: "It is kept alive, and nothing comes.", Behaviour: event(":", ThenDrip), Ends: Unending},
		{Name: "stream without an end", Why: "One event that never ends.", Behaviour: event("data: ", ThenPour), Ends: Either, Heavy: true},
		{Name: "stream line without a colon", Why: "Kills the SDK's session.", Behaviour: event("nonsense\n\n"+reply, ""), Ends: Answered},
		{Name: "body without an end", Why: "A body that is being read when the context ends kills the SDK's session.", Behaviour: answer(HTTPFault{Header: content(asJSON), Body: `{"jsonrpc":"2.0",`, Then: ThenDrip}), Ends: Unending},
		{Name: "body that pours", Why: "H-03: more bytes than any cap.", Behaviour: answer(HTTPFault{Header: content(asJSON), Body: `{"jsonrpc":"2.0","x":"`, Then: ThenPour}), Ends: Either, Heavy: true},
		{Name: "body held back", Why: "Headers, and then nothing.", Behaviour: answer(HTTPFault{Header: content(asJSON), Then: ThenHold}), Ends: Unending},
		{Name: "body cut", Why: "Less than was promised.", Behaviour: answer(HTTPFault{Header: content(asJSON), Body: `{"jsonrpc":"2.0","id":`, Then: ThenCut}), Ends: Refused},
		{Name: "200 with HTML", Why: "Kills the SDK's session.", Behaviour: answer(HTTPFault{Header: content(asHTML), Body: "<html>sign in</html>"}), Ends: Refused},
		{Name: "200 without a body", Why: "Kills the SDK's session.", Behaviour: answer(HTTPFault{Header: content(asJSON)}), Ends: Refused},
		{Name: "200 with broken JSON", Why: "Kills the SDK's session.", Behaviour: answer(HTTPFault{Header: content(asJSON), Body: `{"jsonrpc":`}), Ends: Refused},
		{Name: "200 with another reply", Why: "Case 70: an error without an id.", Behaviour: answer(HTTPFault{Header: content(asJSON), Body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}`}), Ends: Refused},
		{Name: "202 to a call", Why: "Kills the SDK's session.", Behaviour: answer(HTTPFault{Status: 202}), Ends: Refused},
		{Name: "204 to a call", Why: "The same, with another status.", Behaviour: answer(HTTPFault{Status: 204}), Ends: Refused},
		{Name: "another session id", Why: "A changed Mcp-Session-Id kills the SDK's session.", Behaviour: answer(HTTPFault{Header: map[string]string{"Content-Type": asJSON, "Mcp-Session-Id": "another"}, Body: "{reply}"}), Ends: Answered},
		{Name: "event that is no message", Why: "Case 70: an event with an error outside the protocol.", Behaviour: event("event: message\ndata: {\"error\":\"Session not found\"}\n\n", ""), Ends: Refused},
		{Name: "session lost, JSON-RPC 404", Why: "(f), case 70: as the TypeScript SDK says it, at each call.", Behaviour: lost(404, asJSON, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`), Ends: Refused},
		{Name: "session lost, plain 404", Why: "(f), case 70.", Behaviour: lost(404, "text/plain", "not found"), Ends: Refused},
		{Name: "session lost, Python 404", Why: "The id is \"server-error\": the SDK's session never dies, and never works.", Behaviour: lost(404, asJSON, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}`), Ends: Refused},
		{Name: "session lost, 400", Why: "(f), case 70: what server-everything sends.", Behaviour: lost(400, asJSON, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`), Ends: Refused},
		{Name: "session lost, 410", Why: "Case 70.", Behaviour: lost(410, "text/plain", ""), Ends: Refused},
		{Name: "session lost once, 404", Why: "Case 70: known again after a new initialize.", Behaviour: Behaviour{HTTP: []HTTPFault{{Count: 1, Status: 404, Header: content(asJSON), Body: `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`}}}, Ends: Answered},
		{Name: "session lost once, 400", Why: "Case 70.", Behaviour: Behaviour{HTTP: []HTTPFault{{Count: 1, Status: 400, Header: content(asJSON), Body: `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`}}}, Ends: Answered},
		{Name: "call moved to another origin, 307", Why: "Headers and session must not go there.", Behaviour: moved(307, "http://elsewhere.invalid/mcp"), Ends: Refused},
		{Name: "call moved to another origin, 308", Why: "(f), case 75.", Behaviour: moved(308, "//elsewhere.invalid/mcp"), Ends: Refused},
		{Name: "call moved, 302", Why: "A POST would become a GET.", Behaviour: moved(302, "/login"), Ends: Refused},
		{Name: "call moved, 301", Why: "Case 75: the https twin.", Behaviour: moved(301, "https://memory.test/mcp"), Ends: Refused},
		{Name: "call moved to the same origin, 307", Why: "Case 75: same method, body and headers.", Behaviour: Behaviour{HTTP: []HTTPFault{{Count: 1, Status: 307, Header: map[string]string{"Location": "/mcp/"}}}}, Ends: Answered},
		{Name: "large refusal", Why: "H-03: the body of an error without an end.", Behaviour: answer(HTTPFault{Status: 500, Header: content(asHTML), Body: strings.Repeat("x", 1<<10), Then: ThenPour}), Ends: Either, Heavy: true},
	}
}

// overSSE are the faults of the older transport's one stream.
func overSSE() []Fault {
	const endpoint = "event: endpoint\ndata: /message?session=1\n\n"
	get := func(h HTTPFault) Behaviour {
		h.At = "GET"
		h.Header = content(asEvents)
		return answer(h)
	}
	post := func(status int, kind, body string) Behaviour {
		return answer(HTTPFault{Status: status, Header: content(kind), Body: body})
	}
	return []Fault{
		{Name: "endpoint on another origin", Why: "(f), case 73: the SDK posts there, with all headers.", Behaviour: Behaviour{Endpoint: "http://elsewhere.invalid/message"}, Dialling: true, Ends: Refused},
		{Name: "endpoint without a scheme", Why: "Case 73: //host is another origin.", Behaviour: Behaviour{Endpoint: "//elsewhere.invalid/message"}, Dialling: true, Ends: Refused},
		{Name: "no endpoint", Why: "Case 73: the event never comes.", Behaviour: Behaviour{Endpoint: NoEndpoint}, Dialling: true, Ends: Unending},
		{Name: "endpoint without a session", Why: "Case 73: posts get 404.", Behaviour: Behaviour{Endpoint: "/message"}, Dialling: true, Ends: Refused},
		{Name: "stream ends after the endpoint", Why: "Case 73.", Behaviour: get(HTTPFault{Body: endpoint}), Dialling: true, Ends: Refused},
		{Name: "stream cut after the endpoint", Why: "Case 73.", Behaviour: get(HTTPFault{Body: endpoint, Then: ThenCut}), Dialling: true, Ends: Refused},
		{Name: "stream stalls before the endpoint", Why: "Headers, and then nothing.", Behaviour: get(HTTPFault{Then: ThenHold}), Dialling: true, Ends: Unending},
		{Name: "endpoint without an end", Why: "An event that never ends.", Behaviour: get(HTTPFault{Body: "data: ", Then: ThenPour}), Dialling: true, Ends: Either, Heavy: true},
		{Name: "post never answered", Why: "Measured with server-everything: POST /message without a session never answers.", Behaviour: answer(HTTPFault{Then: ThenSilent}), Ends: Unending},
		{Name: "post 200 with a body", Why: "Case 73: any 200 or 202 is as good.", Behaviour: post(200, "text/html", "<html>ok{reply}</html>"), Ends: Answered},
		{Name: "post 404", Why: "Case 73: HTML.", Behaviour: post(404, asHTML, "<html>no</html>"), Ends: Refused},
		{Name: "post 401", Why: "Case 75.", Behaviour: post(401, "text/plain", "no"), Ends: Refused},
		{Name: "post 500", Why: "(f).", Behaviour: post(500, "text/plain", "no"), Ends: Refused},
		{Name: "post 202, no reply", Why: "A call that is taken, and forgotten.", Behaviour: post(202, "text/plain", "Accepted"), Ends: Unending},
	}
}
