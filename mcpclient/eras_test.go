package mcpclient

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolsource/toolsource"
)

// eraChild is a server that knows one era, or neither, and reacts in its own way to the other. TEST_ERA are
// its ways, one for each start, the last for all further ones; TEST_JOURNAL gets what it received.
func eraChild() {
	journal := os.Getenv("TEST_JOURNAL")
	note := func(s string) {
		f, err := os.OpenFile(journal, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, _ = f.WriteString(s + "\n")
			_ = f.Close()
		}
	}
	before, _ := os.ReadFile(journal)
	ways := strings.Split(os.Getenv("TEST_ERA"), ",")
	way := ways[min(strings.Count(string(before), "start\n"), len(ways)-1)]
	note("start")
	time.AfterFunc(time.Minute, func() { os.Exit(99) })
	muted := false
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ ProtocolVersion string }
		}
		_ = json.Unmarshal(in.Bytes(), &m)
		note(m.Method)
		answer := func(key, raw string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,%q:%s}`+"\n", m.ID, key, raw) }
		refuse := func() { answer("error", `{"code":-32601,"message":"method not found"}`) }
		discover, initialize := m.Method == "server/discover", m.Method == "initialize"
		switch {
		case m.ID == nil, muted:
		case discover && way == "exits":
			fmt.Fprintln(os.Stderr, "what is server/discover?")
			os.Exit(3)
		case discover && way == "silent":
		case discover && way == "mute":
			muted = true
		case discover && way == "odd":
			answer("result", `{"supportedVersions":["2027-01-01"],"capabilities":3}`)
		case discover && way == "confused":
			muted = true
			refuse()
		case discover && way == "modern":
			answer("result", `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
		case discover, initialize && way == "modern":
			refuse()
		case initialize && way == "broken":
			os.Exit(4)
		case initialize:
			answer("result", `{"protocolVersion":"`+m.Params.ProtocolVersion+`","capabilities":{"tools":{}},"serverInfo":{"name":"era","version":"1"}}`)
		case m.Method == "tools/list":
			answer("result", `{"resultType":"complete","tools":[{"name":"x","inputSchema":{"type":"object"}}]}`)
		case m.Method == "tools/call":
			answer("result", `{"resultType":"complete","content":[{"type":"text","text":"ok"}]}`)
		default:
			refuse()
		}
	}
}

// eraServer is a server that is an eraChild, and its journal.
func eraServer(t *testing.T, ways string, o *Options, change ...func(*ServerConfig)) (*Server, func() string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(t.TempDir(), "journal")
	cfg := ServerConfig{ID: "era", Command: exe, EraProbe: 300 * time.Millisecond, CloseBound: time.Second, Env: map[string]toolsource.Secret{
		"TEST_ERA": toolsource.Secret(ways), "TEST_JOURNAL": toolsource.Secret(journal), "GORACE": "atexit_sleep_ms=0",
	}}
	for _, c := range change {
		c(&cfg)
	}
	s, err := New(cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, func() string {
		raw, _ := os.ReadFile(journal)
		var kept []string
		for _, l := range strings.Fields(string(raw)) {
			if !strings.HasPrefix(l, "notifications/") {
				kept = append(kept, l)
			}
		}
		return strings.Join(kept, " ")
	}
}

// reconnect has a server make a new session, by an end of the one that it has.
func reconnect(t *testing.T, s *Server) error {
	t.Helper()
	sess, epoch := s.live(), s.Status().Epoch
	if sess == nil {
		return errors.New("there is no session")
	}
	_ = sess.conn.Close()
	waitFor(t, func() bool {
		st := s.Status()
		return st.Epoch > epoch && st.State == toolsource.StateReady || st.State == toolsource.StateBackoff || st.State == toolsource.StateParked
	})
	_, err := s.Call(t.Context(), "x", nil, CallOptions{})
	return err
}

func TestEraIsFoundOutAndRemembered(t *testing.T) {
	const plain, call = "start initialize tools/list", " tools/call"
	for _, tc := range []struct {
		why, ways   string
		era         string
		first, next string // what the first session and the next one cost
	}{
		{"refuses server/discover: one more trip, and none the next time", "legacy", Era20251125,
			"start server/discover initialize tools/list", plain},
		{"answers it with what cannot be used: the same", "odd", Era20251125,
			"start server/discover initialize tools/list", plain},
		{"says nothing to it: a second start, within the same attempt", "silent", Era20251125,
			"start server/discover " + plain, plain},
		{"says nothing from then on", "mute", Era20251125,
			"start server/discover " + plain, plain},
		{"ends at it: a second start", "exits", Era20251125,
			"start server/discover " + plain, plain},
		{"knows the newest only", "modern", Era20260728,
			"start server/discover tools/list", "start server/discover tools/list"},
		{"forgot the older one meanwhile: refused, and found out again in the same attempt", "legacy,modern", Era20260728,
			"start server/discover initialize tools/list", "start initialize start server/discover tools/list"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			t.Parallel()
			s, journal := eraServer(t, tc.ways, nil)
			l, err := s.List(t.Context())
			if err != nil || len(l.Tools) != 1 {
				t.Fatalf("%+v, %v", l, err)
			}
			if got := journal(); got != tc.first {
				t.Errorf("the first session cost\n%s, want\n%s", got, tc.first)
			}
			if st := s.Status(); st.Attempts != 0 || st.Epoch != 1 || st.Err != nil {
				t.Errorf("the ladder was charged: %+v", st)
			}
			if err := reconnect(t, s); err != nil {
				t.Fatal(err)
			}
			if got := s.Status().Era; got != tc.era {
				t.Errorf("era %s, want %s", got, tc.era)
			}
			if got := strings.TrimPrefix(journal(), tc.first+" "); got != tc.next+call {
				t.Errorf("the next session cost\n%s, want\n%s", got, tc.next+call)
			}
		})
	}
}

// A handshake that is dropped after the probe was refused is begun again without it.
func TestConfusedByProbe(t *testing.T) {
	s, journal := eraServer(t, "confused", nil, func(c *ServerConfig) { c.Connect = 900 * time.Millisecond })
	_, err := s.List(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no answer to initialize") {
		t.Errorf("silence after an answer is not the probe's: %v", err)
	}
	if got := journal(); got != "start server/discover initialize" {
		t.Error(got)
	}
}

// A remembered revision that fails without an answer is forgotten, so that the next attempt asks again.
func TestRememberedEraIsForgotten(t *testing.T) {
	s, journal := eraServer(t, "legacy,broken,modern", nil, func(c *ServerConfig) { c.Replay = true })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	sess := s.live()
	_ = sess.conn.Close()
	waitFor(t, func() bool { return s.Status().State == toolsource.StateBackoff })
	s.Reconnect()
	if _, err := s.Call(t.Context(), "x", nil, CallOptions{}); err != nil {
		t.Fatal(err)
	}
	const want = "start server/discover initialize tools/list start initialize start server/discover tools/list tools/call"
	if got := journal(); got != want || s.Status().Era != Era20260728 {
		t.Errorf("%s, era %s", got, s.Status().Era)
	}
}

// What silence said is remembered even if the second start fails: a server that is slow to start meets the
// probe's limit once.
func TestSilenceIsRemembered(t *testing.T) {
	s, journal := eraServer(t, "silent,broken,legacy", nil)
	if err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "code 4") {
		t.Errorf("error %v", err)
	}
	s.Reconnect()
	waitFor(t, func() bool { return s.Status().State == toolsource.StateReady })
	if got := journal(); got != "start server/discover start initialize start initialize tools/list" {
		t.Error(got)
	}
}

// A pinned revision is asked for without a probe, and a server that ends at once is not started twice for
// an error that another revision cannot mend.
func TestPinsSkipTheProbe(t *testing.T) {
	s, journal := eraServer(t, "exits", nil, func(c *ServerConfig) { c.Era = Era20251125 })
	if err := s.Start(t.Context()); err != nil || journal() != "start initialize tools/list" {
		t.Errorf("%v, %s", err, journal())
	}
	s, journal = eraServer(t, "exits", nil, func(c *ServerConfig) { c.Era = Era20260728 })
	if err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "what is server/discover?") {
		t.Errorf("%v, %s", err, journal())
	}
}

// The limit of the probe leaves time for the second start.
func TestProbeLeavesTime(t *testing.T) {
	s, _ := eraServer(t, "silent", nil, func(c *ServerConfig) { c.EraProbe, c.Connect = time.Hour, 3*time.Second })
	begin := time.Now()
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took < time.Second || took > 2500*time.Millisecond {
		t.Errorf("took %v", took)
	}
}

// What was found out is in the schema cache, for the next run of the program.
func TestEraInCache(t *testing.T) {
	cache := FileCache(t.TempDir())
	first, journal := eraServer(t, "exits", &Options{Cache: cache})
	cfg := first.Config()
	if err := first.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	before := journal()
	second, err := New(cfg, &Options{Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := second.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimPrefix(journal(), before+" "); got != "start initialize tools/list" {
		t.Errorf("the second run cost %s", got)
	}
}

// scripted is an HTTP server that answers requests by method; what it does not know it refuses.
type scripted struct {
	initialize func(w http.ResponseWriter, asked string)
	asked      []string
	posts      atomic.Int32
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "no stream here", http.StatusMethodNotAllowed)
		return
	}
	s.posts.Add(1)
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ ProtocolVersion string }
	}
	_ = json.Unmarshal(body, &m)
	w.Header().Set("Content-Type", "application/json")
	switch m.Method {
	case "initialize":
		s.asked = append(s.asked, m.Params.ProtocolVersion)
		s.initialize(withID{w, string(m.ID)}, m.Params.ProtocolVersion)
	case "tools/list":
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}`, m.ID)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// withID has what is written answer a request.
type withID struct {
	http.ResponseWriter
	id string
}

func (w withID) Write(p []byte) (int, error) {
	_, err := io.WriteString(w.ResponseWriter, strings.ReplaceAll(string(p), `"id":1,`, `"id":`+w.id+`,`))
	return len(p), err
}

func TestCase76OverHTTP(t *testing.T) {
	welcome := func(w http.ResponseWriter, version string) {
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":%s,"capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`, version)
	}
	for _, tc := range []struct {
		why   string
		reply func(w http.ResponseWriter, asked string)
		asked []string
		era   string // "": an error
		words string
	}{
		{"known", func(w http.ResponseWriter, _ string) { welcome(w, `"2025-03-26"`) }, []string{"2025-11-25"}, "2025-03-26", ""},
		{"from the future", func(w http.ResponseWriter, _ string) { welcome(w, `"2099-01-01"`) }, []string{"2025-11-25"}, "", "2099-01-01"},
		{"empty", func(w http.ResponseWriter, _ string) { welcome(w, `""`) }, []string{"2025-11-25"}, "", "protocol version"},
		{"null", func(w http.ResponseWriter, _ string) { welcome(w, `null`) }, []string{"2025-11-25"}, "", "protocol version"},
		{"refused with a list", func(w http.ResponseWriter, asked string) {
			if asked == "2024-11-05" {
				welcome(w, `"2024-11-05"`)
				return
			}
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2024-11-05"],"requested":"2025-11-25"}}}`)
		}, []string{"2025-11-25", "2024-11-05"}, "2024-11-05", ""},
		{"refused by a status whose text is a list", func(w http.ResponseWriter, asked string) {
			if asked == "2025-06-18" {
				welcome(w, `"2025-06-18"`)
				return
			}
			http.Error(w, "Bad Request: Unsupported protocol version (supported versions: 2025-06-18, 2025-03-26)", http.StatusBadRequest)
		}, []string{"2025-11-25", "2025-06-18"}, "2025-06-18", ""},
		{"refused by a list of none that we know", func(w http.ResponseWriter, _ string) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["1999-01-01"]}}}`)
		}, []string{"2025-11-25"}, "", "Unsupported protocol version"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			h := &scripted{initialize: tc.reply}
			s := newHTTPServer(t, h)
			_, err := s.List(t.Context())
			if (err == nil) != (tc.era != "") || err != nil && !strings.Contains(err.Error(), tc.words) {
				t.Errorf("error %v", err)
			}
			if got := s.Status().Era; got != tc.era {
				t.Errorf("era %q", got)
			}
			_ = s.Close()
			if !slices.Equal(h.asked, tc.asked) {
				t.Errorf("asked for %v", h.asked)
			}
		})
	}
}

// K-03, K-04: an idle session is pinged, and by nothing else; a server that refuses the ping has answered,
// so it is alive. From 2026-07-28 on there is no ping.
func TestKeepaliveOfAServerThatCannotPing(t *testing.T) {
	s, journal := eraServer(t, "legacy", nil, func(c *ServerConfig) { c.Keepalive = 30 * time.Millisecond })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return strings.Count(journal(), "ping") >= 3 })
	if st := s.Status(); st.Epoch != 1 || st.State != toolsource.StateReady || strings.Count(journal(), "tools/list") != 1 {
		t.Errorf("%+v, %s", st, journal())
	}
	s, journal = eraServer(t, "modern", nil, func(c *ServerConfig) { c.Keepalive = 10 * time.Millisecond })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if st := s.Status(); st.Epoch != 1 || strings.Contains(journal(), "ping") {
		t.Errorf("%+v, %s", st, journal())
	}
}

// What was found out about a server's era is found out again after a day, in one process and from run to run.
func TestEraIsFoundOutAgain(t *testing.T) {
	dir := t.TempDir()
	cache := FileCache(dir)
	s, journal := eraServer(t, "exits", &Options{Cache: cache})
	cost := func(s *Server, start func()) string {
		t.Helper()
		before := journal()
		start()
		waitFor(t, func() bool { return s.Status().State == toolsource.StateReady })
		return strings.TrimSpace(strings.TrimPrefix(journal(), before))
	}
	again := func() {
		epoch := s.Status().Epoch
		_ = s.live().conn.Close()
		waitFor(t, func() bool { s.Reconnect(); return s.Status().Epoch > epoch })
	}
	const probed, not = "start server/discover start initialize tools/list", "start initialize tools/list"
	if got := cost(s, func() { _ = s.Start(t.Context()) }); got != probed {
		t.Errorf("first: %s", got)
	}
	older := func(by time.Duration) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.line.era.at = s.line.era.at.Add(-by)
	}
	older(23 * time.Hour)
	if got := cost(s, again); got != not {
		t.Errorf("on the same day: %s", got)
	}
	older(2 * time.Hour)
	if got := cost(s, again); got != probed {
		t.Errorf("on the next day: %s", got)
	}
	cfg := s.Config()
	_ = s.Close()

	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	if len(files) != 1 {
		t.Fatal(files)
	}
	for _, tt := range []struct {
		age  time.Duration
		want string
	}{{23 * time.Hour, not}, {25 * time.Hour, probed}, {0, not}} {
		raw, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		var st stored
		if err := json.Unmarshal(raw, &st); err != nil {
			t.Fatal(err)
		}
		st.EraFound = time.Now().Add(-tt.age)
		raw, _ = json.Marshal(st)
		if err := os.WriteFile(files[0], raw, 0o600); err != nil {
			t.Fatal(err)
		}
		next, err := New(cfg, &Options{Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		if got := cost(next, func() { _ = next.Start(t.Context()) }); got != tt.want {
			t.Errorf("%v old in the cache: %s", tt.age, got)
		}
		_ = next.Close()
	}
}
