package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/toolsource/toolsource/grade"
)

// Cache keeps, from one run of a program to the next, what servers listed and which revision they speak.
// Keys are letters and digits; a server has the same one as long as it is reached in the same way, with the
// same arguments, environment, headers and address. What is stored is worth protecting like configuration:
// hints among it decide how dangerous a tool counts as.
//
// Methods are called from several goroutines, never for a key from two at once in one server, and nothing
// waits long for one: an entry that comes late counts as missing. Errors are logged and cost the entry.
type Cache interface {
	Load(key string) ([]byte, error) // an error that matches fs.ErrNotExist: there is none
	Store(key string, entry []byte) error
}

// FileCache is a Cache of one file for each server in a folder, which is made when it is needed. Files are
// replaced whole, and are the user's own (0600); what others could have written is not read.
func FileCache(dir string) Cache { return fileCache{dir} }

type fileCache struct{ dir string }

const maxEntry = 32 << 20 // bytes of a file

func (c fileCache) file(key string) (string, error) {
	for i := range len(key) {
		if b := key[i]; (b < '0' || b > '9') && (b < 'a' || b > 'z') {
			return "", fmt.Errorf("%q is no key", key)
		}
	}
	if key == "" || c.dir == "" {
		return "", errors.New("there is no folder or no key")
	}
	return filepath.Join(c.dir, key+".json"), nil
}

func (c fileCache) Load(key string) ([]byte, error) {
	name, err := c.file(key)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no plain file", name)
	case info.Size() > maxEntry:
		return nil, fmt.Errorf("%s has more than %d bytes", name, maxEntry)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("%s can be written by others", name)
	}
	return os.ReadFile(name)
}

func (c fileCache) Store(key string, entry []byte) error {
	name, err := c.file(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(c.dir, key+".*.tmp") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(entry)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// cacheVersion is that of the form below. Entries of another are not read.
const cacheVersion = 1

// stored is the form of an entry. Schemas are bytes, so that they come back as they were sent.
type stored struct {
	Version   int          `json:"version"`
	Key       string       `json:"key"`
	Server    string       `json:"server"`
	Era       string       `json:"era,omitempty"` // to ask for without a probe
	EraFound  time.Time    `json:"era_found,omitzero"`
	Listed    time.Time    `json:"listed"`
	Truncated bool         `json:"truncated,omitempty"`
	Resources bool         `json:"resources,omitempty"`
	Prompts   bool         `json:"prompts,omitempty"`
	Tools     []storedTool `json:"tools"`
}

type storedTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  []byte          `json:"input_schema,omitempty"`
	OutputSchema []byte          `json:"output_schema,omitempty"`
	Hints        *grade.Hints    `json:"hints,omitempty"`
	Meta         json.RawMessage `json:"meta,omitempty"`
}

func encodeEntry(key, server string, e *entry) ([]byte, error) {
	st := stored{Version: cacheVersion, Key: key, Server: server, Era: e.asked.name, EraFound: e.asked.at.UTC(), Listed: e.at, Truncated: e.listing.Truncated,
		Resources: e.listing.Resources, Prompts: e.listing.Prompts, Tools: []storedTool{}}
	for _, t := range e.listing.Tools {
		out := storedTool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema, OutputSchema: t.OutputSchema, Hints: t.Hints}
		if t.Meta != nil {
			raw, err := json.Marshal(t.Meta)
			if err != nil {
				return nil, err
			}
			out.Meta = raw
		}
		st.Tools = append(st.Tools, out)
	}
	return json.Marshal(st)
}

func decodeEntry(key string, raw []byte) (*entry, error) {
	var st stored
	if err := json.Unmarshal(raw, &st); err != nil {
		return nil, err
	}
	switch {
	case st.Version != cacheVersion:
		return nil, fmt.Errorf("its version is %d, not %d", st.Version, cacheVersion)
	case st.Key != key:
		return nil, errors.New("it is of another server, or of another configuration of this one")
	case st.Era != "" && !slices.Contains(eras, st.Era):
		return nil, fmt.Errorf("it has the unknown revision %q", st.Era)
	}
	e := &entry{asked: knownEra{st.Era, st.EraFound}, at: st.Listed, listing: Listing{Truncated: st.Truncated, Resources: st.Resources, Prompts: st.Prompts}}
	seen := map[string]bool{}
	for _, t := range st.Tools {
		if t.Name == "" || seen[t.Name] {
			return nil, fmt.Errorf("it lists a tool %q twice or without a name", t.Name)
		}
		seen[t.Name] = true
		in := Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema, OutputSchema: t.OutputSchema, Hints: t.Hints}
		for _, schema := range []json.RawMessage{in.InputSchema, in.OutputSchema} {
			if schema != nil && !json.Valid(schema) {
				return nil, fmt.Errorf("it has a broken schema of tool %q", t.Name)
			}
		}
		if t.Meta != nil {
			meta, ok := exact(t.Meta).(map[string]any)
			if !ok {
				return nil, fmt.Errorf("it has broken members of tool %q", t.Name)
			}
			in.Meta = meta
		}
		e.listing.Tools = append(e.listing.Tools, in)
	}
	return e, nil
}

// entry is what the cache knows of a server.
type entry struct {
	listing Listing
	asked   knownEra // revision to ask for without a probe
	at      time.Time
}

// cacheEntry is a server's entry, read once, when somebody first wants to know. nil works: there is none.
type cacheEntry struct {
	cache Cache
	key   string

	once sync.Once
	done chan struct{} // closed when it was read
	read *entry        // nil: there is none that can be used; set before done is closed

	mu      sync.Mutex
	storing bool
	next    *entry // to be stored; nil: nothing new
	last    []byte // stored last, or read
}

func newCacheEntry(c Cache, set *settings, workspace string) *cacheEntry {
	if c == nil {
		return nil
	}
	return &cacheEntry{cache: c, key: cacheKey(set, workspace), done: make(chan struct{})}
}

// cacheKey names a configuration by what decides what a server lists. Secrets are in it only as a part of
// what is hashed.
func cacheKey(set *settings, workspace string) string {
	cfg := &set.cfg
	h := sha256.New()
	put := func(parts ...string) {
		_, _ = fmt.Fprintf(h, "%d", len(parts))
		for _, p := range parts {
			_, _ = fmt.Fprintf(h, " %d:%s", len(p), p)
		}
	}
	put("toolsource", cfg.ID, cfg.Command, cfg.dir(workspace), cfg.URL, cfg.Era)
	put(set.ways...)
	put(cfg.Args...)
	for _, name := range slices.Sorted(maps.Keys(cfg.Env)) {
		put(name, cfg.Env[name].Reveal())
	}
	put("headers")
	for _, name := range slices.Sorted(maps.Keys(cfg.Headers)) {
		put(name, cfg.Headers[name].Reveal())
	}
	if set.offers&asks != 0 { // servers may list more to those who answer them
		put("offers", fmt.Sprint(set.offers&asks))
	}
	put("caps", fmt.Sprint(cfg.MaxTools), fmt.Sprint(cfg.MaxPages))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// cacheWait is the longest time that anything waits for the cache.
const cacheWait = time.Second

// load gives the entry, if it comes soon.
func (c *cacheEntry) load(ctx context.Context, s *Server) *entry {
	if c == nil {
		return nil
	}
	c.once.Do(func() {
		if !s.spawn(func() { c.fetch(s) }) {
			close(c.done)
		}
	})
	t := time.NewTimer(cacheWait)
	defer t.Stop()
	select {
	case <-c.done:
		return c.read
	case <-ctx.Done():
	case <-t.C:
		s.log.Warn("the schema cache does not answer")
	}
	return nil
}

// peek is load for those who cannot wait at all.
func (c *cacheEntry) peek() *entry {
	if c == nil {
		return nil
	}
	select {
	case <-c.done:
		return c.read
	default:
		return nil
	}
}

func (c *cacheEntry) fetch(s *Server) {
	defer close(c.done)
	var raw []byte
	err := guard(func() (err error) { raw, err = c.cache.Load(c.key); return err })
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		c.read, err = decodeEntry(c.key, raw)
	}
	if err != nil {
		s.log.Warn("the entry of the schema cache is not used", "err", s.redact.err(err))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = raw
	}
}

// save has the entry stored, on a goroutine of its own; of several that come meanwhile only the newest is.
func (c *cacheEntry) save(s *Server, e *entry) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = e
	if !c.storing {
		c.storing = s.spawn(func() { c.store(s) })
	}
}

func (c *cacheEntry) store(s *Server) {
	for {
		c.mu.Lock()
		e := c.next
		c.next = nil
		if e == nil {
			c.storing = false
			c.mu.Unlock()
			return
		}
		last := c.last
		c.mu.Unlock()
		raw, err := encodeEntry(c.key, s.id, e)
		if err == nil && sameEntry(c.key, last, e) {
			continue
		}
		if err == nil {
			err = guard(func() error { return c.cache.Store(c.key, raw) })
		}
		if err != nil {
			s.log.Warn("the schema cache was not written", "err", s.redact.err(err))
			continue
		}
		c.mu.Lock()
		c.last = raw
		c.mu.Unlock()
	}
}

// sameEntry reports whether what is stored says the same but for its time.
func sameEntry(key string, raw []byte, e *entry) bool {
	if raw == nil {
		return false
	}
	old, err := decodeEntry(key, raw)
	return err == nil && old.asked.name == e.asked.name && old.asked.at.Equal(e.asked.at) && old.listing.Truncated == e.listing.Truncated && equalListings(old.listing, e.listing)
}

// guard calls a function of the host. Its panic is an error.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", errPanicked, v)
		}
	}()
	return f()
}

// spawn runs f on a goroutine that Close waits for; false after Close.
func (s *Server) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.running.Go(f)
	return true
}

// lazily is the cached listing of a server that is not to be connected to for it.
func (s *Server) lazily(ctx context.Context) (Listing, bool) {
	set := s.settings()
	if !set.cfg.Lazy {
		return Listing{}, false
	}
	if _, at, _ := s.catalogue.last(); !at.IsZero() && !s.catalogue.seeded() {
		return Listing{}, false
	}
	e := set.cached.load(ctx, s)
	if e == nil {
		return Listing{}, false
	}
	s.catalogue.seed(e)
	return e.listing, true
}

// Cached is what the schema cache knows of the server's tools. It waits for the cache for a second at most,
// and for nothing else; ok is false if there is no entry that can be used.
func (s *Server) Cached() (l Listing, ok bool) {
	e := s.settings().cached.load(s.life, s)
	if e == nil {
		return Listing{}, false
	}
	return e.listing, true
}
