package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// Tool is an entry of the list, and what it does.
type Tool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`

	run func(context.Context, *call) (json.RawMessage, error)
}

// call is one running call.
type call struct {
	server *server
	args   json.RawMessage
	meta   json.RawMessage
	id     json.RawMessage
	inputs json.RawMessage // of a further round
	state  string          // likewise
	write  send            // of notifications and requests
	out    *out
}

func (c *call) read(into any) { _ = json.Unmarshal(c.args, into) }

// Tools are the tools of a server that has no Pages. What each does to its caller:
//
//	echo {text}       answers with the text, or with its arguments where there is none
//	args              structured content is its arguments, byte for byte
//	add {a, b}        structured content {"result": a+b}, by an output schema
//	structured        text and structured content that differ
//	bigint            integers that no float64 holds
//	fail {text}       an error of the tool
//	rpc_error {code, message}  an error of the protocol
//	sleep {ms}        answers later, or not at all once cancelled
//	mute              never answers
//	progress {n, ms}  n reports of progress, ms apart; foreign: for another call; bad: of the wrong types; after:
//	                  after the answer; unanswering: without end and answer
//	big {bytes}       a text of so many bytes
//	noise             writes lines that are no messages, then answers
//	die {code}        the process exits in mid call
//	close_stdout      closes its output and lives on
//	storm {n}         n list changes, then the answer
//	rename {from, to} a tool has another name from now on, and a list change says so
//	await_list        says that the list changed, and answers once the client has listed again
//	asked             the replies to what Behaviour.Asks sent
//	ask               sends requests to the client, and answers with what came back
//	request {method, params, n, take_back_ms}  sends a request to the client n times, and answers with {"replies": [...]}
//	notify {notes: [{method, params}], n}  sends notifications, n times, and answers
//	meta              structured content is the _meta of the call
//	record {token, ms}  writes "record" and the token into the journal, and answers with the token, ms later
//	late {ms}         answers later, though it was cancelled
//	stubborn          answers as soon as it is cancelled
//	pings {n}         asks the client n times whether it is alive, and answers once it has heard n times
//	chatter {n}       n log messages, then the answer
//	flood_stdout, flood_stderr  writes noise there until it is cancelled
//	half              writes half an answer, and no more
//	endless           writes an answer that has no end
//	freeze            the process stops itself by SIGSTOP
//	cut               ends the connection instead of an answer: the process exits
//	env {name}, cwd, pid, stats  about its process; stats counts what was received
func Tools() []Tool {
	const open = `{"type":"object"}`
	object := func(props string, required ...string) string {
		s := `{"type":"object","properties":{` + props + `}`
		if len(required) > 0 {
			s += `,"required":["` + strings.Join(required, `","`) + `"]`
		}
		return s + `}`
	}
	const reads = `{"readOnlyHint":true,"openWorldHint":false}`
	t := func(name, description, schema, hints string, run func(context.Context, *call) (json.RawMessage, error)) Tool {
		return Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema), Annotations: json.RawMessage(hints), run: run}
	}
	add := t("add", "Adds two integers.", object(`"a":{"type":"integer"},"b":{"type":"integer"}`, "a", "b"), reads, runAdd)
	add.OutputSchema = json.RawMessage(`{"type":"object","properties":{"result":{"type":"integer"}},"required":["result"]}`)
	return append([]Tool{
		t("echo", "Answers with the text.", object(`"text":{"type":"string"}`), reads, runEcho),
		t("args", "Answers with its arguments.", open, reads, func(_ context.Context, c *call) (json.RawMessage, error) {
			return structured(c.args), nil
		}),
		add,
		t("structured", "Answers twice.", open, reads, fixed(`{"content":[{"type":"text","text":"the answer"}],"structuredContent":{"answer":42}}`)),
		t("bigint", "Answers with large integers.", open, reads, fixed(`{"content":[],"structuredContent":{"n":9007199254740993,"min":-9223372036854775808,"beyond":18446744073709551616,"f":1.5}}`)),
		t("fail", "Fails.", object(`"text":{"type":"string"}`), "null", runFail),
		t("rpc_error", "Fails by the protocol.", object(`"code":{"type":"integer"},"message":{"type":"string"}`), "null", runRPCError),
		t("sleep", "Answers later.", object(`"ms":{"type":"integer"}`, "ms"), reads, runSleep),
		t("mute", "Never answers.", open, "null", func(ctx context.Context, _ *call) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, nil
		}),
		t("progress", "Reports progress.", object(`"n":{"type":"integer"},"ms":{"type":"integer"}`), reads, runProgress),
		t("big", "Answers at length.", object(`"bytes":{"type":"integer"}`, "bytes"), reads, runBig),
		t("noise", "Writes noise.", open, reads, runNoise),
		t("die", "Exits.", object(`"code":{"type":"integer"}`), "null", runDie),
		t("die_reading", "Exits, and only reads.", object(`"code":{"type":"integer"}`), reads, runDie),
		t("close_stdout", "Closes its output.", open, "null", runCloseStdout),
		t("storm", "Says that the list changed.", object(`"n":{"type":"integer"}`), "null", runStorm),
		t("rename", "Renames a tool.", object(`"from":{"type":"string"},"to":{"type":"string"}`, "from", "to"), "null", runRename),
		t("await_list", "Waits for a listing.", open, "null", runAwaitList),
		t("ask", "Asks the client.", open, "null", runAsk),
		t("asked", "Tells what the client answered.", open, reads, func(ctx context.Context, c *call) (json.RawMessage, error) {
			c.server.mu.Lock()
			replies := c.server.replies
			c.server.mu.Unlock()
			if replies == nil {
				return nil, &rpcError{Code: -32000, Message: "nothing was asked yet"}
			}
			return replies(ctx), nil
		}),
		t("meta", "Answers with its _meta.", open, reads, func(_ context.Context, c *call) (json.RawMessage, error) {
			return structured(c.meta), nil
		}),
		t("env", "Tells a variable.", object(`"name":{"type":"string"}`), reads, runEnv),
		t("cwd", "Tells its directory.", open, reads, func(context.Context, *call) (json.RawMessage, error) {
			dir, err := os.Getwd()
			return text(dir), err
		}),
		t("pid", "Tells its process.", open, reads, func(_ context.Context, c *call) (json.RawMessage, error) {
			return structured(encode(map[string]int{"pid": os.Getpid(), "grandchild": c.server.grandchild})), nil
		}),
		t("stats", "Counts what it received.", open, reads, func(_ context.Context, c *call) (json.RawMessage, error) {
			c.server.mu.Lock()
			defer c.server.mu.Unlock()
			return structured(encode(c.server.counts)), nil
		}),
	}, append(oddTools(t, object), askingTools(t)...)...)
}

func tool(tools []Tool, name string) func(context.Context, *call) (json.RawMessage, error) {
	for _, t := range tools {
		if t.Name == name {
			return t.run
		}
	}
	return nil
}

func text(s string) json.RawMessage {
	return encode(map[string]any{"content": []any{map[string]any{"type": "text", "text": s}}})
}

func structured(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		raw = json.RawMessage(`{}`)
	}
	return fmt.Appendf(nil, `{"content":[],"structuredContent":%s}`, raw)
}

func fixed(s string) func(context.Context, *call) (json.RawMessage, error) {
	return func(context.Context, *call) (json.RawMessage, error) { return json.RawMessage(s), nil }
}

func runEcho(_ context.Context, c *call) (json.RawMessage, error) {
	var a struct{ Text *string }
	c.read(&a)
	if a.Text != nil {
		return text(*a.Text), nil
	}
	return text(string(c.args)), nil
}

func runAdd(_ context.Context, c *call) (json.RawMessage, error) {
	var a struct{ A, B int64 }
	c.read(&a)
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":"%d"}],"structuredContent":{"result":%d}}`, a.A+a.B, a.A+a.B), nil
}

func runFail(_ context.Context, c *call) (json.RawMessage, error) {
	a := struct{ Text string }{"it failed"}
	c.read(&a)
	return encode(map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": a.Text}}}), nil
}

func runRPCError(_ context.Context, c *call) (json.RawMessage, error) {
	e := &rpcError{Code: -32000, Message: "refused"}
	c.read(e)
	return nil, e
}

func runSleep(ctx context.Context, c *call) (json.RawMessage, error) {
	var a struct{ MS int }
	c.read(&a)
	if !wait(ctx, time.Duration(a.MS)*time.Millisecond) {
		return nil, nil
	}
	return text("slept"), nil
}

func runProgress(ctx context.Context, c *call) (json.RawMessage, error) {
	a := struct {
		N, MS              int
		Foreign, Bad       bool
		After, Unanswering bool
	}{N: 3}
	c.read(&a)
	var m struct {
		Token json.RawMessage `json:"progressToken"`
	}
	_ = json.Unmarshal(c.meta, &m)
	if m.Token == nil {
		return text("no token"), nil
	}
	progress := `"progress":%[2]d,"total":%[3]d,"message":"step %[2]d"`
	switch {
	case a.Foreign:
		m.Token = json.RawMessage(`"of another call"`)
	case a.Bad:
		progress = `"progress":"x%[2]d","total":{}`
	}
	report := func(i int) {
		c.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%[1]s,`+progress+`}}`, m.Token, i, a.N))
	}
	if a.After {
		c.out.reply(reply(c.id, text("done"), nil))
	}
	for i := 0; i < a.N || a.Unanswering; i++ {
		if !wait(ctx, time.Duration(a.MS)*time.Millisecond) {
			return nil, nil
		}
		report(i + 1)
	}
	if a.After {
		return nil, nil
	}
	return text("done"), nil
}

// runBig writes in pieces, so that a server costs next to nothing where it shares its client's process.
func runBig(ctx context.Context, c *call) (json.RawMessage, error) {
	var a struct{ Bytes int }
	c.read(&a)
	c.out.long(func(write send) {
		write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, c.id))
		piece := []byte(strings.Repeat("x", 64<<10))
		for n := a.Bytes; n > 0 && ctx.Err() == nil; n -= len(piece) {
			write(piece[:min(n, len(piece))])
		}
		write([]byte(`"}]}}`))
	})
	return nil, nil
}

func runNoise(_ context.Context, c *call) (json.RawMessage, error) {
	for _, line := range []string{"a log line", "", "\x1b[32m[INFO]\x1b[0m start", `{"level":"info","msg":"a JSON log line"}`, "42", "null", "[]", `{"jsonrpc":"2.0"`} {
		c.write([]byte(line))
	}
	return text("after the noise"), nil
}

func runDie(_ context.Context, c *call) (json.RawMessage, error) {
	a := struct{ Code int }{3}
	c.read(&a)
	if !c.server.process {
		return nil, &rpcError{Code: -32603, Message: "only a process can die"}
	}
	_, _ = os.Stderr.WriteString("dying in mid call\n")
	os.Exit(a.Code)
	return nil, nil
}

func runCloseStdout(ctx context.Context, c *call) (json.RawMessage, error) {
	if c.server.process {
		_ = os.Stdout.Close()
	}
	<-ctx.Done()
	return nil, nil
}

const listChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

func runStorm(_ context.Context, c *call) (json.RawMessage, error) {
	a := struct{ N int }{200}
	c.read(&a)
	for range a.N {
		c.write([]byte(listChanged))
	}
	return text("calm"), nil
}

func runRename(_ context.Context, c *call) (json.RawMessage, error) {
	var a struct{ From, To string }
	c.read(&a)
	s := c.server
	s.mu.Lock()
	for i, t := range s.tools {
		if t.Name == a.From {
			s.tools[i].Name = a.To
		}
	}
	s.mu.Unlock()
	c.write([]byte(listChanged))
	return text("renamed"), nil
}

func runAwaitList(ctx context.Context, c *call) (json.RawMessage, error) {
	lists := func() int {
		c.server.mu.Lock()
		defer c.server.mu.Unlock()
		return c.server.counts["tools/list"]
	}
	before := lists()
	c.write([]byte(listChanged))
	for lists() == before {
		if !wait(ctx, 5*time.Millisecond) {
			return nil, nil
		}
	}
	return text("listed"), nil
}

// runAsk sends each kind of request with ids that a client may use itself, and answers with the replies.
func runAsk(ctx context.Context, c *call) (json.RawMessage, error) {
	return c.server.askAll(c.write)(ctx), nil
}

// askAll sends each kind of request. What it returns waits for the replies; nil: they did not all come.
func (s *server) askAll(write send) func(context.Context) json.RawMessage {
	write([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"x":1}}}`))
	write([]byte(`{"jsonrpc":"2.0","method":"notifications/unknown"}`))
	methods := []string{"ping", "roots/list", "sampling/createMessage", "elicitation/create", "no/such"}
	answers := map[string]<-chan message{}
	for i, method := range methods {
		id := fmt.Sprint(i + 1)
		if i == 1 {
			id = `"r1"`
		}
		answers[method] = s.ask(write, id, method)
	}
	return func(ctx context.Context) json.RawMessage {
		replies := map[string]json.RawMessage{}
		for method, answer := range answers {
			select {
			case m := <-answer:
				replies[method] = m.Result
				if m.Error != nil {
					replies[method] = m.Error
				}
			case <-ctx.Done():
				return nil
			}
		}
		return structured(encode(replies))
	}
}

// ask sends a request to the client, whose answer comes on the channel.
func (s *server) ask(write send, id, method string) <-chan message {
	return s.askWith(write, id, method, json.RawMessage(`{}`))
}

func (s *server) askWith(write send, id, method string, params json.RawMessage) <-chan message {
	answer := make(chan message, 1)
	s.mu.Lock()
	s.asked[id] = answer
	s.mu.Unlock()
	write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return answer
}

func runEnv(_ context.Context, c *call) (json.RawMessage, error) {
	var a struct{ Name string }
	c.read(&a)
	v, ok := os.LookupEnv(a.Name)
	return structured(encode(map[string]any{"set": ok, "value": v})), nil
}
