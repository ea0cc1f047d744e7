//go:build unix

package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource"
)

const routeSchema = `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},` +
	`"at":{"type":"object","properties":{"shard":{"type":"integer","x-mcp-header":"Shard"}}},"dry":{"type":"boolean","x-mcp-header":"dry-run"}}}`

// sdkServer is a server of the SDK's own. "rounds" asks for the roots twice and answers with the arguments
// that came in each round.
func sdkServer(started, stopped func()) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	add := func(name, schema string, h mcp.ToolHandler) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)}, h)
	}
	reply := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	echo := func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return reply(string(r.Params.Arguments)), nil
	}
	add("echo", `{"type":"object"}`, echo)
	add("route", routeSchema, echo)
	add("rounds", `{"type":"object"}`, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		seen := r.Params.RequestState + string(r.Params.Arguments)
		if strings.Count(seen, "}") == 3 {
			return reply(seen), nil
		}
		//lint:ignore SA1019 the SDK still answers for roots, and nothing else makes it ask for a second round
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}, RequestState: seen}, nil
	})
	add("hang", `{"type":"object"}`, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		started()
		<-ctx.Done()
		stopped()
		return nil, ctx.Err()
	})
	var grown atomic.Int64
	add("grow", `{"type":"object"}`, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		add(fmt.Sprintf("new%d", grown.Add(1)), `{"type":"object"}`, echo)
		return reply("grown"), nil
	})
	return s
}

// modern is a server of revision 2026-07-28 over HTTP that remembers what it was asked.
type modern struct {
	*httptest.Server
	started atomic.Int64 // calls of hang that the server runs
	stopped atomic.Int64
	mu      sync.Mutex
	heads   []http.Header
	bodies  []in
	before  func(w http.ResponseWriter, r *http.Request, m in) (done bool)
}

func newModern(t *testing.T, opts mcp.StreamableHTTPOptions) *modern {
	o := &modern{}
	srv := sdkServer(func() { o.started.Add(1) }, func() { o.stopped.Add(1) })
	opts.Stateless, opts.PropagateRequestCancellation = true, true
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, &opts)
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m in
		_ = json.Unmarshal(body, &m)
		o.mu.Lock()
		o.heads, o.bodies = append(o.heads, r.Header.Clone()), append(o.bodies, m)
		before := o.before
		o.mu.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if before == nil || !before(w, r, m) {
			h.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() { o.CloseClientConnections(); o.Close() })
	return o
}

func (o *modern) dial(t *testing.T, opts Options, co *mcp.ClientOptions) *peer {
	t.Helper()
	p, err := connect(t, NewHTTP(HTTPConfig{URL: o.URL}, opts), "", co)
	if err != nil {
		t.Fatal(err)
	}
	if v := p.InitializeResult().ProtocolVersion; v != era2026 {
		t.Fatalf("the era is %s", v)
	}
	return p
}

// count is how many requests came with a method.
func (o *modern) count(method string) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.bodies {
		if m.Method == method {
			n++
		}
	}
	return n
}

func TestModernHTTPHeaders(t *testing.T) {
	for _, opts := range []mcp.StreamableHTTPOptions{{}, {JSONResponse: true}} {
		o := newModern(t, opts)
		p := o.dial(t, Options{}, nil)
		s := &Slot{}
		_, err := p.ListTools(WithSlot(t.Context(), s), nil)
		if got := (*Slot)(nil); !errors.As(err, &got) || !strings.Contains(string(s.Raw), `"x-mcp-header":"Region"`) {
			t.Fatalf("%v %s", err, s.Raw)
		}
		p.mustEcho(t, `{"b":9007199254740993,"a":"\u00e9"}`)
		if _, err := p.call(t.Context(), "gibt's nicht", `{}`); err == nil {
			t.Error("a tool that is not there")
		}
		closed(t, p.conn)
		if len(o.bodies) < 4 {
			t.Fatalf("%d requests", len(o.bodies))
		}
		for i, h := range o.heads {
			m := o.bodies[i]
			if h.Get("Mcp-Protocol-Version") != era2026 || h.Get("Mcp-Method") != m.Method || h.Get("Mcp-Name") != m.Params.Name || h.Get(headerSession) != "" {
				t.Errorf("%s: headers %v", m.Method, h)
			}
			if m.Method == "" || m.Method == "notifications/cancelled" {
				t.Errorf("sent %q", m.Method)
			}
		}
	}
}

// The headers repeat the arguments that are spliced in, which the SDK never sees.
func TestModernHTTPParamHeaders(t *testing.T) {
	o := newModern(t, mcp.StreamableHTTPOptions{})
	p := o.dial(t, Options{}, nil)
	hp, err := ParseHeaderParams([]byte(routeSchema))
	if err != nil {
		t.Fatal(err)
	}
	call := func(hp *HeaderParams, args string) (*Slot, error) {
		s := &Slot{Args: []byte(args), HeaderParams: hp}
		_, err := p.CallTool(WithSlot(t.Context(), s), &mcp.CallToolParams{Name: "route", Arguments: Marker})
		if got := (*Slot)(nil); !errors.As(err, &got) {
			t.Fatalf("not tapped: %v", err)
		}
		if s.RPC != nil {
			return s, s.RPC
		}
		return s, s.Bad
	}
	for _, args := range []string{
		`{"region":"us-west1","at":{"shard":7},"dry":true}`,
		`{"region":"Hello, 世界","at":{"shard":-9007199254740991}}`,
		`{"region":" padded ","at":{"shard":1e2}}`,
		`{"region":"=?base64?literal?=","dry":false}`,
		`{"region":"","at":{}}`,
		`{"region":null}`, `{}`, `{"region":"a\r\nX-Evil: 1"}`,
	} {
		s, err := call(hp, args)
		if err != nil {
			t.Errorf("%s: %v", args, err)
		} else if textOf(t, s) != args {
			t.Errorf("%s came as %s", args, textOf(t, s))
		}
	}
	s, err := call(nil, `{"region":"x"}`) // the schema is not known
	if s.RPC == nil || s.RPC.Code != CodeHeaderMismatch {
		t.Errorf("without headers: %v", err)
	}
	p.mustEcho(t, `{}`)

	// arguments that the SDK carries itself are looked into as well
	slot := &Slot{HeaderParams: hp}
	_, err = p.CallTool(WithSlot(t.Context(), slot), &mcp.CallToolParams{Name: "route", Arguments: map[string]any{"region": "eu"}})
	if slot.Raw == nil {
		t.Errorf("unspliced: %v, %v", err, slot.RPC)
	}
}

func TestParseHeaderParams(t *testing.T) {
	for _, tt := range []struct {
		schema string
		want   string // headers for args, or the error
		why    string
	}{
		{`{}`, "", "none"},
		{`true`, "", "no object"},
		{routeSchema, "Mcp-Param-Shard at.shard, Mcp-Param-Dry-Run dry, Mcp-Param-Region region", "nested"},
		{`{"properties":{"x-mcp-header":{"type":"string"}}}`, "", "a property of that name"},
		{`{"properties":{"a":{"type":"string","default":{"x-mcp-header":"A"},"enum":[{"x-mcp-header":1}]}}}`, "", "in data"},
		{`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`, "!", "a number"},
		{`{"properties":{"a":{"type":["string","null"],"x-mcp-header":"A"}}}`, "!", "several types"},
		{`{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}`, "!", "an object"},
		{`{"properties":{"a":{"x-mcp-header":"A"}}}`, "!", "no type"},
		{`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`, "!", "empty"},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`, "!", "a space"},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"a\r\nb"}}}`, "!", "a line end"},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"ä"}}}`, "!", "not ASCII"},
		{`{"properties":{"a":{"type":"string","x-mcp-header":7}}}`, "!", "no string"},
		{`{"properties":{"a":{"type":"string","x-mcp-header":null}}}`, "!", "null"},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`, "!", "twice"},
		{`{"type":"string","x-mcp-header":"A"}`, "!", "the root"},
		{`{"properties":{"a":{"items":{"type":"string","x-mcp-header":"A"}}}}`, "!", "in a list"},
		{`{"properties":{"a":{"items":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}}}}`, "!", "below a list"},
		{`{"oneOf":[true,{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`, "!", "in a choice"},
		{`{"$defs":{"d":{"type":"string","x-mcp-header":"A"}},"properties":{"a":{"$ref":"#/$defs/d"}}}`, "!", "behind a reference"},
		{`{"if":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`, "!", "in a condition"},
		{`{"patternProperties":{".":{"type":"string","x-mcp-header":"A"}}}`, "!", "in a pattern"},
		{`{"additionalProperties":{"type":"string","x-mcp-header":"A"}}`, "!", "in the rest"},
	} {
		hp, err := ParseHeaderParams([]byte(tt.schema))
		var got []string
		if hp != nil {
			for _, p := range hp.params {
				got = append(got, p.header+" "+strings.Join(p.path, "."))
			}
		}
		if (err != nil) != (tt.want == "!") || err == nil && strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: got %v, %v", tt.why, got, err)
		}
	}
}

func TestHeaderText(t *testing.T) {
	for in, want := range map[string]string{ // the examples of the revision, and some more
		"us-west1": "us-west1", "Hello, 世界": "=?base64?SGVsbG8sIOS4lueVjA==?=", " padded ": "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2": "=?base64?bGluZTEKbGluZTI=?=", "=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"a b": "a b", "=?base64?": "=?base64?", "\x7f": "=?base64?fw==?=", "file:///x": "file:///x",
	} {
		if got := headerText(in); got != want {
			t.Errorf("%q: got %s", in, got)
		}
	}
}

func roots() *mcp.ClientOptions {
	//lint:ignore SA1019 the SDK still answers for roots, and nothing else makes it ask for a second round
	return &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{}}}
}

func TestModernHTTPRoundsSpliceTheArgumentsEachTime(t *testing.T) {
	for _, opts := range []mcp.StreamableHTTPOptions{{}, {JSONResponse: true}} {
		p := newModern(t, opts).dial(t, Options{}, roots())
		rounds(t, p)
	}
}

func rounds(t *testing.T, p *peer) {
	t.Helper()
	const args = `{"n":9007199254740993}`
	s, err := p.call(t.Context(), "rounds", args)
	if err != nil || textOf(t, s) != args+args+args {
		t.Fatalf("%v %s", err, s.Raw)
	}
}

func TestModernHTTPCancelReachesTheServer(t *testing.T) {
	for _, opts := range []mcp.StreamableHTTPOptions{{}, {JSONResponse: true}} {
		o := newModern(t, opts)
		p := o.dial(t, Options{}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { _, err := p.call(ctx, "hang", `{}`); done <- err }()
		waitFor(t, func() bool { return o.started.Load() == 1 }) // before that the server may drop it without starting it
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		waitFor(t, func() bool { return o.stopped.Load() == 1 })
		p.mustEcho(t, `{}`)
		if n := o.count("notifications/cancelled"); n != 0 {
			t.Errorf("%d notifications, though the end of the request says it", n)
		}
		if n := p.conn.(*httpConn).calls.len(); n != 0 {
			t.Errorf("%d calls left", n)
		}
	}
}

func listening(changed *atomic.Int64) *mcp.ClientOptions {
	return &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed.Add(1) }}
}

func TestModernHTTPChangesAreHeardAfterACut(t *testing.T) {
	o := newModern(t, mcp.StreamableHTTPOptions{})
	var changed, noticed, subscribed atomic.Int64
	p := o.dial(t, Options{Notify: func(method string, _ json.RawMessage) {
		switch method {
		case kinds[0].method:
			noticed.Add(1)
		case methodAcknowledged:
			subscribed.Add(1)
		}
	}}, listening(&changed))
	grow := func() { // once: the server waits for an end of changes
		before := changed.Load()
		if _, err := p.call(t.Context(), "grow", `{}`); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { return changed.Load() > before && noticed.Load() == changed.Load() })
	}
	waitFor(t, func() bool { return subscribed.Load() == 1 })
	grow()
	for i := range 2 {
		before := changed.Load()
		o.CloseClientConnections()
		waitFor(t, func() bool { return o.count("subscriptions/listen") == i+2 })
		waitFor(t, func() bool { return changed.Load() == before+1 }) // what happened meanwhile is unknown
		grow()
	}
	_ = p.Close()
	waitFor(t, func() bool { return p.conn.(*httpConn).calls.len() == 0 })
}

func TestModernHTTPStalledListenHoldsNobodyUp(t *testing.T) {
	o := newModern(t, mcp.StreamableHTTPOptions{})
	freed := make(chan struct{})
	o.before = func(_ http.ResponseWriter, r *http.Request, m in) bool {
		if m.Method != "subscriptions/listen" {
			return false
		}
		<-r.Context().Done()
		close(freed)
		return true
	}
	var changed atomic.Int64
	began := time.Now()
	p := o.dial(t, Options{}, listening(&changed))
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("Connect took %v", d)
	}
	waitFor(t, func() bool { return o.count("subscriptions/listen") == 1 })
	p.mustEcho(t, `{}`)
	closed(t, p.conn)
	<-freed
}

// What a server may do with a subscription, in virtual time: how often it is asked.
func TestModernHTTPSubscriptionIsAskedAgain(t *testing.T) {
	const (
		ack   = `data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true}}}` + "\n\n"
		none  = `data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":false}}}` + "\n\n"
		news  = `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n\n"
		bye   = `data: {"jsonrpc":"2.0","id":ID,"result":{}}` + "\n\n"
		hello = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"resultType":"complete"}`
	)
	for _, tt := range []struct {
		status   int
		ct, body string
		asked    int // within two minutes
		changes  int64
		why      string
	}{
		{200, typeEvents, ack, 8, 7, "cut at once: at 0, 1, 3, 7, 15, 31 s, and then every 30"},
		{200, typeEvents, ack + news, 121, 241, "cut after news: every second"},
		{200, typeEvents, ack + bye, 8, 7, "closed by the server"},
		{200, typeEvents, none + bye, 1, 0, "nothing to subscribe to"},
		{200, typeEvents, `data: {"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}` + "\n\n", 1, 0, "refused on the stream"},
		{200, typeJSON, `{"jsonrpc":"2.0","id":ID,"result":{}}`, 1, 0, "no stream"},
		{404, typeJSON, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}`, 1, 0, "no such method"},
		{400, typeJSON, `{"jsonrpc":"2.0","error":{"code":-32020,"message":"no"}}`, 1, 0, "refused"},
		{503, "text/plain", "", 8, 0, "overloaded"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var asked atomic.Int64
			rt := tripper(func(r *http.Request) (*http.Response, error) {
				body, _ := io.ReadAll(r.Body)
				var m in
				_ = json.Unmarshal(body, &m)
				switch m.Method {
				case methodDiscover:
					return respond(r, 200, typeJSON, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+hello+`}`), nil
				case methodListen:
					asked.Add(1)
					return respond(r, tt.status, tt.ct, strings.ReplaceAll(tt.body, "ID", string(m.ID))), nil
				}
				return nil, errors.New("unexpected " + m.Method)
			})
			var changed, heard atomic.Int64
			tr := NewHTTP(HTTPConfig{URL: "http://h/mcp", Transport: rt}, Options{Notify: func(m string, _ json.RawMessage) {
				if m == kinds[0].method {
					heard.Add(1)
				}
			}})
			cs, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, listening(&changed)).Connect(t.Context(), tr, nil)
			if err != nil {
				t.Fatal(tt.why, err)
			}
			time.Sleep(2*time.Minute + time.Millisecond)
			synctest.Wait()
			if n := int(asked.Load()); n != tt.asked || heard.Load() != tt.changes || changed.Load() != tt.changes {
				t.Errorf("%s: asked %d times, %d changes, %d reached the SDK", tt.why, n, heard.Load(), changed.Load())
			}
			_ = tr.Conn().Close()
			_ = cs.Close()
			if err := tr.Conn().Gone(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A JSON-RPC error that comes with an HTTP error is the call's own, with or without its id.
func TestModernHTTPErrorsWithAStatus(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		code   int64 // 0: a StatusError
		why    string
	}{
		{400, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32020,"message":"m"}}`, CodeHeaderMismatch, "header mismatch"},
		{400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32020,"message":"m"}}`, CodeHeaderMismatch, "before the body was read"},
		{400, `{"jsonrpc":"2.0","error":{"code":-32022,"message":"m","data":{"supported":["2025-11-25"]}}}`, CodeUnsupportedRevision, "no id"},
		{404, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"m"}}`, -32601, "no such method"},
		{404, `{"jsonrpc":"2.0","id":4711,"error":{"code":-32601,"message":"m"}}`, 0, "of another call"},
		{400, `nope`, 0, "no JSON"},
	} {
		o := newModern(t, mcp.StreamableHTTPOptions{})
		o.before = func(w http.ResponseWriter, _ *http.Request, m in) bool {
			if m.Params.Name != "odd" {
				return false
			}
			w.Header().Set("Content-Type", typeJSON)
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, strings.ReplaceAll(tt.body, "ID", string(m.ID)))
			return true
		}
		p := o.dial(t, Options{}, nil)
		s, err := p.call(t.Context(), "odd", `{}`)
		var st *StatusError
		if tt.code != 0 && (s.RPC == nil || s.RPC.Code != tt.code) || tt.code == 0 && (!errors.As(err, &st) || st.Status != tt.status) {
			t.Errorf("%s: %v", tt.why, err)
		}
		if errors.Is(err, toolsource.ErrSessionLost) {
			t.Errorf("%s: there is no session", tt.why)
		}
		p.mustEcho(t, `{}`)
	}
}

// A server that refuses the revision and one that knows no discovery are spoken to in the older one.
func TestModernHTTPFallsBack(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		why    string
	}{
		{400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"m","data":{"supported":["2025-11-25"]}}}`, "another revision"},
		{404, `not found`, "no such path"},
		{200, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"m"}}`, "no such method"},
	} {
		o := newOdd(t)
		h := o.Config.Handler
		o.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get(headerMethod) != methodDiscover {
				h.ServeHTTP(w, r)
				return
			}
			var m in
			_ = json.NewDecoder(r.Body).Decode(&m)
			w.Header().Set("Content-Type", typeJSON)
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, strings.ReplaceAll(tt.body, "ID", string(m.ID)))
		})
		p, err := connect(t, NewHTTP(HTTPConfig{URL: o.URL, NoGetStream: true}, Options{}), "", nil)
		if err != nil {
			t.Errorf("%s: %v", tt.why, err)
			continue
		}
		p.mustEcho(t, `{}`)
		o.mu.Lock()
		for _, h := range o.heads {
			if h.Get(headerVersion) != legacy || h.Get(headerSession) != "s-1" || h.Get(headerMethod) != "" {
				t.Errorf("%s: headers %v", tt.why, h)
			}
		}
		o.mu.Unlock()
	}
}

func TestModernStdio(t *testing.T) {
	var changed atomic.Int64
	co := listening(&changed)
	co.Capabilities = roots().Capabilities
	p, err := connect(t, stdioTransport4(t, "sdk", Options{}), "", co)
	if err != nil {
		t.Fatal(err)
	}
	if v := p.InitializeResult().ProtocolVersion; v != era2026 {
		t.Fatalf("the era is %s", v)
	}
	s := &Slot{}
	_, err = p.ListTools(WithSlot(t.Context(), s), nil)
	if got := (*Slot)(nil); !errors.As(err, &got) || !strings.Contains(string(s.Raw), `"x-mcp-header":"Region"`) {
		t.Fatalf("%v %s", err, s.Raw)
	}
	p.mustEcho(t, `{"b":9007199254740993,"a":"\u00e9"}`)
	rounds(t, p)
	if _, err := p.call(t.Context(), "grow", `{}`); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return changed.Load() > 0 })

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := p.call(ctx, "hang", `{}`); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	waitFor(t, func() bool { return strings.Contains(p.conn.Stderr(), "stopped") })
	p.mustEcho(t, `{}`)
	if n := p.conn.(*stdioConn).calls.len(); n != 1 { // the subscription's
		t.Errorf("%d calls in the table", n)
	}
	closed(t, p.conn)
}

// serveSDK is the SDK's server as a child.
func serveSDK() {
	s := sdkServer(func() {}, func() { fmt.Fprintln(os.Stderr, "stopped") })
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}
