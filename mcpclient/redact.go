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

	"github.com/toolsource/toolsource/internal/childenv"
	"github.com/toolsource/toolsource/internal/redact"
)

// passing is how many secrets that HeaderFunc gave are remembered, the newest of them.
const passing = 64

// redactor takes a server's secrets out of texts: the values of its environment, its headers and its
// Secrets, the credential behind a scheme such as Bearer, and the query of its address, in every form that
// package redact knows; and what looks like a credential of anybody's. Secrets of a configuration stay secret
// after it was replaced.
type redactor struct {
	set atomic.Pointer[redact.Set] // nil: there is none

	mu     sync.Mutex
	own    map[string]bool // of configurations
	passed []string        // of requests, the newest last
}

// configure adds the secrets of a configuration.
func (r *redactor) configure(c *ServerConfig) {
	r.mu.Lock()
	defer r.mu.Unlock()
	add := func(s string) {
		if redact.Counts(s) {
			if r.own == nil {
				r.own = map[string]bool{}
			}
			r.own[s] = true
		}
	}
	for name, v := range c.Env {
		if !childenv.InBase(name) { // a PATH that does not have the command has to show
			add(v.Reveal())
		}
	}
	for _, v := range c.Headers {
		for _, s := range credentials(v.Reveal()) {
			add(s)
		}
	}
	for _, v := range c.Secrets {
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
		if redact.Counts(s) && !r.own[s] && !slices.Contains(r.passed, s) {
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

// build makes the set anew.
func (r *redactor) build() {
	if len(r.own)+len(r.passed) > 0 {
		r.set.Store(redact.New(append(slices.Collect(maps.Keys(r.own)), r.passed...)...))
	}
}

func (r *redactor) text(s string) string { return r.set.Load().Clean(s) }

// json is text for JSON, which stays JSON.
func (r *redactor) json(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	clean := json.RawMessage(r.text(string(raw)))
	if !json.Valid(clean) && json.Valid(raw) { // a number that is a secret
		return json.RawMessage(`"***"`)
	}
	return clean
}

// err hides the secrets in an error's text and keeps its chain.
func (r *redactor) err(err error) error {
	if err == nil {
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
