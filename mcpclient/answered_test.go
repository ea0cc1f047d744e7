package mcpclient

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// What a server itself answers to a call of a bad tool does not close the way to its others.
func TestAnswersDoNotStrike(t *testing.T) {
	for status, strikes := range map[int]bool{500: false, 501: false, 429: false, 502: true, 503: true, 504: true} {
		b := mcptest.Behaviour{HTTP: []mcptest.HTTPFault{{Status: status, Count: 5, Body: "no", Header: map[string]string{"Content-Type": "text/plain"}}}}
		s := eraWay{"", mcptest.HTTP, b}.on(t, nil)
		for range 5 {
			if _, err := s.Call(t.Context(), "echo", map[string]any{"text": "a"}, CallOptions{}); err == nil {
				t.Fatalf("%d is no error", status)
			}
		}
		_, err := s.Call(t.Context(), "echo", map[string]any{"text": "a"}, CallOptions{})
		if open := err != nil && strings.Contains(err.Error(), "unreachable after"); open != strikes {
			t.Errorf("after %d: %v", status, err)
		}
	}
}

// deniedOAuth has a token that nobody wants, and gets no other.
type deniedOAuth struct{}

func (deniedOAuth) TokenSource(context.Context) (oauth2.TokenSource, error) {
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "stale"}), nil
}

func (deniedOAuth) Authorize(_ context.Context, _ *http.Request, resp *http.Response) error {
	_ = resp.Body.Close()
	return errors.New("the user closed the window, after s3cr3t-Value")
}

// Why the host could not authorise is part of what connecting fails with.
func TestAuthorisingFails(t *testing.T) {
	for _, status := range []int{401, 403} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(status)
		}))
		s, err := New(ServerConfig{ID: "srv", URL: srv.URL, Secrets: []toolsource.Secret{"s3cr3t-Value"}}, &Options{OAuth: deniedOAuth{}})
		if err != nil {
			t.Fatal(err)
		}
		want := toolsource.ErrNeedsAuth
		if status == 403 {
			want = toolsource.ErrForbidden
		}
		_, err = s.List(t.Context())
		if !errors.Is(err, want) || !strings.Contains(err.Error(), "authorising: the user closed the window, after ***") {
			t.Errorf("%d: %v", status, err)
		}
		if strings.Contains(sprint(err), "s3cr3t") || strings.Contains(sprint(s.Status().Err), "s3cr3t") {
			t.Errorf("%d: it shows a secret", status)
		}
		_ = s.Close()
		srv.Close()
	}
}
