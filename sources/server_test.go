package sources

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
)

func TestServerKeys(t *testing.T) {
	c := load(t, `
[mcp_servers.a]
command = "x"
lazy = true
parallel = false
era_probe = 2
relist = "1m"
[mcp_servers.b]
url = "https://h/mcp"
sse_fallback = false
relist = false
supports_parallel_tool_calls = false
[mcp_servers.b.tls]
ca = "${DIR}/ca.pem"
cert = "cert.pem"
key = "key.pem"
[mcp_servers.c]
url = "https://h/mcp"
ssl_verify = "ca.pem"
client_cert = "cert.pem"
client_key = "key.pem"
supports_parallel_tool_calls = true
[mcp_servers.d]
url = "https://h/mcp"
ssl_verify = false
[mcp_servers.e]
url = "unix:///run/s.sock#/mcp"
[mcp_servers.f]
url = "https://h/mcp"
tls = { verify = false }
`, &Options{LookupEnv: func(n string) (string, bool) { return "/etc", n == "DIR" }})
	if got := problems(c); got != nil {
		t.Fatal(got)
	}
	want := []mcpclient.ServerConfig{
		{ID: "a", Command: "x", Lazy: true, Serial: true, EraProbe: 2 * time.Second, Relist: time.Minute, Line: 2},
		{ID: "b", URL: "https://h/mcp", NoSSEFallback: true, Relist: -1, Serial: true, TLS: mcpclient.TLSConfig{CAFile: "/etc/ca.pem", CertFile: "cert.pem", KeyFile: "key.pem"}, Secrets: []toolsource.Secret{"/etc"}, Line: 8},
		{ID: "c", URL: "https://h/mcp", TLS: mcpclient.TLSConfig{CAFile: "ca.pem", CertFile: "cert.pem", KeyFile: "key.pem"}, Line: 17},
		{ID: "d", URL: "https://h/mcp", TLS: mcpclient.TLSConfig{Insecure: true}, Line: 23},
		{ID: "e", URL: "unix:///run/s.sock#/mcp", Line: 26},
		{ID: "f", URL: "https://h/mcp", TLS: mcpclient.TLSConfig{Insecure: true}, Line: 28},
	}
	var got []mcpclient.ServerConfig
	for i := range c.Servers {
		want[i].File = c.File
		got = append(got, c.Servers[i].Config)
	}
	if diff := cmp.Diff(want, got, cmp.Transformer("secret", func(s toolsource.Secret) string { return s.Reveal() })); diff != "" {
		t.Error(diff)
	}
}

func TestBadServerKeys(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"command = 'x'\ntls = { verify = false }", `toolsource.toml:3:1: mcp_servers.x.tls: is set for a command; it is for servers with a url`},
		{"command = 'x'\nssl_verify = false", `toolsource.toml:1:14: mcp_servers.x: tls is set for a command; it is for servers with a url`},
		{"url = 'https://h'\ntls = { cert = 'a' }\nclient_cert = 'b'", `toolsource.toml:4:1: mcp_servers.x.client_cert: means the same as tls.cert (remove one of them)`},
		{"url = 'https://h'\ntls = { ca = 3 }", `toolsource.toml:3:9: mcp_servers.x.tls.ca: want a string, is an integer`},
		{"url = 'https://h'\ntls = { crt = 'a' }", `toolsource.toml:3:9: mcp_servers.x.tls.crt: unknown key (did you mean cert?)`},
		{"url = 'https://h'\ntls = true", `toolsource.toml:3:1: mcp_servers.x.tls: want a table, is a boolean`},
		{"url = 'https://h'\nssl_verify = 3", `toolsource.toml:3:1: mcp_servers.x.ssl_verify: want a boolean, is an integer`},
		{"url = 'https://h'\ntls = { ca = '${NO_SUCH}' }", `toolsource.toml:3:9: mcp_servers.x.tls.ca: variable NO_SUCH is not set and has no default (set it, or write ${NAME:-default}; the server is off)`},
		{"command = 'x'\nlazy = 'yes'", `toolsource.toml:3:1: mcp_servers.x.lazy: want a boolean, is a string`},
		{"command = 'x'\nparallel = false\nmax_in_flight = 4", `toolsource.toml:4:1: mcp_servers.x.max_in_flight: is 4, but the server takes one call at a time`},
		{"command = 'x'\nparallel = false\nsupports_parallel_tool_calls = false", `toolsource.toml:4:1: mcp_servers.x.supports_parallel_tool_calls: means the same as parallel (remove one of them)`},
		{"command = 'x'\nera_probe = -1", `toolsource.toml:3:1: mcp_servers.x.era_probe: want a duration above zero (a number is seconds; a string is as "1m30s")`},
		{"url = 'unix:///'", `toolsource.toml:2:1: mcp_servers.x.url: names no socket; write unix:///path/to/socket#/mcp`},
	} {
		c := load(t, "[mcp_servers.x]\n"+tt.text+"\n", &Options{LookupEnv: func(string) (string, bool) { return "", false }})
		if got := problems(c); !cmp.Equal(got, []string{tt.want}) {
			t.Errorf("%q:\n got %q\nwant %s", tt.text, got, tt.want)
		}
		if c.Servers[0].Off == "" {
			t.Errorf("%q: the server is not off", tt.text)
		}
	}
}
