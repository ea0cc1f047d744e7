package mcpclient

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/internal/wire"
)

// transport makes the connection for one session.
func (s *Server) transport(sess *session) (wire.Transport, error) {
	cfg := &sess.set.cfg
	o := wire.Options{
		Logger:     s.log,
		MaxMessage: cfg.MaxMessage,
		CloseBound: cfg.CloseBound,
		Redact:     s.redact.text,
		Progress:   sess.reports.deliver,
		Notify:     sess.hear,
		Drop:       unwanted,
		Ask:        sess.ask,
	}
	if sess.way == TransportStdio {
		c, err := s.child(sess.set)
		if err != nil {
			return nil, err
		}
		return wire.NewStdio(c, o), nil
	}
	c, err := s.http(sess.set)
	if err != nil {
		return nil, err
	}
	if sess.way == TransportSSE {
		return wire.NewSSE(c, o), nil
	}
	return wire.NewHTTP(c, o), nil
}

// startError is a configuration that cannot be tried as things are.
func (s *Server) startError(err error, remedy string) error {
	return &ConnectError{Server: s.id, Step: "start", Remedy: s.redact.text(remedy), Err: s.redact.err(err), kinds: []error{toolsource.ErrPermanent}}
}

// child resolves the command on the child's own PATH.
func (s *Server) child(set *settings) (wire.StdioConfig, error) {
	cfg, env := &set.cfg, s.env(set)
	c := wire.StdioConfig{Args: cfg.Args, Env: env, Dir: expandHome(cfg.dir(s.opt.Workspace), env)}
	if c.Dir != "" {
		if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
			return c, s.startError(fmt.Errorf("its working directory %s is no folder", c.Dir), "create it, or set another")
		}
	}
	file, remedy, err := command(cfg, env, c.Dir)
	if err != nil {
		return c, s.startError(err, remedy)
	}
	c.Command = file
	return c, nil
}

func (s *Server) http(set *settings) (wire.HTTPConfig, error) {
	cfg := &set.cfg
	headers := http.Header{}
	for name, v := range cfg.Headers {
		headers.Set(name, v.Reveal())
	}
	file, asked, isSocket := socket(cfg.URL)
	trust, err := cfg.TLS.load(func(name string) string { return cfg.file(name, s.env(set), s.opt.Workspace) })
	if err != nil {
		return wire.HTTPConfig{}, s.startError(err, "correct the tls settings, or the files that they name")
	}
	c := wire.HTTPConfig{
		URL:       asked,
		Unix:      file,
		TLS:       trust,
		Headers:   func(context.Context) (http.Header, error) { return headers, nil },
		OAuth:     s.opt.OAuth,
		Transport: s.opt.HTTPTransport,
		// a server that nobody answers gains nothing by being heard at once
		AwaitStream: set.offers&asks != 0,
	}
	if isSocket || trust != nil { // the host's knows nothing of them
		c.Transport = nil
	}
	if s.opt.HeaderFunc != nil {
		c.Headers = func(ctx context.Context) (http.Header, error) { return s.headers(ctx, headers) }
	}
	return c, nil
}

// headers are those of one request. The host's function runs on a goroutine of its own, which is left to
// itself if it does not return in time.
func (s *Server) headers(ctx context.Context, fixed http.Header) (http.Header, error) {
	type answer struct {
		more map[string]toolsource.Secret
		err  error
	}
	reply := make(chan answer, 1) // room for the one answer, so that it can come late
	go func() {
		got := answer{err: errPanicked}
		defer func() {
			if v := recover(); v != nil {
				got.err = fmt.Errorf("%w: %v", errPanicked, v)
			}
			reply <- got
		}()
		got.more, got.err = s.opt.HeaderFunc(ctx, s.id)
	}()
	var got answer
	select {
	case got = <-reply:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if got.err != nil {
		return nil, fmt.Errorf("the header function: %w", got.err)
	}
	if len(got.more) == 0 {
		return fixed, nil
	}
	all := fixed.Clone()
	for name, v := range got.more {
		if problem := badHeader(name, v); problem != "" {
			return nil, fmt.Errorf("the header function: %w: %s", toolsource.ErrBadArguments, problem)
		}
		s.redact.pass(v.Reveal())
		all.Set(name, v.Reveal())
	}
	return all, nil
}

var errPanicked = fmt.Errorf("%w in a function of the host", toolsource.ErrPanic)

// socket takes a unix:// address apart into the socket's path and the address to ask for there. Any other
// is the address itself.
func socket(addr string) (file, asked string, ok bool) {
	u, err := url.Parse(addr)
	if err != nil || u.Scheme != "unix" {
		return "", addr, false
	}
	in := url.URL{Scheme: "http", Host: "localhost", Path: u.Fragment}
	if in.Path == "" {
		in.Path = "/"
	}
	return u.Path, in.String(), true
}

// unwanted reports whether the SDK has no use for a notification: it needs to hear of requests of the server
// that are given up, and of its own subscriptions.
func unwanted(method string) bool {
	switch method {
	case "notifications/cancelled", "notifications/subscriptions/acknowledged":
		return false
	}
	return true
}
