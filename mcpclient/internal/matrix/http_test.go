package matrix

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

func TestCase73LegacySSE(t *testing.T) {
	for _, status := range []int{200, 202} {
		s, _ := serve(t, mcptest.SSE, mcptest.Behaviour{HTTP: []mcptest.HTTPFault{{Status: status, Header: map[string]string{"Content-Type": "text/html"}, Body: "<p>fine{reply}</p>"}}})
		echoes(t, s)
	}
	s, _ := serve(t, mcptest.SSE, mcptest.Behaviour{})
	if res, err := s.Call(t.Context(), "big", map[string]any{"bytes": 5 << 20}, mcpclient.CallOptions{}); err != nil || len(res.Text()) != 5<<20 {
		t.Errorf("an event of 5 MiB: %d bytes, %v", len(res.Text()), err)
	}
	s, _ = serve(t, mcptest.SSE, mcptest.Behaviour{Endpoint: mcptest.NoEndpoint}, func(c *mcpclient.ServerConfig) { c.Connect = 200 * time.Millisecond })
	if err := s.Start(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no endpoint: %v", err)
	}
}

func TestCase75AuthAndRedirects(t *testing.T) {
	var c struct {
		Rows []struct {
			Status   int
			Auth     string `json:"www-authenticate"`
			Location string
			Kind     string `json:"content-type"`
			After    string
		}
	}
	readCase(t, "75-auth-and-redirect.json", &c)
	var strayed atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	defer other.Close()
	for _, row := range c.Rows {
		if row.After != "" {
			continue // the token hook: TestHTTPOAuth in internal/wire
		}
		name := fmt.Sprint(row.Status, " ", row.Location)
		var asked atomic.Int64
		inner := mcptest.Handler(mcptest.Behaviour{})
		hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if r.Header.Get("X-Api-Key") != "k3y-value" {
				t.Errorf("%s: the configured header is missing", name)
			}
			if r.URL.Path != "/mcp" {
				inner.ServeHTTP(w, r)
				return
			}
			switch {
			case strings.HasPrefix(row.Location, "same origin "):
				w.Header().Set("Location", strings.TrimPrefix(row.Location, "same origin "))
			case row.Location == "other origin":
				w.Header().Set("Location", other.URL+"/mcp")
			case row.Location == "https twin":
				w.Header().Set("Location", "https://"+r.Host+"/mcp")
			case row.Location != "":
				w.Header().Set("Location", "/login")
			}
			if row.Kind != "" {
				w.Header().Set("Content-Type", row.Kind)
			}
			if row.Auth != "" {
				w.Header().Set("WWW-Authenticate", row.Auth)
			}
			w.WriteHeader(row.Status)
			_, _ = io.WriteString(w, "<h1>the first line</h1>\nthe second")
		}))
		s, err := mcpclient.New(mcpclient.ServerConfig{ID: "web", URL: hs.URL + "/mcp", Headers: map[string]toolsource.Secret{"X-Api-Key": "k3y-value"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		err = s.Start(t.Context())
		took := time.Since(begin)
		var st *mcpclient.StatusError
		switch {
		case row.Location == "same origin /mcp/":
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			echoes(t, s)
		case err == nil || took > time.Second:
			t.Errorf("%s: after %v: %v", name, took, err)
		case row.Status == 401:
			if !errors.Is(err, toolsource.ErrNeedsAuth) || !errors.As(err, &st) || st.WWWAuthenticate != row.Auth {
				t.Errorf("%s: %v", name, err)
			}
			eventually(t, "it is parked", func() bool { return s.Status().State == toolsource.StateParked })
			if n := asked.Load(); n != 1 {
				t.Errorf("%s: %d requests", name, n)
			}
		case row.Status == 403:
			if !errors.Is(err, toolsource.ErrForbidden) || asked.Load() != 1 {
				t.Errorf("%s: %v, %d requests", name, err, asked.Load())
			}
		case row.Location != "":
			if !strings.Contains(err.Error(), fmt.Sprintf("redirected (%d)", row.Status)) {
				t.Errorf("%s: %v", name, err)
			}
		case !strings.Contains(err.Error(), "the first line") || strings.Contains(err.Error(), "the second"):
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		hs.Close()
	}
	if n := strayed.Load(); n != 0 {
		t.Errorf("%d requests reached the other origin", n)
	}
}
