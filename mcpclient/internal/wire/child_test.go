//go:build unix

package wire

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is its own MCP server: WIRE_DO says how it behaves.
func TestMain(m *testing.M) {
	if do := os.Getenv("WIRE_DO"); do != "" {
		child(do)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

type in struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
		RequestID json.RawMessage `json:"requestId"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

const (
	helloResult    = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}`
	discoverResult = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete"}`
	listResult     = `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"zeta":{"type":"integer","maximum":9007199254740993},"alpha":{},"mid":{}}},"annotations":{"readOnlyHint":false}},{"name":7,"annotations":"odd"},null]}`
)

func say(format string, a ...any) { fmt.Printf(format+"\n", a...) }

func result(id, result string) { say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result) }

func text(s string) string {
	j, _ := json.Marshal(s)
	return `{"content":[{"type":"text","text":` + string(j) + `}]}`
}

func child(do string) {
	switch do {
	case "exit1":
		fmt.Fprintln(os.Stderr, "missing API key")
		os.Exit(1)
	case "exit0":
		os.Exit(0)
	case "sdk":
		serveSDK()
		return
	case "mute":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "sleep":
		time.Sleep(time.Hour)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "wrapped": // as npx does: a wrapper that starts the real server
		spawn("", true)
	case "banner":
		say("DocumentationScraper initialized\n\n✓ ready\r")
		say("\x1b[32m[INFO]\x1b[0m start\n{\"level\":\"info\",\"msg\":\"a JSON log line\"}\n42\nnull\n[]\n\xEF\xBB\xBF")
	case "flood":
		fmt.Fprint(os.Stderr, strings.Repeat("x", 256<<10))
	case "http", "http-modern": // a server that costs next to nothing; its URL goes to standard output
		o := &odd{modern: do == "http-modern"}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			os.Exit(9)
		}
		say("http://%s", ln.Addr())
		go func() { _ = http.Serve(ln, http.HandlerFunc(o.serve)) }()
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	serve(do)
	switch do {
	case "stubborn":
		time.Sleep(time.Hour)
	}
}

// spawn starts this binary again, with our own pipes.
func spawn(do string, wait bool) *exec.Cmd {
	self, _ := os.Executable()
	c := exec.Command(self)
	c.Env = append(os.Environ(), "WIRE_DO="+do+"plain")
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		os.Exit(9)
	}
	if wait {
		_ = c.Wait()
		os.Exit(0)
	}
	return c
}

func serve(do string) {
	r := bufio.NewReaderSize(os.Stdin, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var m in
		if err := json.Unmarshal(line, &m); err != nil {
			fmt.Fprintf(os.Stderr, "cannot read %q\n", line)
			os.Exit(8)
		}
		id := string(m.ID)
		switch m.Method {
		case "initialize":
			if do == "asks" {
				ask("1", "r1")
			}
			if do == "banner" {
				say(`{"jsonrpc":"2.0","id":%s,"result":%s}  `, id, helloResult)
				break
			}
			result(id, helloResult)
			if do == "dies" {
				os.Exit(3)
			}
		case "server/discover":
			if do == "modern" {
				result(id, discoverResult)
				break
			}
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, id)
		case "notifications/initialized":
			if do == "unreading" {
				say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"deaf"}}`)
				time.Sleep(time.Hour)
			}
		case "tools/list":
			result(id, listResult)
		case "tools/call":
			callTool(id, m, string(line))
		case "notifications/cancelled":
			fmt.Fprintf(os.Stderr, "cancelled %s\n", m.Params.RequestID)
			result(string(m.Params.RequestID), text("too late"))
		case "ping":
			result(id, `{}`)
		case "":
			fmt.Fprintf(os.Stderr, "reply %s %s%s\n", id, m.Result, m.Error)
		}
	}
}

func ask(num, str string) {
	say(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, num)
	say(`{"jsonrpc":"2.0","id":%q,"method":"no/such"}`, str)
	say(`{"jsonrpc":"2.0","method":"notifications/unknown"}`)
}

func callTool(id string, m in, line string) {
	switch name, arg, _ := strings.Cut(m.Params.Name, ":"); name {
	case "echo":
		result(id, text(string(m.Params.Arguments)))
	case "line": // the line as it came
		result(id, text(line))
	case "raw": // any text, with ID for the id
		fmt.Print(strings.NewReplacer("ID", id).Replace(arg))
	case "hang":
	case "die":
		fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(3)
	case "torn": // dies in mid reply
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[`, id)
		os.Exit(3)
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "shut":
		_ = os.Stdout.Close()
	case "orphan": // dies, and leaves a child that holds the pipes
		spawn("", false)
		os.Exit(3)
	case "progress":
		n, _ := strconv.Atoi(arg)
		for i := range n {
			say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":%d,"message":"m"}}`, m.Params.Meta.Token, i+1, n)
		}
		result(id, text("done"))
	case "flood":
		fmt.Fprint(os.Stderr, strings.Repeat("x", 256<<10))
		result(id, text("done"))
	case "big":
		n, _ := strconv.Atoi(arg)
		result(id, text(strings.Repeat("b", n)))
	case "ask":
		ask("2", "r2") // ids must differ: those of the first round may still be under way
		result(id, text("asked"))
	case "split":
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"re`, id)
		time.Sleep(50 * time.Millisecond)
		fmt.Printf("sult\":%s}\r\n", text("split"))
	case "input": // two rounds
		if strings.Contains(line, `"inputResponses"`) {
			result(id, text(string(m.Params.Arguments)))
			return
		}
		result(id, `{"resultType":"input_required","requestState":"s1","inputRequests":{"q":{"method":"roots/list","params":{}}}}`)
	default:
		say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"unknown tool"}}`, id)
	}
}
