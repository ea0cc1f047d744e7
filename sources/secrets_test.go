package sources

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// prints is every way of showing a value.
func prints(t *testing.T, values ...any) string {
	t.Helper()
	var b bytes.Buffer
	text, structured := slog.New(slog.NewTextHandler(&b, nil)), slog.New(slog.NewJSONHandler(&b, nil))
	for _, v := range values {
		fmt.Fprintf(&b, "%v %+v %#v %s %q\n", v, v, v, v, v)
		text.Info("x", "v", v)
		structured.Info("x", "v", v)
		j, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			t.Error(err)
		}
		b.Write(j)
	}
	return b.String()
}

const secretsFile = `
[mcp_servers.child]
command = "/opt/${TOKEN}/run"
args = ["--token", "${TOKEN}", "--plain=hunter3"]
env = { A = "${TOKEN}", B = "hunter3" }
[mcp_servers.far]
url = "https://h/${TOKEN}?key=hunter3"
headers = { A = "Bearer ${TOKEN}", B = "hunter3" }
[mcp_servers.off]
enabled = false
url = "https://h/${TOKEN}"
[mcp_servers.bad]
url = "${TOKEN}"
[[tools]]
name = "x"
command = ["x", "--token=hunter3"]
env = { A = "${TOKEN}", B = "hunter3" }
[[tools]]
name = "own"
provider = "own"
key = "hunter3"
`

// What a variable gave, and what stands where secrets do, is in no print of anything that a file gives.
func TestExpandedSecretsDoNotShow(t *testing.T) {
	c := load(t, secretsFile, &Options{LookupEnv: func(n string) (string, bool) { return "Hunter2:Secret", n == "TOKEN" }})
	all := prints(t, c, *c, c.Servers, &c.Servers[0], c.Servers[0], c.Servers[1], c.Problems, c.tools, c.tools[0], &c.tools[1], map[string]any{"s": c.Servers[0]})
	for _, p := range c.Problems {
		all += prints(t, p, *p, p.Unwrap())
	}
	for _, secret := range []string{"hunter2", "secret\"", "hunter3"} {
		if i := strings.Index(strings.ToLower(all), secret); i >= 0 {
			t.Errorf("%s shows: %q", secret, all[max(0, i-200):i+20])
		}
	}
	for _, want := range []string{`server "child" (stdio) of `, `"transport": "http"`, `tool "own" (own) of `, `server "bad" of `, "toolsource.toml:12, bad entry"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in %s", want, all)
		}
	}
}

// A problem with what a variable holds names the variable.
func TestProblemsNameTheVariable(t *testing.T) {
	for _, tt := range []struct{ token, entry, want string }{
		{"Hunter2:Secret", "url = '${TOKEN}'", `mcp_servers.x.url: has the scheme ${TOKEN}; use http or https`},
		{"Hunter2", "url = '${TOKEN}://host'", `mcp_servers.x.url: has the scheme ${TOKEN}; use http or https`},
		{"ftp", "url = '${TOKEN}://host'", `mcp_servers.x.url: has the scheme "ftp"; use http or https`},
		{"https://u:hunter2@h", "url = '${TOKEN}'", `mcp_servers.x.url: holds a user name or password; put them into headers`},
		{"hunter2\n", "url = 'http://h'\nheaders = { A = '${TOKEN}' }", `mcp_servers.x.headers: the value of A holds a line break or NUL byte`},
		{"", "command = 'x'\nargs = ['${TOKEN}', '${MORE}']", `mcp_servers.x.args[1]: variable MORE is not set and has no default (set it, or write ${NAME:-default}; the server is off)`},
	} {
		c := load(t, "[mcp_servers.x]\n"+tt.entry+"\n", &Options{LookupEnv: func(n string) (string, bool) { return tt.token, n == "TOKEN" }})
		got := problems(c)
		if len(got) != 1 || !strings.HasSuffix(got[0], ": "+tt.want) {
			t.Errorf("%q in %s: %q", tt.token, tt.entry, got)
		}
	}
}
