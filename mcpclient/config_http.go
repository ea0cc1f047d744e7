package mcpclient

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolsource/toolsource"
)

// TLSConfig is how to trust an https server, and how to be known to it. The zero value is the system's
// trust, without a client certificate. Files are PEM, read at each connect; a leading ~ and relative paths
// are as those of ServerConfig.Dir.
type TLSConfig struct {
	CAFile   string // certificates to trust instead of the system's
	CertFile string // client certificate, with its chain
	KeyFile  string // its key; "": in CertFile too
	Insecure bool   // the server's certificate is not checked: whoever answers is believed
}

func (t TLSConfig) check(c *ServerConfig, wrong func(string, string, ...any)) {
	switch {
	case t == TLSConfig{}:
	case c.Transport == TransportStdio:
		wrong("tls", "is set for a command; it is for servers with a url")
	case strings.HasPrefix(c.URL, "http:") || strings.HasPrefix(c.URL, "unix:"):
		wrong("tls", "is set, but url is not https")
	case t.KeyFile != "" && t.CertFile == "":
		wrong("tls", "has a key and no certificate; set client_cert")
	case t.Insecure && t.CAFile != "":
		wrong("tls", "names certificates to trust and switches the check off; remove one")
	}
}

// load reads the files. nil: the default of package tls.
func (t TLSConfig) load(file func(string) string) (*tls.Config, error) {
	if t == (TLSConfig{}) {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: t.Insecure}
	if t.CAFile != "" {
		pem, err := os.ReadFile(file(t.CAFile))
		if err != nil {
			return nil, fmt.Errorf("certificates to trust: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("certificates to trust: there is none in %s", file(t.CAFile))
		}
	}
	if t.CertFile != "" {
		key := t.KeyFile
		if key == "" {
			key = t.CertFile
		}
		cert, err := loadPair(file(t.CertFile), file(key))
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{cert}
	}
	return c, nil
}

func loadPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := os.ReadFile(certFile)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("client certificate: %w", err)
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("key of the client certificate: %w", err)
	}
	if encrypted(key) {
		return tls.Certificate{}, fmt.Errorf("key of the client certificate: %w: %s", errEncrypted, keyFile)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("client certificate %s with the key %s: %w", certFile, keyFile, err)
	}
	return pair, nil
}

var errEncrypted = errors.New("it is encrypted, and there is no way to give its passphrase; decrypt it into a file of its own")

// encrypted reports whether a private key in PEM asks for a passphrase.
func encrypted(text []byte) bool {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return true
		}
	}
	return false
}

// endsInSSE reports whether an address is one where the older transport is usually found.
func endsInSSE(addr string) bool {
	u, err := url.Parse(addr)
	return err == nil && u.Scheme != "unix" && path.Base(u.Path) == "sse"
}

// ways are the transports to try, in order.
func (c *ServerConfig) ways(asked string) []string {
	switch {
	case c.Transport == TransportHTTP && !c.NoSSEFallback:
		return []string{TransportHTTP, TransportSSE}
	case c.Transport == TransportSSE && asked == "": // its address says so, which is a guess
		return []string{TransportSSE, TransportHTTP}
	}
	return []string{c.Transport}
}

// file is where a path of the configuration points to.
func (c *ServerConfig) file(name string, env []string, workspace string) string {
	name = expandHome(name, env)
	switch {
	case filepath.IsAbs(name):
		return name
	case c.File != "":
		return filepath.Join(filepath.Dir(c.File), name)
	case workspace != "":
		return filepath.Join(workspace, name)
	}
	return name
}

func (c *ServerConfig) checkURL(wrong func(string, string, ...any)) {
	if c.URL == "" {
		return
	}
	u, err := url.Parse(c.URL)
	switch {
	case err != nil: // the parser's text repeats the address, which may hold a password
		wrong("url", "is no valid address")
	case u.Scheme == "unix":
		if u.Host != "" || u.Opaque != "" || u.Path == "" || u.Path == "/" {
			wrong("url", "names no socket; write unix:///path/to/socket#/mcp")
		}
		if u.Fragment != "" && u.Fragment[0] != '/' {
			wrong("url", "has a path after # that does not begin with /")
		}
	case u.Scheme != "http" && u.Scheme != "https":
		wrong("url", "has the scheme %q; use http or https", u.Scheme)
	case u.Hostname() == "":
		wrong("url", "has no host")
	case u.User != nil:
		wrong("url", "holds a user name or password; put them into headers")
	}
}

func (c *ServerConfig) checkHeaders(wrong func(string, string, ...any)) {
	spelled := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		if problem := badHeader(name, c.Headers[name]); problem != "" {
			wrong("headers", "%s", problem)
		}
		key := http.CanonicalHeaderKey(name)
		if other, twice := spelled[key]; twice {
			wrong("headers", "has both %q and %q, which are one header; remove one", other, name)
		}
		spelled[key] = name
	}
}

// badHeader says what is wrong with a header; "": nothing.
func badHeader(name string, v toolsource.Secret) string {
	switch {
	case !isToken(name):
		return fmt.Sprintf("%q is no name of a header", name)
	case strings.ContainsAny(v.Reveal(), "\r\n\x00"):
		return fmt.Sprintf("the value of %s holds a line break or NUL byte", name)
	}
	return ""
}

// isToken reports whether s is a token of RFC 9110.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// origin is the scheme and host of an address: its path and query may hold a key.
func origin(addr string) string {
	u, err := url.Parse(addr)
	if err == nil && u.Scheme == "unix" {
		return "unix://" + u.Path
	}
	if err != nil || u.Host == "" {
		return "a URL"
	}
	return u.Scheme + "://" + u.Host
}
