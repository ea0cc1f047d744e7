package mcpclient

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// A schema whose bytes no encoder would write like that, and a tool with all that a tool can have.
const oddTools = `{"tools":[
{"name":"x","title":"T","description":"<d> & \u00e9","inputSchema":{ "type":"object", "properties":{"z":{"maximum":9007199254740993},"a":{"default":1e2}} },"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"idempotentHint":true,"x":1},"_meta":{"n":9007199254740993}},
{"name":"y"}]}`

// lazyServer is a child that may not have to start, and its journal.
func lazyServer(t *testing.T, cache Cache, b mcptest.Behaviour, change ...func(*ServerConfig)) (*Server, string) {
	t.Helper()
	b.Journal = filepath.Join(t.TempDir(), "journal")
	lazy := func(c *ServerConfig) { c.Lazy = true }
	return newServerWith(t, b, &Options{Cache: cache}, append(change, lazy)...), b.Journal
}

func started(t testing.TB, journal string) bool {
	t.Helper()
	_, err := os.Stat(journal)
	return err == nil
}

// memory is a Cache that keeps entries whatever their key, so that a test may change what a server lists.
type memory struct {
	mu    sync.Mutex
	entry []byte
	loads int
	puts  int
	load  func() ([]byte, error) // nil: as usual
	store func() error
}

func (m *memory) Load(key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loads++
	if m.load != nil {
		return m.load()
	}
	if m.entry == nil {
		return nil, fs.ErrNotExist
	}
	var st stored
	if json.Unmarshal(m.entry, &st) == nil && st.Key != "" {
		st.Key = key
		return json.Marshal(st)
	}
	return m.entry, nil
}

func (m *memory) Store(_ string, e []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.puts++
	if m.store != nil {
		return m.store()
	}
	m.entry = e
	return nil
}

func (m *memory) filled() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entry != nil
}

// fill has a cache hold what a server lists.
func fill(t *testing.T, m *memory, pages string) {
	t.Helper()
	s, _ := lazyServer(t, m, mcptest.Behaviour{Pages: map[string]string{"": pages}})
	if _, err := s.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitFor(t, m.filled)
	_ = s.Close()
}

var twoTools = strings.ReplaceAll(oddTools, "\n", "")

func TestLazyStart(t *testing.T) {
	m := &memory{}
	fill(t, m, twoTools)
	s, journal := lazyServer(t, m, mcptest.Behaviour{Pages: map[string]string{"": twoTools}, Results: map[string]string{"y": `{"content":[]}`}})
	told := make(chan struct{}, 10)
	defer s.Watch(func() { told <- struct{}{} })()
	for range 2 {
		l, err := s.List(t.Context()) // L-01, L-04
		if err != nil || len(l.Tools) != 2 {
			t.Fatalf("%+v, %v", l, err)
		}
		if !strings.HasPrefix(string(l.Tools[0].InputSchema), `{ "type"`) {
			t.Errorf("the schema is not as it was sent: %s", l.Tools[0].InputSchema)
		}
	}
	if st := s.Status(); started(t, journal) || st.State != toolsource.StateIdle || st.Tools != 2 || st.Epoch != 0 { // D-08
		t.Fatalf("it was started, or its status does not show what is known: %+v", st)
	}
	if _, err := s.Call(t.Context(), "y", nil, CallOptions{Listed: true}); err != nil || countLines(t, journal, "initialize") != 1 { // L-05
		t.Errorf("the first call: %v", err)
	}
	before, _ := s.Cached()
	after, err := s.List(t.Context())
	if err != nil || !equalListings(before, after) {
		t.Errorf("what came back from the cache is not what the server lists: %+v, %+v, %v", before, after, err)
	}
	select {
	case <-told:
		t.Error("told of a change, and there is none")
	case <-time.After(50 * time.Millisecond):
	}
	if m.puts != 1 {
		t.Errorf("stored %d times though nothing changed", m.puts)
	}
}

// L-07: what the server has not any more is gone on arrival, and watchers and the log are told.
func TestLazyDifference(t *testing.T) {
	m := &memory{}
	fill(t, m, twoTools)
	var log logBuffer
	b := mcptest.Behaviour{Pages: map[string]string{"": `{"tools":[{"name":"y","description":"new"},{"name":"z"}]}`}, Results: map[string]string{"y": `{"content":[]}`}}
	exe, _, env := mcptest.Command(t, b)
	s, err := New(ServerConfig{ID: "srv", Command: exe, Env: env, Lazy: true}, &Options{Cache: m, Logger: testLogger(&log)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	told := make(chan struct{}, 10)
	defer s.Watch(func() { told <- struct{}{} })()
	if l, err := s.List(t.Context()); err != nil || !cmp.Equal(names(l), []string{"x", "y"}) {
		t.Fatalf("%v, %v", names(l), err)
	}
	if _, err := s.Call(t.Context(), "x", nil, CallOptions{Listed: true}); !errors.Is(err, toolsource.ErrUnavailable) {
		t.Errorf("a tool that the server has not any more: %v", err)
	}
	<-told
	if l, err := s.List(t.Context()); err != nil || !cmp.Equal(names(l), []string{"y", "z"}) {
		t.Errorf("%v, %v", names(l), err)
	}
	if text := log.String(); !strings.Contains(text, "added=[z] removed=[x] changed=[y]") {
		t.Errorf("log: %s", text)
	}
	waitFor(t, func() bool { m.mu.Lock(); defer m.mu.Unlock(); return m.puts == 2 })
}

// L-02, L-03, L-11, L-13: without an entry that can be used a lazy server is connected to as any other.
func TestCacheMisses(t *testing.T) {
	good := &memory{}
	fill(t, good, twoTools)
	var other stored
	if err := json.Unmarshal(good.entry, &other); err != nil {
		t.Fatal(err)
	}
	version := func(v int) []byte {
		st := other
		st.Version = v
		raw, _ := json.Marshal(st)
		return raw
	}
	for _, tc := range []struct {
		why  string
		m    *memory
		warn bool
	}{
		{"nothing there", &memory{}, false},
		{"no JSON", &memory{entry: []byte(`{"version":`)}, true},
		{"not ours", &memory{entry: []byte(`[]`)}, true},
		{"another version", &memory{entry: version(cacheVersion + 1)}, true},
		{"no version", &memory{entry: version(0)}, true},
		{"another key", &memory{load: func() ([]byte, error) { st := other; st.Key = "k"; return json.Marshal(st) }}, true},
		{"a tool without a name", &memory{entry: []byte(`{"version":1,"key":"k","tools":[{}]}`)}, true},
		{"a broken schema", &memory{entry: []byte(`{"version":1,"key":"k","tools":[{"name":"a","input_schema":"e30="},{"name":"b","input_schema":"ew=="}]}`)}, true},
		{"it fails", &memory{load: func() ([]byte, error) { return nil, errors.New("disk") }}, true},
		{"it panics", &memory{load: func() ([]byte, error) { panic("cache") }}, true},
	} {
		t.Run(tc.why, func(t *testing.T) {
			var log logBuffer
			b := mcptest.Behaviour{}
			exe, _, env := mcptest.Command(t, b)
			s, err := New(ServerConfig{ID: "srv", Command: exe, Env: env, Lazy: true}, &Options{Cache: tc.m, Logger: testLogger(&log)})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			l, err := s.List(t.Context())
			if err != nil || len(l.Tools) != len(mcptest.Tools()) || s.Status().Epoch != 1 {
				t.Errorf("%d tools, %v", len(l.Tools), err)
			}
			if warned := strings.Contains(log.String(), "schema cache is not used"); warned != tc.warn {
				t.Errorf("warned: %v, %s", warned, log.String())
			}
			if tc.m.load == nil { // the next write repairs it
				waitFor(t, func() bool { tc.m.mu.Lock(); defer tc.m.mu.Unlock(); return tc.m.puts == 1 })
			}
		})
	}
}

// A cache that hangs holds up neither a listing nor, for longer than its bound, Close.
func TestCacheThatHangs(t *testing.T) {
	block := make(chan struct{})
	m := &memory{}
	m.store = func() error { <-block; return nil }
	s, _ := lazyServer(t, m, mcptest.Behaviour{}, func(c *ServerConfig) { c.CloseBound = 300 * time.Millisecond })
	if _, err := s.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	if res, err := s.Call(t.Context(), "echo", map[string]any{"text": "x"}, CallOptions{}); err != nil || res.Value != "x" {
		t.Error(res.Value, err)
	}
	begin := time.Now()
	if err := s.Close(); err == nil || time.Since(begin) > 600*time.Millisecond {
		t.Errorf("after %v: %v", time.Since(begin), err)
	}
	close(block)
	if err := s.Close(); err != nil {
		t.Errorf("once it has ended: %v", err)
	}
}

// L-10: the key is that of what is reached, and of nothing else.
func TestCacheKey(t *testing.T) {
	base := ServerConfig{ID: "a", Command: "x", Args: []string{"1"}, Env: map[string]toolsource.Secret{"T": "s3cret-value"}}
	key := func(change func(*ServerConfig)) string {
		c := base
		c.Env = map[string]toolsource.Secret{"T": "s3cret-value"}
		change(&c)
		s, err := New(c, &Options{Cache: &memory{}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return s.settings().cached.key
	}
	same := key(func(*ServerConfig) {})
	for why, tc := range map[string]struct {
		change func(*ServerConfig)
		equal  bool
	}{
		"limits":   {func(c *ServerConfig) { c.Silence, c.Connect = time.Hour, time.Hour }, true},
		"lazy":     {func(c *ServerConfig) { c.Lazy = true }, true},
		"trust":    {func(c *ServerConfig) { c.Trust = toolsource.TrustFull }, true},
		"command":  {func(c *ServerConfig) { c.Command = "y" }, false},
		"args":     {func(c *ServerConfig) { c.Args = []string{"2"} }, false},
		"more":     {func(c *ServerConfig) { c.Args = []string{"1", ""} }, false},
		"env":      {func(c *ServerConfig) { c.Env["T"] = "other" }, false},
		"env name": {func(c *ServerConfig) { c.Env = map[string]toolsource.Secret{"U": "s3cret-value"} }, false},
		"era":      {func(c *ServerConfig) { c.Era = Era20250326 }, false},
		"id":       {func(c *ServerConfig) { c.ID = "b" }, false},
	} {
		if got := key(tc.change); (got == same) != tc.equal {
			t.Errorf("%s: equal is %v, want %v", why, got == same, tc.equal)
		}
	}
	if strings.Contains(same, "s3cret") || len(same) != 32 {
		t.Error(same)
	}
}

func TestFileCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "er")
	c := FileCache(dir)
	if _, err := c.Load("abc"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
	for _, text := range []string{"one", "two"} {
		if err := c.Store("abc", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Load("abc"); err != nil || string(got) != text {
			t.Errorf("%s, %v", got, err)
		}
	}
	files, _ := os.ReadDir(dir)
	if len(files) != 1 || files[0].Name() != "abc.json" {
		t.Errorf("what is left: %v", files)
	}
	for _, key := range []string{"", "../x", "a/b", "A", "a.b"} {
		if err := c.Store(key, nil); err == nil {
			t.Errorf("the key %q is taken", key)
		}
		if _, err := c.Load(key); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the key %q is taken: %v", key, err)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	file := filepath.Join(dir, "abc.json")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 { // L-12
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.Chmod(file, 0o620); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Load("abc"); err == nil {
		t.Error("a file that others may have written was read")
	}
	if err := os.Symlink(file, filepath.Join(dir, "def.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Load("def"); err == nil {
		t.Error("a link was followed")
	}
	if err := os.Truncate(file, maxEntry+1); err != nil {
		t.Fatal(err)
	}
	_ = os.Chmod(file, 0o600)
	if _, err := c.Load("abc"); err == nil {
		t.Error("a huge file was read")
	}
	// A file where the folder should be costs the entry and no more.
	if err := FileCache(file).Store("abc", nil); err == nil {
		t.Error("stored in a file")
	}
}
