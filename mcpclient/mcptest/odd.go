package mcptest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// The words of Behaviour.Reply: what is wrong with the replies to tools/call.
const (
	ReplyWrongID    = "wrong_id"    // the id is that of no request
	ReplyStringID   = "string_id"   // the id is the right number, as a string
	ReplyNullID     = "null_id"     // an error whose id is null
	ReplyNoVersion  = "no_version"  // there is no member jsonrpc
	ReplyTwice      = "twice"       // it comes two times
	ReplyGarbage    = "garbage"     // it is no JSON
	ReplyTruncated  = "truncated"   // it ends in the middle, and the line does too
	ReplyManyLines  = "many_lines"  // it is printed over several lines
	ReplyBadUTF8    = "bad_utf8"    // a text in it is no UTF-8
	ReplyBoth       = "both"        // it has a result and an error
	ReplyNeither    = "neither"     // it has neither
	ReplyBatch      = "batch"       // it comes in a list, as the revision 2025-03-26 had it
	ReplyServerErr  = "server_err"  // the error -32603 with the id "server-error", as the Python SDK has it
	ReplyListResult = "list_result" // the result is a list, not an object
)

// odd writes a reply in one of these ways.
func (o *out) odd(how string, id, result json.RawMessage, err error) {
	proper := reply(id, result, err)
	switch how {
	case ReplyWrongID:
		o.reply(reply(json.RawMessage(`987654321`), result, err))
	case ReplyStringID:
		o.reply(reply(encode(string(id)), result, err))
	case ReplyNullID:
		o.reply([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}`))
	case ReplyNoVersion:
		o.reply(bytes.Replace(proper, []byte(`"jsonrpc":"2.0",`), nil, 1))
	case ReplyTwice:
		o.reply(bytes.Clone(proper))
		o.reply(proper)
	case ReplyGarbage:
		o.reply([]byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"content":[}}`))
	case ReplyTruncated:
		o.reply(proper[:len(proper)*2/3])
	case ReplyManyLines:
		var b bytes.Buffer
		_ = json.Indent(&b, proper, "", "  ")
		o.raw(append(b.Bytes(), '\n'))
	case ReplyBadUTF8:
		o.reply(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"a`+"\xff\xfe"+`b"}]}}`, id))
	case ReplyBoth:
		o.reply(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s,"error":{"code":-32000,"message":"and an error"}}`, id, result))
	case ReplyNeither:
		o.reply(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s}`, id))
	case ReplyBatch:
		o.reply(append(append([]byte{'['}, proper...), ']'))
	case ReplyServerErr:
		o.reply([]byte(`{"jsonrpc":"2.0","id":"server-error","error":{"code":-32603,"message":"Error handling request"}}`))
	case ReplyListResult:
		o.reply(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":[1,2]}`, id))
	default:
		o.reply(reply(id, nil, &rpcError{Code: -32603, Message: "mcptest: no such Reply: " + how}))
	}
}

// life is the behaviour of the n-th life, from 0.
func (b Behaviour) life(n int) Behaviour {
	if len(b.Lives) == 0 {
		return b
	}
	l := b.Lives[min(n, len(b.Lives)-1)]
	if l.Journal == "" {
		l.Journal = b.Journal
	}
	return l
}

// nextLife counts the lives of processes by the length of a file.
func (b Behaviour) nextLife() int {
	if len(b.Lives) == 0 || b.LivesFile == "" {
		return 0
	}
	f, err := os.OpenFile(b.LivesFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	_, _ = f.WriteString("x")
	return int(info.Size())
}

const noise = "2026-01-01 12:00:00 INFO a log line where a message should be\n"

// oddTools are the tools that end up nowhere good.
func oddTools(t func(name, description, schema, hints string, run func(context.Context, *call) (json.RawMessage, error)) Tool, object func(string, ...string) string) []Tool {
	const open = `{"type":"object"}`
	const reads = `{"readOnlyHint":true,"openWorldHint":false}`
	return []Tool{
		t("record", "Takes effect.", object(`"token":{"type":"string"},"ms":{"type":"integer"}`, "token"), "null", runRecord),
		t("late", "Answers though it was cancelled.", object(`"ms":{"type":"integer"}`, "ms"), reads, runLate),
		t("stubborn", "Answers once it is cancelled.", open, reads, func(ctx context.Context, _ *call) (json.RawMessage, error) {
			<-ctx.Done()
			return text("too late"), nil
		}),
		t("pings", "Asks whether the client lives.", object(`"n":{"type":"integer"}`), reads, runPings),
		t("chatter", "Sends log messages.", object(`"n":{"type":"integer"}`), reads, runChatter),
		t("flood_stdout", "Floods its output.", open, "null", runFlood(func(c *call) error { c.write([]byte(noise)); return nil })),
		t("flood_stderr", "Floods its error output.", open, "null", runFlood(func(*call) error {
			_, err := os.Stderr.WriteString(noise)
			return err
		})),
		t("half", "Answers by half.", object(`"cut":{"type":"boolean"}`), "null", func(ctx context.Context, c *call) (json.RawMessage, error) {
			var a struct{ Cut bool }
			c.read(&a)
			c.out.raw(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"te`, c.id))
			if a.Cut {
				c.out.cut()
				return nil, nil
			}
			<-ctx.Done()
			return nil, nil
		}),
		t("endless", "Answers without end.", open, "null", runEndless),
		t("freeze", "Stops its process.", open, "null", runFreeze),
		t("cut", "Ends the connection.", open, "null", func(_ context.Context, c *call) (json.RawMessage, error) {
			c.out.cut()
			return nil, nil
		}),
	}
}

func runRecord(ctx context.Context, c *call) (json.RawMessage, error) {
	var a struct {
		Token string
		MS    int
	}
	c.read(&a)
	c.server.journal("record " + a.Token)
	if !wait(ctx, time.Duration(a.MS)*time.Millisecond) {
		return nil, nil
	}
	return text(a.Token), nil
}

func runLate(_ context.Context, c *call) (json.RawMessage, error) {
	var a struct{ MS int }
	c.read(&a)
	wait(context.Background(), time.Duration(a.MS)*time.Millisecond)
	return text("late"), nil
}

func runPings(ctx context.Context, c *call) (json.RawMessage, error) {
	a := struct{ N int }{100}
	c.read(&a)
	for i := range a.N {
		select {
		case <-c.server.ask(c.write, fmt.Sprintf(`"ping-%d"`, i), "ping"):
		case <-ctx.Done():
			return nil, nil
		}
	}
	return text("alive"), nil
}

func runChatter(ctx context.Context, c *call) (json.RawMessage, error) {
	a := struct{ N int }{1000}
	c.read(&a)
	for i := 0; i < a.N && ctx.Err() == nil; i++ {
		c.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"message %d"}}`, i))
	}
	return text("quiet"), nil
}

func runFlood(write func(*call) error) func(context.Context, *call) (json.RawMessage, error) {
	return func(ctx context.Context, c *call) (json.RawMessage, error) {
		if !c.server.process {
			return nil, errors.New("only a process has standard streams")
		}
		for ctx.Err() == nil && write(c) == nil {
		}
		return nil, nil
	}
}

func runEndless(ctx context.Context, c *call) (json.RawMessage, error) {
	c.out.raw(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, c.id))
	for chunk := bytes.Repeat([]byte{'x'}, 16<<10); wait(ctx, time.Millisecond); {
		c.out.raw(chunk)
	}
	return nil, nil
}
