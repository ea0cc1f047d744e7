package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// wireLog writes all that goes over HTTP, headers of the protocol and bodies, a line each.
type wireLog struct {
	mu sync.Mutex // keeps lines whole
	to io.Writer
}

// RoundTrip sends a request by the standard library's transport.
func (w *wireLog) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	w.print("> %s %s%s %s", r.Method, r.URL, headers(r.Header), body)
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.print("! %v", err)
		return nil, err
	}
	w.print("< %s%s", res.Status, headers(res.Header))
	res.Body = &loggedBody{res.Body, w}
	return res, nil
}

func (w *wireLog) print(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(w.to, format+"\n", args...)
}

// headers are those that matter to the protocol.
func headers(h http.Header) string {
	var lines []string
	for name, values := range h {
		for _, prefix := range []string{"Mcp-", "Accept", "Content-Type", "Last-Event-Id", "Www-Authenticate"} {
			if strings.HasPrefix(name, prefix) {
				lines = append(lines, fmt.Sprintf(" [%s: %s]", name, strings.Join(values, ", ")))
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// loggedBody writes what is read of an answer.
type loggedBody struct {
	io.ReadCloser
	log *wireLog
}

func (b *loggedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.log.print("<   %s", bytes.TrimSpace(p[:n]))
	}
	return n, err
}
