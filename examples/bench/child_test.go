package bench

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

// The servers here read requests with bytes.Index and answer with pieces that were made before, so that
// nearly all of what is measured is the client's own work. They run in processes of their own: the test
// binary again, told by its arguments what to be.
const childMark = "toolsource-bench-server"

// args are those of a child that serves over "stdio" or "http", the number of tools that it lists, and
// whether it speaks the 2026 era.
func (s server) args(over string) []string {
	return []string{childMark, over, strconv.Itoa(s.tools), strconv.FormatBool(s.modern)}
}

// childMain serves if this process is to be a server.
func childMain() {
	if len(os.Args) != 5 || os.Args[1] != childMark {
		return
	}
	tools, _ := strconv.Atoi(os.Args[3])
	s := newEcho(tools, os.Args[4] == "true")
	time.AfterFunc(10*time.Minute, func() { os.Exit(3) }) // so that a test that was killed leaves nothing
	if os.Args[2] == "http" {
		s.serveHTTP()
	} else {
		s.serveLines(os.Stdin, os.Stdout)
	}
	os.Exit(0)
}

// echo answers requests. It keeps no state.
type echo struct {
	modern bool
	list   []byte // result of tools/list
}

func newEcho(tools int, modern bool) *echo {
	e := &echo{modern: modern}
	var b bytes.Buffer
	b.WriteString(`{`)
	if modern {
		b.WriteString(`"resultType":"complete",`)
	}
	b.WriteString(`"tools":[{"name":"echo","description":"gives the text back","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}`)
	for i := 1; i < tools; i++ {
		fmt.Fprintf(&b, `,{"name":"tool_%04d","title":"Tool %d","description":"Reads entry %d of the table, or as many as are asked for, and gives them in order.","inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"where to read from"},"limit":{"type":"integer","minimum":1,"maximum":1000,"default":100,"description":"how many at most"},"order":{"type":"string","enum":["up","down"]}},"required":["path"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}}`, i, i, i)
	}
	b.WriteString(`]}`)
	e.list = b.Bytes()
	return e
}

const (
	resultInit     = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"echo","version":"1"}}`
	resultDiscover = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"echo","version":"1"}}}`
	resultText     = `"content":[{"type":"text","text":`
	errorNoMethod  = `{"code":-32601,"message":"method not found"}`
)

var (
	keyID     = []byte(`"id":`)
	keyMethod = []byte(`"method":"`)
	keyText   = []byte(`"text":"`)
)

// answer appends the reply to one message to out; nothing for a notification. A quote inside a string is
// escaped, so the keys looked for cannot stand in one.
func (e *echo) answer(out, msg []byte) []byte {
	at := bytes.Index(msg, keyID)
	if at < 0 {
		return out
	}
	id := msg[at+len(keyID):]
	id = id[:bytes.IndexAny(id, ",}")]
	method := msg[bytes.Index(msg, keyMethod)+len(keyMethod):]
	method = method[:bytes.IndexByte(method, '"')]

	out = append(out, `{"jsonrpc":"2.0","id":`...)
	out = append(out, id...)
	member := func(name, value string) {
		out = append(out, name...)
		out = append(out, value...)
	}
	switch string(method) {
	case "tools/call":
		out = append(out, `,"result":{`...)
		if e.modern {
			out = append(out, `"resultType":"complete",`...)
		}
		out = append(out, resultText...)
		out = append(out, quotedText(msg)...)
		out = append(out, `}]}`...)
	case "tools/list":
		out = append(out, `,"result":`...)
		out = append(out, e.list...)
	case "initialize":
		member(`,"result":`, resultInit)
	case "server/discover":
		if e.modern {
			member(`,"result":`, resultDiscover)
		} else {
			member(`,"error":`, errorNoMethod)
		}
	case "ping":
		member(`,"result":`, `{}`)
	default:
		member(`,"error":`, errorNoMethod)
	}
	return append(out, '}')
}

// quotedText is the member text of the arguments, with its quotes, as it stands.
func quotedText(msg []byte) []byte {
	at := bytes.Index(msg, keyText)
	if at < 0 {
		return []byte(`""`)
	}
	s := msg[at+len(keyText)-1:]
	for end := 1; ; end++ {
		end += bytes.IndexByte(s[end:], '"')
		slashes := 0
		for s[end-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return s[:end+1]
		}
	}
}

// serveLines answers all that has come in one write.
func (e *echo) serveLines(in io.Reader, to io.Writer) {
	buf, out := make([]byte, 64<<10), make([]byte, 0, 64<<10)
	begin, end := 0, 0
	for {
		if end == len(buf) {
			if begin > 0 {
				end = copy(buf, buf[begin:end])
				begin = 0
			} else {
				buf = append(buf, make([]byte, len(buf))...)
			}
		}
		n, err := in.Read(buf[end:])
		if n == 0 && err != nil {
			return
		}
		from := end
		end += n
		out = out[:0]
		for {
			i := bytes.IndexByte(buf[from:end], '\n')
			if i < 0 {
				break
			}
			was := len(out)
			if out = e.answer(out, buf[begin:from+i]); len(out) > was {
				out = append(out, '\n')
			}
			from += i + 1
			begin = from
		}
		if begin == end {
			begin, end = 0, 0
		}
		if len(out) > 0 {
			if _, err := to.Write(out); err != nil {
				return
			}
		}
	}
}

// serveHTTP writes its address to standard output and serves until standard input ends.
func (e *echo) serveHTTP() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		os.Exit(4)
	}
	fmt.Println("http://" + l.Addr().String() + "/mcp")
	go func() { _ = http.Serve(l, e) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body := make([]byte, max(r.ContentLength, 0))
	if _, err := io.ReadFull(r.Body, body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	out := e.answer(make([]byte, 0, len(body)+256), body)
	if len(out) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(out))}
	if bytes.Contains(body[:min(len(body), 200)], []byte(`"initialize"`)) {
		h["Mcp-Session-Id"] = []string{"bench"}
	}
	_, _ = w.Write(out)
}
