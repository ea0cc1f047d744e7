package mcpclient

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// writePEM writes blocks into a file.
func writePEM(t *testing.T, file string, blocks ...*pem.Block) string {
	t.Helper()
	var text []byte
	for _, b := range blocks {
		text = append(text, pem.EncodeToMemory(b)...)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// clientCertificate makes a certificate that signs itself, in two files and in one.
func clientCertificate(t *testing.T, dir string) (cert *x509.Certificate, certFile, keyFile, both string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err = x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	c, k := &pem.Block{Type: "CERTIFICATE", Bytes: der}, &pem.Block{Type: "PRIVATE KEY", Bytes: raw}
	return cert, writePEM(t, filepath.Join(dir, "cert.pem"), c), writePEM(t, filepath.Join(dir, "key.pem"), k), writePEM(t, filepath.Join(dir, "both.pem"), c, k)
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	known, certFile, keyFile, both := clientCertificate(t, dir)
	start := func(mutual bool) *httptest.Server {
		hs := httptest.NewUnstartedServer(mcptest.Handler(mcptest.Behaviour{}))
		hs.Config.ErrorLog = log.New(io.Discard, "", 0)
		hs.TLS = &tls.Config{}
		if mutual {
			hs.TLS.ClientAuth, hs.TLS.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
			hs.TLS.ClientCAs.AddCert(known)
		}
		hs.StartTLS()
		t.Cleanup(hs.Close)
		return hs
	}
	plain, mutual := start(false), start(true)
	ca := writePEM(t, filepath.Join(dir, "ca.pem"), &pem.Block{Type: "CERTIFICATE", Bytes: plain.Certificate().Raw})
	empty := writePEM(t, filepath.Join(dir, "empty.pem"))
	locked := writePEM(t, filepath.Join(dir, "locked.pem"), &pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte{1}})
	_, _, strange, _ := clientCertificate(t, t.TempDir())
	for _, tc := range []struct {
		why       string
		hs        *httptest.Server
		tls       TLSConfig
		words     string // of the error; "": it works
		permanent bool
	}{
		{"not trusted", plain, TLSConfig{}, "certificate", false},
		{"trusted by its file", plain, TLSConfig{CAFile: ca}, "", false},
		{"relative to the declaring file", plain, TLSConfig{CAFile: "ca.pem"}, "", false},
		{"not checked", plain, TLSConfig{Insecure: true}, "", false},
		{"no certificate of ours", mutual, TLSConfig{CAFile: ca}, "certificate", false},
		{"a certificate and its key", mutual, TLSConfig{CAFile: ca, CertFile: certFile, KeyFile: keyFile}, "", false},
		{"both in one file", mutual, TLSConfig{CAFile: ca, CertFile: both}, "", false},
		{"no such file", plain, TLSConfig{CAFile: filepath.Join(dir, "none.pem")}, "none.pem", true},
		{"nothing in it", plain, TLSConfig{CAFile: empty}, "there is none in", true},
		{"no key", mutual, TLSConfig{CAFile: ca, CertFile: certFile}, "client certificate", true},
		{"no file of the certificate", mutual, TLSConfig{CAFile: ca, CertFile: "none.pem", KeyFile: keyFile}, "start: client certificate: open ", true},
		{"no file of the key", mutual, TLSConfig{CAFile: ca, CertFile: certFile, KeyFile: "none.key"}, "start: key of the client certificate: open ", true},
		{"below the home", mutual, TLSConfig{CAFile: "~/ca.pem", CertFile: "~/" + filepath.Base(certFile), KeyFile: "~/" + filepath.Base(keyFile)}, "", false},
		{"a key with a passphrase", mutual, TLSConfig{CAFile: ca, CertFile: certFile, KeyFile: locked}, "it is encrypted", true},
		{"another's key", mutual, TLSConfig{CAFile: ca, CertFile: certFile, KeyFile: strange}, "with the key", true},
	} {
		t.Run(tc.why, func(t *testing.T) {
			s := newHTTPServer(t, nil, func(c *ServerConfig) {
				c.URL, c.TLS, c.File = tc.hs.URL, tc.tls, filepath.Join(dir, "f.toml")
				c.Env = map[string]toolsource.Secret{"HOME": toolsource.Secret(dir), "USERPROFILE": toolsource.Secret(dir)}
			})
			_, err := s.List(t.Context())
			switch {
			case tc.words == "" && err != nil, tc.words != "" && err == nil:
				t.Errorf("error %v", err)
			case err != nil && (!strings.Contains(err.Error(), tc.words) || !strings.Contains(err.Error(), `server "web"`) || errors.Is(err, toolsource.ErrPermanent) != tc.permanent):
				t.Errorf("error %v", err)
			}
		})
	}
	for why, c := range map[string]ServerConfig{
		"a command":   {ID: "a", Command: "x", TLS: TLSConfig{Insecure: true}},
		"plain http":  {ID: "a", URL: "http://h", TLS: TLSConfig{CAFile: ca}},
		"a key alone": {ID: "a", URL: "https://h", TLS: TLSConfig{KeyFile: keyFile}},
		"both ways":   {ID: "a", URL: "https://h", TLS: TLSConfig{CAFile: ca, Insecure: true}},
	} {
		if _, err := c.resolved(); err == nil || !strings.Contains(err.Error(), ": tls ") && !strings.Contains(err.Error(), " tls ") {
			t.Errorf("%s: %v", why, err)
		}
	}
}

func TestUnixSocket(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no path of a socket here")
	}
	file := filepath.Join(t.TempDir(), "s.sock")
	l, err := net.Listen("unix", file)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	h := mcptest.Handler(mcptest.Behaviour{})
	hs := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.Host+r.URL.Path] = true
		mu.Unlock()
		h.ServeHTTP(w, r)
	})}}
	hs.Start()
	defer hs.Close()
	for _, url := range []string{"unix://" + file + "#/mcp/sub", "unix://" + file} {
		s := newHTTPServer(t, nil, func(c *ServerConfig) { c.URL = url })
		if _, err := s.List(t.Context()); err != nil {
			t.Fatal(err)
		}
		if text := s.String(); text != `server "web" (unix://`+file+`)` {
			t.Error(text)
		}
		_ = s.Close()
	}
	mu.Lock()
	if !maps.Equal(seen, map[string]bool{"localhost/mcp/sub": true, "localhost/": true}) {
		t.Errorf("asked for %v", seen)
	}
	mu.Unlock()
	for _, url := range []string{"unix://host/x", "unix:", "unix:///", "unix:///x#mcp", "unix:x"} {
		if _, err := (ServerConfig{ID: "a", URL: url}).resolved(); err == nil {
			t.Errorf("%s is taken", url)
		}
	}
}

func TestHeaderFunc(t *testing.T) {
	type userKey struct{}
	var mu sync.Mutex
	seen := map[string]int{}
	h := mcptest.Handler(mcptest.Behaviour{})
	spy := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.Header.Get("X-User")+" "+r.Header.Get("X-Fixed")]++
		mu.Unlock()
		if r.Header.Get("X-User") == "s3cret-echo" {
			http.Error(w, "I got s3cret-echo", http.StatusBadRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
	hs := httptest.NewServer(spy)
	defer hs.Close()
	fail := errors.New("no token for you")
	block := make(chan struct{})
	defer close(block)
	s, err := New(ServerConfig{ID: "web", URL: hs.URL, Headers: map[string]toolsource.Secret{"X-User": "nobody", "X-Fixed": "f"}}, &Options{
		HeaderFunc: func(ctx context.Context, server string) (map[string]toolsource.Secret, error) {
			if server != "web" {
				t.Errorf("server %q", server)
			}
			switch u, _ := ctx.Value(userKey{}).(string); u {
			case "":
				return nil, nil
			case "fails":
				return nil, fail
			case "panics":
				panic("oh")
			case "hangs":
				<-block
				return nil, nil
			case "bad":
				return map[string]toolsource.Secret{"X-User": "a\nb"}, nil
			default:
				return map[string]toolsource.Secret{"x-user": toolsource.Secret(u)}, nil
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	call := func(user string) error {
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), userKey{}, user), 300*time.Millisecond)
		defer cancel()
		_, err := s.Call(ctx, "echo", map[string]any{"text": "x"}, CallOptions{})
		return err
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := call("alice"); err != nil {
		t.Error(err)
	}
	mu.Lock()
	if seen["alice f"] != 1 || seen["nobody f"] == 0 {
		t.Errorf("headers %v", seen)
	}
	mu.Unlock()
	if err := call("s3cret-echo"); err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "I got ***") {
		t.Errorf("a secret of one call: %v", err)
	}
	var e *toolsource.CallError
	for user, words := range map[string]string{"fails": "no token for you", "panics": "oh", "bad": "line break"} {
		if err := call(user); !errors.As(err, &e) || e.MayHaveRun || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", user, err)
		}
	}
	if err := call("hangs"); !errors.Is(err, toolsource.ErrTimeout) {
		t.Errorf("hangs: %v", err)
	}
	if st := s.Status(); st.Epoch != 1 || st.State != toolsource.StateReady {
		t.Errorf("it cost the session: %+v", st)
	}
}
