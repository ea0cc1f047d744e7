package mcpclient

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
)

// minSecret is the length from which a value is taken out of texts. Shorter ones would blot out words.
const minSecret = 4

// everyday are values that keep no secret, and without which a text could not be read.
var everyday = []string{
	"true", "false", "none", "null", "auto", "always", "never", "info", "debug", "warn", "warning", "error", "trace",
	"test", "development", "production", "local", "localhost", "disabled", "enabled", "1000", "10000",
}

// redactor takes a server's secrets out of texts: the values of its environment and headers, the
// credential behind a scheme such as Bearer, and the query of its address, each also as JSON and as a URL
// write it.
type redactor struct{ r *strings.Replacer }

func newRedactor(c *ServerConfig) redactor {
	set := map[string]bool{}
	add := func(s string) {
		if len(s) < minSecret || slices.Contains(everyday, strings.ToLower(s)) {
			return
		}
		set[s] = true
		set[url.QueryEscape(s)] = true
		if b, err := json.Marshal(s); err == nil {
			set[string(b[1:len(b)-1])] = true
		}
	}
	for _, v := range c.Env {
		add(v.Reveal())
	}
	for _, v := range c.Headers {
		add(v.Reveal())
		if _, credential, ok := strings.Cut(v.Reveal(), " "); ok {
			add(strings.TrimSpace(credential))
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
	if len(set) == 0 {
		return redactor{}
	}
	secrets := make([]string, 0, len(set))
	for s := range set {
		secrets = append(secrets, s)
	}
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
	return redactor{strings.NewReplacer(pairs...)}
}

func (r redactor) text(s string) string {
	if r.r == nil {
		return s
	}
	return r.r.Replace(s)
}

// err hides the secrets in an error's text and keeps its chain.
func (r redactor) err(err error) error {
	if err == nil || r.r == nil {
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
