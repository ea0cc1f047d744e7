package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolsource/toolsource"
)

const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerEventID = "Last-Event-ID"

	typeJSON   = "application/json"
	typeEvents = "text/event-stream"

	errorBody    = 64 << 10 // bytes read of an answer that is none
	errorShown   = 500      // bytes of it that are kept
	maxRedirects = 5
)

// Header values that are the same in every request; nobody writes to them.
var (
	contentJSON  = []string{typeJSON}
	acceptBoth   = []string{typeJSON + ", " + typeEvents}
	acceptEvents = []string{typeEvents}
	acceptGzip   = []string{"gzip"}
)

// httpBase is what the two HTTP connections share: the client, the headers, the origin's border, and what
// answers that are no MCP replies mean. Every request ends with the connection.
type httpBase struct {
	*core
	life
	cfg    HTTPConfig
	url    *url.URL
	trip   http.RoundTripper
	own    *http.Transport // trip, if it is ours
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	events sync.Pool // *eventReader
	bodies sync.Pool // *bodyPiece

	incoming chan jsonrpc.Message

	smu       sync.Mutex
	sessionID string
	version   string
	denied    error          // the probe was refused with 401 or 403
	lists     []string       // notifications of changes that the server has promised
	token     string         // the last Authorization header that OAuth gave
	shared    *sharedHeaders // of the last POST
	parting   parting
}

func newHTTPBase(cfg HTTPConfig, o Options) (*httpBase, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("wire: %w: the server's URL is not an absolute http or https URL", toolsource.ErrPermanent)
	}
	b := &httpBase{core: newCore(o), life: newLife(), cfg: cfg, url: u, incoming: make(chan jsonrpc.Message, 16)}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.events.New = func() any {
		return &eventReader{r: bufioReader(), max: b.opts.MaxMessage}
	}
	rt := cfg.Transport
	if rt == nil {
		b.own = newTransport(cfg)
		rt = b.own
	}
	b.trip = rt
	return b, nil
}

// where names the server without what a URL may hide: user, path and query.
func (b *httpBase) where() string { return b.url.Scheme + "://" + b.url.Host }

// SessionID implements mcp.Connection.
func (b *httpBase) SessionID() string {
	b.smu.Lock()
	defer b.smu.Unlock()
	return b.sessionID
}

// Stderr implements Conn: there is none.
func (b *httpBase) Stderr() string { return "" }

// greet learns the protocol revision that was agreed on. A server that is discovered names those it knows;
// the one that it was asked in is among them, or the SDK asks again in another.
func (b *httpBase) greet(to *call, result []byte) {
	var r struct {
		ProtocolVersion   string          `json:"protocolVersion"`
		SupportedVersions []string        `json:"supportedVersions"`
		Capabilities      json.RawMessage `json:"capabilities"`
	}
	if json.Unmarshal(result, &r) != nil {
		return
	}
	revision := r.ProtocolVersion
	if to.method == methodDiscover {
		if revision = to.asked; !slices.Contains(r.SupportedVersions, revision) {
			return
		}
	}
	var promised map[string]json.RawMessage
	_ = json.Unmarshal(r.Capabilities, &promised)
	var lists []string
	for _, k := range kinds {
		var of struct {
			ListChanged bool `json:"listChanged"`
		}
		if json.Unmarshal(promised[k.capability], &of) == nil && of.ListChanged {
			lists = append(lists, k.method)
		}
	}
	b.smu.Lock()
	defer b.smu.Unlock()
	b.version, b.lists = revision, lists
}

// changeable are the notifications that the server has promised for changes of its lists.
func (b *httpBase) changeable() (notes [][]byte) {
	b.smu.Lock()
	defer b.smu.Unlock()
	for _, method := range b.lists {
		notes = append(notes, changeNote(method))
	}
	return notes
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// send is an http.Client's work with rules of our own: redirects are followed within the origin and with
// the same method only, so that headers stay at home and no POST becomes a GET.
func (b *httpBase) send(f *flight, req *http.Request, o order) (*http.Response, error) {
	plain := b.plain(o)
	for hops := 0; ; hops++ {
		switch {
		case o.text[0] == nil:
		case plain: // of a body that it knows to be in memory net/http writes headers and body at once
			req.ContentLength = int64(len(o.text[0]))
			req.Body = io.NopCloser(bytes.NewReader(o.text[0]))
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(o.text[0])), nil }
		default:
			req.ContentLength = int64(o.text.size())
			req.Body = f.body(o.text)
			req.GetBody = func() (io.ReadCloser, error) { return f.body(o.text), nil }
		}
		resp, err := b.trip.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		to, err := b.redirect(req, resp)
		if err == nil && to != nil && hops == maxRedirects {
			err = fmt.Errorf("redirected more than %d times", maxRedirects)
		}
		if err != nil {
			_ = resp.Body.Close()
			return nil, err
		}
		if to == nil {
			if b.own != nil {
				decompress(resp)
			}
			return resp, nil
		}
		_ = resp.Body.Close()
		next := req.WithContext(req.Context())
		next.URL = to
		req = next
	}
}

// plain reports whether a body can be given as it is, since our own transport tells when it is begun.
func (b *httpBase) plain(o order) bool { return b.own != nil && o.text[0] != nil && o.text[1] == nil }

// redirect says where an answer leads; nil: nowhere.
func (b *httpBase) redirect(req *http.Request, resp *http.Response) (*url.URL, error) {
	s := resp.StatusCode
	switch s {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	to, err := req.URL.Parse(resp.Header.Get("Location"))
	switch {
	case err != nil || resp.Header.Get("Location") == "":
		return nil, fmt.Errorf("redirected (%d) to nowhere", s)
	case !sameOrigin(to, b.url):
		return nil, fmt.Errorf("redirected (%d) to another origin, %s://%s, which is refused: set the server's URL to where it is", s, to.Scheme, to.Host)
	case req.Method != http.MethodGet && s != http.StatusTemporaryRedirect && s != http.StatusPermanentRedirect:
		return nil, fmt.Errorf("redirected (%d) so that the %s would become a GET, which is refused: set the server's URL to where it is", s, req.Method)
	}
	return to, nil
}

// flight is one HTTP request on its way. It ends with the context it was made for and with the connection.
type flight struct {
	ctx    context.Context
	cancel context.CancelFunc
	stop   func() bool // unties it from the context it was made for
	slot   *Slot
	sent   atomic.Bool // the body was begun, so bytes of it may have left
}

// note is told before the first byte of the body goes out.
func (f *flight) note() {
	f.sent.Store(true)
	f.slot.setSent(true)
}

func (b *httpBase) takeoff(ctx context.Context, slot *Slot) *flight {
	f := &flight{slot: slot}
	f.ctx, f.cancel = context.WithCancel(b.ctx)
	f.stop = context.AfterFunc(ctx, f.cancel)
	return f
}

func (f *flight) land() {
	f.stop()
	f.cancel()
}

// sentBody is a body on its way. It counts as sent from the first byte that somebody asks for.
type sentBody struct {
	parts parts // what is still to be read
	f     *flight
}

func (s *sentBody) Read(p []byte) (n int, err error) {
	s.f.note()
	for i := range s.parts {
		k := copy(p[n:], s.parts[i])
		s.parts[i] = s.parts[i][k:]
		n += k
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (s *sentBody) WriteTo(w io.Writer) (n int64, err error) {
	s.f.note()
	for i, part := range s.parts {
		if len(part) == 0 {
			continue
		}
		k, err := w.Write(part)
		n += int64(k)
		s.parts[i] = part[k:]
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

func (s *sentBody) Close() error { return nil }

func (f *flight) body(parts parts) io.ReadCloser { return &sentBody{parts, f} }

// order says what to ask the server for.
type order struct {
	method string
	url    *url.URL
	text   parts // body; nil: none
	accept []string
	lastID string // resume after this event
	mirror mirror
}

// do sends one request and returns the answer, whatever its status. With an OAuth handler a 401 or 403 to a
// POST is authorised once and the request sent once more. ctx is the caller's own; f bounds the request.
func (b *httpBase) do(ctx context.Context, f *flight, o order) (*http.Response, error) {
	resp, req, err := b.once(ctx, f, o)
	if err != nil || b.cfg.OAuth == nil || o.method != http.MethodPost || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		return resp, err
	}
	// a copy of the answer stays with us for the case that authorising fails
	body, _ := io.ReadAll(io.LimitReader(resp.Body, errorBody))
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if aerr := b.cfg.OAuth.Authorize(ctx, req, resp); aerr != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
		refused := b.refused(resp, o)
		var st *StatusError
		if errors.As(refused, &st) {
			st.Authorising = b.redact(aerr.Error())
		}
		return nil, redactError(fmt.Errorf("%w: authorising: %w", refused, aerr), b.opts.Redact)
	}
	resp, _, err = b.once(ctx, f, o)
	return resp, err
}

func (b *httpBase) once(ctx context.Context, f *flight, o order) (*http.Response, *http.Request, error) {
	h, err := b.headers(ctx, o)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return nil, nil, redactError(fmt.Errorf("%w: headers for %s: %w", toolsource.ErrNotReached, b.where(), err), b.opts.Redact)
	}
	rctx := f.ctx
	if b.plain(o) {
		rctx = httptrace.WithClientTrace(rctx, &httptrace.ClientTrace{WroteHeaders: f.note})
	}
	req := newRequest(rctx, o, h)
	for try := 0; ; try++ {
		resp, err := b.send(f, req, o)
		if err == nil {
			return resp, req, nil
		}
		if try == maxForeignCancels || !errors.Is(err, context.Canceled) || f.ctx.Err() != nil || f.sent.Load() {
			return nil, nil, b.sendError(ctx, f, o, err)
		}
	}
}

// maxForeignCancels is how often a request is begun again that was cut off, before anything of it had left,
// by the end of another one: net/http may hand on a connection after an answer without a body and then
// close it because the context of the first request ended at that moment.
const maxForeignCancels = 3

// sendError says what a failed request means, without its URL.
func (b *httpBase) sendError(ctx context.Context, f *flight, o order, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var ue *url.Error // a host's transport may have made one
	if errors.As(err, &ue) {
		err = ue.Err
	}
	if b.ctx.Err() != nil {
		err = errClosed
		if cause := b.Err(); cause != nil {
			err = cause
		}
	}
	err = fmt.Errorf("%s %s: %w", o.method, b.where(), err)
	if !f.sent.Load() {
		err = fmt.Errorf("%w: %w", toolsource.ErrNotReached, err)
	}
	return redactError(err, b.opts.Redact)
}

// push hands a message to the SDK's reading goroutine.
func (b *httpBase) push(f *flight, msg jsonrpc.Message) {
	select {
	case b.incoming <- msg:
	case <-f.ctx.Done():
	}
}

// Close implements mcp.Connection. It returns at once; Gone waits.
func (b *httpBase) Close() error {
	b.shut(nil)
	return nil
}

const deleteTime = time.Second

func (b *httpBase) shut(cause error) {
	if !b.end(cause) {
		return
	}
	b.cancel()
	go b.leave(errors.Is(cause, toolsource.ErrSessionLost))
}

// leave tells the server that the session is over, unless it said so itself, and waits for what is ours.
func (b *httpBase) leave(lost bool) {
	defer b.vanish()
	if !lost && b.SessionID() != "" {
		b.sayGoodbye()
	}
	b.wg.Wait()
	if b.own != nil {
		b.own.CloseIdleConnections()
	}
}

func (b *httpBase) sayGoodbye() {
	ctx, cancel := context.WithTimeout(context.Background(), min(deleteTime, b.opts.CloseBound/2))
	defer cancel()
	o := order{method: http.MethodDelete, url: b.url}
	h, err := b.headers(ctx, o)
	if err != nil {
		return
	}
	req := newRequest(ctx, o, h)
	if resp, err := b.send(nil, req, o); err == nil {
		_ = resp.Body.Close()
	}
}

func bufioReader() *bufio.Reader { return bufio.NewReaderSize(nil, smallPage) }

func newRequest(ctx context.Context, o order, h http.Header) *http.Request {
	host := h.Get("Host")
	if host == "" {
		host = o.url.Host
	}
	return (&http.Request{
		Method: o.method, URL: o.url, Host: host, Header: h,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
}
