package mcpclient

import (
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// minSecret is the length from which a value is taken out of texts. Shorter ones would blot out words.
const minSecret = 4

// everyday are values that keep no secret, and without which a text could not be read.
var everyday = []string{
	"true", "false", "none", "null", "auto", "always", "never", "info", "debug", "warn", "warning", "error", "trace",
	"test", "development", "production", "local", "localhost", "disabled", "enabled", "1000", "10000",
}

// passing is how many secrets that HeaderFunc gave are remembered, the newest of them.
const passing = 64

// redactor takes a server's secrets out of texts: the values of its environment and headers, the
// credential behind a scheme such as Bearer, and the query of its address, each also as JSON and as a URL
// write it. Secrets of a configuration stay secret after it was replaced.
type redactor struct {
	r atomic.Pointer[strings.Replacer] // nil: there is none

	mu     sync.Mutex
	own    map[string]bool // of configurations
	passed []string        // of requests, the newest last
}

// configure adds the secrets of a configuration.
func (r *redactor) configure(c *ServerConfig) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.own == nil {
		r.own = map[string]bool{}
	}
	add := func(s string) {
		if secret(s) {
			r.own[s] = true
		}
	}
	for _, v := range c.Env {
		add(v.Reveal())
	}
	for _, v := range c.Headers {
		for _, s := range credentials(v.Reveal()) {
			add(s)
		}
	}
	if u, err := url.Parse(c.URL); err == nil {
		add(u.RawQuery)
		for _, vs := range u.Query() {
			for _, v := range vs {
				add(v)
			}
		}
	}
	r.build()
}

// pass adds the value of a header that was made for one request.
func (r *redactor) pass(header string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	news := false
	for _, s := range credentials(header) {
		if secret(s) && !r.own[s] && !slices.Contains(r.passed, s) {
			r.passed = append(r.passed, s)
			news = true
		}
	}
	if news {
		r.passed = slices.Delete(r.passed, 0, max(0, len(r.passed)-passing))
		r.build()
	}
}

// credentials are a header's value, and what stands behind a scheme such as Bearer in it.
func credentials(header string) []string {
	_, credential, ok := strings.Cut(header, " ")
	if !ok {
		return []string{header}
	}
	return []string{header, strings.TrimSpace(credential)}
}

func secret(s string) bool {
	return len(s) >= minSecret && !slices.Contains(everyday, strings.ToLower(s))
}

// build makes the Replacer anew.
func (r *redactor) build() {
	set := map[string]bool{}
	for _, s := range append(slices.Collect(maps.Keys(r.own)), r.passed...) {
		set[s] = true
		set[url.QueryEscape(s)] = true
		if b, err := json.Marshal(s); err == nil {
			set[string(b[1:len(b)-1])] = true
		}
	}
	if len(set) == 0 {
		return
	}
	secrets := slices.Collect(maps.Keys(set))
	slices.SortFunc(secrets, func(a, b string) int { // a Replacer takes the first that fits: the longer first
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	pairs := make([]string, 0, 2*len(secrets))
	for _, s := range secrets {
		pairs = append(pairs, s, "***")
	}
	r.r.Store(strings.NewReplacer(pairs...))
}

func (r *redactor) text(s string) string {
	with := r.r.Load()
	if with == nil {
		return s
	}
	return with.Replace(s)
}

// err hides the secrets in an error's text and keeps its chain.
func (r *redactor) err(err error) error {
	if err == nil || r.r.Load() == nil {
		return err
	}
	text := err.Error()
	clean := r.text(text)
	if clean == text {
		return err
	}
	return &redactedError{text: clean, err: err}
}

// redactedError matches what its cause matches. It does not hand the cause out by Unwrap, since that
// would show the text again; errors.As finds what is safe to show.
type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string        { return e.text }
func (e *redactedError) Is(target error) bool { return errors.Is(e.err, target) }
