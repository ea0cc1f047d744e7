package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
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
	idlePerHost  = 64
)

// httpBase is what the two HTTP connections share: the client, the headers, the origin's border, and what
// answers that are no MCP replies mean. Every request ends with the connection.
type httpBase struct {
	core
	life
	cfg    HTTPConfig
	url    *url.URL
	client *http.Client
	own    *http.Transport // nil: the host's
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	events sync.Pool // *eventReader

	incoming chan jsonrpc.Message

	smu       sync.Mutex
	sessionID string
	version   string
	token     string // the last Authorization header that OAuth gave
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
		b.own = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			MaxIdleConnsPerHost: idlePerHost,
			IdleConnTimeout:     90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second,
			ForceAttemptHTTP2:   true,
		}
		rt = b.own
	}
	b.client = &http.Client{Transport: rt, CheckRedirect: b.checkRedirect}
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

// greet learns the protocol version that later requests name.
func (b *httpBase) greet(result []byte) {
	var r struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if json.Unmarshal(result, &r) == nil {
		b.smu.Lock()
		b.version = r.ProtocolVersion
		b.smu.Unlock()
	}
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

// checkRedirect follows within the origin and with the same method only, so that headers stay at home and
// no POST becomes a GET.
func (b *httpBase) checkRedirect(req *http.Request, via []*http.Request) error {
	status := 0
	if req.Response != nil {
		status = req.Response.StatusCode
	}
	switch {
	case !sameOrigin(req.URL, b.url):
		return fmt.Errorf("redirected (%d) to another origin, %s://%s, which is refused: set the server's URL to where it is", status, req.URL.Scheme, req.URL.Host)
	case req.Method != via[0].Method:
		return fmt.Errorf("redirected (%d) so that the %s would become a %s, which is refused: set the server's URL to where it is", status, via[0].Method, req.Method)
	case len(via) > maxRedirects:
		return fmt.Errorf("redirected more than %d times", maxRedirects)
	}
	return nil
}

// flight is one HTTP request on its way. It ends with the context it was made for and with the connection.
type flight struct {
	ctx    context.Context
	cancel context.CancelFunc
	stop   func() bool // unties it from the context it was made for
	slot   *Slot
	sent   atomic.Bool // the body was asked for, so bytes may have left
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

type sentBody struct {
	bytes.Reader
	f *flight
}

func (s *sentBody) Read(p []byte) (int, error) {
	s.f.sent.Store(true)
	s.f.slot.setSent(true)
	return s.Reader.Read(p)
}

func (s *sentBody) WriteTo(w io.Writer) (int64, error) {
	s.f.sent.Store(true)
	s.f.slot.setSent(true)
	return s.Reader.WriteTo(w)
}

func (s *sentBody) Close() error { return nil }

func (f *flight) body(text []byte) io.ReadCloser {
	s := &sentBody{f: f}
	s.Reset(text)
	return s
}

// order says what to ask the server for.
type order struct {
	method string
	url    *url.URL
	text   []byte // body; nil: none
	accept string
	lastID string // resume after this event
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
		return nil, redactError(fmt.Errorf("%w: authorising: %w", b.refused(resp, o), aerr), b.opts.Redact)
	}
	resp, _, err = b.once(ctx, f, o)
	return resp, err
}

func (b *httpBase) once(ctx context.Context, f *flight, o order) (*http.Response, *http.Request, error) {
	req := newRequest(f.ctx, o)
	err := b.setHeaders(ctx, req, o)
	if err == nil && b.cfg.OAuth != nil {
		err = b.setToken(ctx, req.Header)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return nil, nil, redactError(fmt.Errorf("%w: headers for %s: %w", toolsource.ErrNotReached, b.where(), err), b.opts.Redact)
	}
	if o.text != nil {
		req.ContentLength = int64(len(o.text))
		req.Body = f.body(o.text)
		req.GetBody = func() (io.ReadCloser, error) { return f.body(o.text), nil }
	}
	for try := 0; ; try++ {
		resp, err := b.client.Do(req)
		if err == nil {
			return resp, req, nil
		}
		if try == maxForeignCancels || !errors.Is(err, context.Canceled) || f.ctx.Err() != nil || f.sent.Load() {
			return nil, nil, b.sendError(ctx, f, o, err)
		}
		if o.text != nil {
			req.Body = f.body(o.text)
		}
	}
}

// maxForeignCancels is how often a request is begun again that was cut off, before anything of it had left,
// by the end of another one: net/http may hand on a connection after an answer without a body and then
// close it because the context of the first request ended at that moment.
const maxForeignCancels = 3

// setHeaders is where the headers of later protocol versions join.
func (b *httpBase) setHeaders(ctx context.Context, req *http.Request, o order) error {
	h := req.Header
	if b.cfg.Headers != nil {
		extra, err := b.cfg.Headers(ctx)
		if err != nil {
			return err
		}
		for k, v := range extra {
			h[http.CanonicalHeaderKey(k)] = append([]string(nil), v...)
		}
		if host := h.Get("Host"); host != "" {
			req.Host = host
		}
	}
	if o.text != nil {
		h["Content-Type"] = []string{typeJSON}
	}
	if o.accept != "" {
		h["Accept"] = []string{o.accept}
	}
	if o.lastID != "" {
		h[headerEventID] = []string{o.lastID}
	}
	b.smu.Lock()
	defer b.smu.Unlock()
	if b.sessionID != "" {
		h[headerSession] = []string{b.sessionID}
	}
	if b.version != "" {
		h[headerVersion] = []string{b.version}
	}
	return nil
}

// setToken asks for a token on a goroutine of its own, since a token source knows no context.
func (b *httpBase) setToken(ctx context.Context, h http.Header) error {
	type answer struct {
		kind, token string
		err         error
	}
	got := make(chan answer, 1)
	started := b.spawn(func() {
		ts, err := b.cfg.OAuth.TokenSource(ctx)
		if err != nil || ts == nil {
			got <- answer{err: err}
			return
		}
		t, err := ts.Token()
		if err != nil {
			got <- answer{err: err}
			return
		}
		got <- answer{t.Type(), t.AccessToken, nil}
	})
	if !started {
		return errClosed
	}
	select {
	case a := <-got:
		if a.err != nil {
			return fmt.Errorf("%w: %w", toolsource.ErrNeedsAuth, a.err)
		}
		if a.token != "" {
			auth := a.kind + " " + a.token
			h.Set("Authorization", auth)
			b.smu.Lock()
			b.token = auth
			b.smu.Unlock()
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-b.ctx.Done():
		return errClosed
	}
}

// sendError says what a failed request means, without its URL.
func (b *httpBase) sendError(ctx context.Context, f *flight, o order, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var ue *url.Error
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

func mediaType(resp *http.Response) string {
	t := resp.Header.Get("Content-Type")
	switch t {
	case typeJSON, typeEvents:
		return t
	}
	mt, _, err := mime.ParseMediaType(t)
	if err != nil {
		mt, _, _ = strings.Cut(t, ";")
	}
	return strings.ToLower(strings.TrimSpace(mt))
}

// refused makes the error of an answer that is no MCP reply, with the sentinels that tell what to do. It
// reads and closes the body. A lost session also ends the connection.
func (b *httpBase) refused(resp *http.Response, o order) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, errorBody))
	_ = resp.Body.Close()
	return b.refusal(resp, body, o)
}

func (b *httpBase) refusal(resp *http.Response, body []byte, o order) error {
	st := &StatusError{
		Status: resp.StatusCode, ContentType: mediaType(resp), Body: b.excerpt(body),
		WWWAuthenticate: b.redact(strings.Join(resp.Header.Values("WWW-Authenticate"), ", ")),
		RetryAfter:      retryAfter(resp.Header.Get("Retry-After")),
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%w: %w: %w", toolsource.ErrNeedsAuth, toolsource.ErrNotReached, st)
	case resp.StatusCode == http.StatusForbidden && strings.Contains(st.WWWAuthenticate, "insufficient_scope"):
		return fmt.Errorf("%w: %w: %w", toolsource.ErrInsufficientScope, toolsource.ErrNotReached, st)
	case resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%w: %w: %w", toolsource.ErrForbidden, toolsource.ErrNotReached, st)
	case b.sessionIsLost(resp, body):
		lost := fmt.Errorf("%w: %w", toolsource.ErrSessionLost, st)
		b.shut(lost)
		return fmt.Errorf("%w: %w", toolsource.ErrNotReached, lost)
	case resp.StatusCode/100 == 2 || resp.StatusCode/100 == 3:
		return fmt.Errorf("%w: no MCP reply: %w: %s", toolsource.ErrProtocol, st, firstLine(st.Body))
	case st.Body != "" && !strings.Contains(st.ContentType, "html"):
		return fmt.Errorf("%w: %s", st, firstLine(st.Body))
	}
	return st
}

func (b *httpBase) excerpt(body []byte) string {
	return cut(b.redact(strings.ToValidUTF8(string(body), "\uFFFD")), errorShown)
}

func firstLine(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return "an empty body"
	}
	line, _, _ := strings.Cut(s, "\n")
	return cut(strings.TrimSpace(line), 120)
}

func retryAfter(s string) time.Duration {
	if s == "" {
		return 0
	}
	if sec, err := strconv.ParseUint(s, 10, 31); err == nil {
		return time.Duration(sec) * time.Second
	}
	if at, err := http.ParseTime(s); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// sessionIsLost knows the ways in which servers say so: 404 (and 410) for a request that carried a session
// id, whatever the body; 400 whose body speaks of the session.
func (b *httpBase) sessionIsLost(resp *http.Response, body []byte) bool {
	if resp.Request == nil || resp.Request.Header.Get(headerSession) == "" && !resp.Request.URL.Query().Has("sessionId") &&
		!resp.Request.URL.Query().Has("session_id") {
		return false
	}
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		return true
	case http.StatusBadRequest:
		s := strings.ToLower(string(body))
		for _, words := range []string{"session id", "session not found", "no valid session", "invalid session", "unknown session",
			"session expired", "session has expired", "mcp-session-id", "session does not exist", "session terminated", "no session"} {
			if strings.Contains(s, words) {
				return true
			}
		}
	}
	return false
}

// push hands a message to the SDK's reading goroutine.
func (b *httpBase) push(f *flight, msg jsonrpc.Message) {
	select {
	case b.incoming <- msg:
	case <-f.ctx.Done():
	}
}

func (b *httpBase) unusable(text []byte, err error) {
	switch {
	case err == nil:
	case errors.Is(err, errUnasked):
		b.opts.Logger.Debug("dropped a reply to no call under way")
	default:
		b.noise.add(text, err)
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
	defer close(b.gone)
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
	req := newRequest(ctx, order{method: http.MethodDelete, url: b.url})
	if err := b.setHeaders(ctx, req, order{}); err != nil {
		return
	}
	b.smu.Lock()
	if b.token != "" {
		req.Header["Authorization"] = []string{b.token} // the last one has to do: fetching one may take long
	}
	b.smu.Unlock()
	if resp, err := b.client.Do(req); err == nil {
		_ = resp.Body.Close()
	}
}

func bufioReader() *bufio.Reader { return bufio.NewReaderSize(nil, firstBuffer) }

func newRequest(ctx context.Context, o order) *http.Request {
	return (&http.Request{
		Method: o.method, URL: o.url, Host: o.url.Host, Header: make(http.Header, 8),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
}
