package sources_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/sources"
	"github.com/toolsource/toolsource/sources/hostconfig"
)

// reached is how a server is reached and limited, for comparing.
type reached struct {
	ID, Transport, Command, URL, Dir string
	Args                             []string
	Env, Headers                     map[string]string
	Connect, Call                    string
	On, Required                     bool
	Allow, Deny                      []string
}

func shown(m map[string]toolsource.Secret) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		out[k] = v.Reveal()
	}
	return out
}

func entryReached(e hostconfig.Entry) reached {
	r := reached{
		ID: e.ID, Transport: e.Transport, Command: e.Command, URL: e.URL, Dir: e.Cwd, Args: append([]string{}, e.Args...), Env: shown(e.Env), Headers: shown(e.Headers),
		On: e.Enabled, Required: e.Required, Allow: e.Allow, Deny: e.Deny,
	}
	r.Connect, r.Call = e.ConnectTimeout.String(), e.CallTimeout.String()
	if r.Transport == hostconfig.TransportAuto {
		r.Transport = hostconfig.TransportHTTP // with the fallback that an own file has unless it says no
	}
	return r
}

func serverReached(s sources.Server) reached {
	c := s.Config
	r := reached{
		ID: c.ID, Transport: c.Transport, Command: c.Command, URL: c.URL, Dir: c.Dir, Args: append([]string{}, c.Args...), Env: shown(c.Env), Headers: shown(c.Headers),
		On: s.Off == "", Required: c.Required, Allow: s.Source.Allow, Deny: s.Source.Deny,
	}
	r.Connect, r.Call = c.Connect.String(), c.Ceiling.String()
	if rest, ok := strings.CutPrefix(r.Command, "~/"); ok {
		r.Command = "/home/u/" + rest // the client does so when it starts the server
	}
	switch {
	case r.Transport != "":
	case c.Command != "":
		r.Transport = "stdio"
	default:
		r.Transport = "http"
	}
	return r
}

func hostFile(t *testing.T, name, text string) *hostconfig.File {
	t.Helper()
	f, err := hostconfig.Parse(name, []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func loadWritten(t *testing.T, data []byte, lookup func(string) (string, bool)) *sources.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "own.toml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := sources.Load(file, &sources.Options{LookupEnv: lookup})
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	for _, p := range cfg.Problems {
		t.Errorf("%v\n%s", p, data)
	}
	return cfg
}

var written = map[string]string{
	"DEMO_TOKEN": "tok${X}", "DEMO_KEY": "k\"\\", "DEMO_ROOT": "/r", "DEMO_DB": "db", "HTTPS_PROXY": "http://p", "HOME": "/home/u", "SET": "v",
}

func lookupWritten(name string) (string, bool) { v, ok := written[name]; return v, ok }

// What the library's own file says of an imported server is what the host's file said.
func TestWrittenServersComeBack(t *testing.T) {
	files, err := filepath.Glob("hostconfig/testdata/cases/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	more, _ := filepath.Glob("hostconfig/testdata/formats/*")
	odd := filepath.Join(t.TempDir(), "odd.mcp.json")
	if err := os.WriteFile(odd, []byte(`{"mcpServers":{
		"a.b \"c\" \\ é": {"command":"x","args":["$${SET}","\u0001\u007f\t\n","${","'''","\"\"\""],"env":{"K.1":"${SET}$HOME"}},
		"": {"command":"x"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, file := range append(append(files, more...), odd) {
		f, err := hostconfig.Read(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Entries) == 0 {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, notes := hostconfig.WriteTOML(f.Entries)
			cfg := loadWritten(t, data, lookupWritten)
			if len(cfg.Servers) != len(f.Entries) {
				t.Fatalf("%d servers of %d\n%s", len(cfg.Servers), len(f.Entries), data)
			}
			for i, e := range f.Entries {
				off := slices.ContainsFunc(notes, func(n hostconfig.Note) bool { return n.Server == e.ID && n.Action == hostconfig.Refused })
				got := serverReached(cfg.Servers[i])
				if off {
					if got.On {
						t.Errorf("%s is on though something of it could not be written", e.ID)
					}
					continue
				}
				want, _, err := e.Resolve(&hostconfig.Options{LookupEnv: lookupWritten, Home: "/home/u", Input: asked, Secret: asked})
				if err != nil {
					t.Fatal(err)
				}
				w := entryReached(want)
				if !w.On { // variables of a server that is off need not be set
					w, got = reached{ID: w.ID}, reached{ID: got.ID, On: got.On}
				}
				if d := cmp.Diff(w, got); d != "" {
					t.Errorf("%s (-want +got):\n%s\n%s", e.ID, d, data)
				}
				tried++
			}
		})
	}
	if tried < 40 {
		t.Errorf("only %d servers were compared", tried)
	}
}

// asked gives what the variable holds that WriteTOML names instead.
func asked(id string) (toolsource.Secret, bool) {
	v, ok := written[strings.ToUpper(strings.ReplaceAll(id, "-", "_"))]
	return toolsource.Secret(v), ok
}

func TestWhatCannotBeWritten(t *testing.T) {
	f := hostFile(t, ".vscode/mcp.json", `{"servers":{
		"folder":{"command":"${workspaceFolder}/x"},"file":{"command":"x","envFile":".env"},"cwd":{"command":"x","cwd":"${workspaceFolder}"},
		"relative":{"command":"x","cwd":"sub"},"fine":{"command":"x"}}}`)
	data, notes := hostconfig.WriteTOML(f.Entries)
	cfg := loadWritten(t, data, lookupWritten)
	on := map[string]bool{}
	for _, s := range cfg.Servers {
		on[s.Config.ID] = s.Off == ""
	}
	if d := cmp.Diff(map[string]bool{"folder": false, "file": false, "cwd": false, "relative": true, "fine": true}, on); d != "" {
		t.Errorf("%s\n%s", d, data)
	}
	for server, field := range map[string]string{"folder": "command", "file": "envFile", "cwd": "cwd", "relative": "cwd"} {
		if !slices.ContainsFunc(notes, func(n hostconfig.Note) bool {
			return n.Server == server && n.Field == field && n.File == ".vscode/mcp.json"
		}) {
			t.Errorf("no note for %s of %s: %v", field, server, notes)
		}
		if !strings.Contains(string(data), "# "+field+": ") {
			t.Errorf("no comment for %s", field)
		}
	}
	twice, notes := hostconfig.WriteTOML(append(slices.Clone(f.Entries[4:]), f.Entries[4:]...))
	if len(notes) != 1 || notes[0].Action != hostconfig.Refused || len(loadWritten(t, twice, lookupWritten).Servers) != 1 {
		t.Errorf("%v\n%s", notes, twice)
	}
}

// What no server may have here is not written either, so that the file as a whole has nothing wrong.
func TestWhatIsRefusedIsNotWritten(t *testing.T) {
	f := hostFile(t, "mcp.json", `{"mcpServers":{
		"loader":{"command":"x","env":{"LD_PRELOAD":"/x.so","A":"b"}},"only":{"command":"x","env":{"BASH_ENV":"/x"}},
		"user":{"url":"https://me:PLANTED@h.test:1/a@b/?c=d@e#f"},"bare":{"url":"https://me@h.test"}}}`)
	data, notes := hostconfig.WriteTOML(f.Entries)
	if strings.Contains(string(data), "PLANTED") || strings.Contains(string(data), "x.so") {
		t.Errorf("something is written after all:\n%s", data)
	}
	urls := map[string]string{}
	for _, s := range loadWritten(t, data, lookupWritten).Servers {
		if s.Off == "" {
			t.Errorf("%s is on", s.Config.ID)
		}
		if s.Config.ID == "loader" && len(s.Config.Env) != 1 {
			t.Errorf("its other variables are lost: %v", s.Config.Env)
		}
		urls[s.Config.ID] = s.Config.URL
	}
	if d := cmp.Diff(map[string]string{"loader": "", "only": "", "user": "https://h.test:1/a@b/?c=d@e#f", "bare": "https://h.test"}, urls); d != "" {
		t.Error(d)
	}
	if len(notes) != 4 {
		t.Errorf("%v", notes)
	}
}

// Approvals are not written, and lists of tools are: an empty one allows nothing.
func TestWrittenToolsAndTrust(t *testing.T) {
	f := hostFile(t, ".copilot/mcp-config.json", `{"mcpServers":{"none":{"command":"x","tools":[]},"some":{"command":"x","tools":["a"]},"all":{"command":"x","tools":["*"]}}}`)
	trusting := hostFile(t, ".gemini/settings.json", `{"mcpServers":{"g":{"command":"x","trust":true}}}`)
	data, notes := hostconfig.WriteTOML(append(f.Entries, trusting.Entries...))
	cfg := loadWritten(t, data, lookupWritten)
	got := map[string]any{}
	for _, s := range cfg.Servers {
		got[s.Config.ID] = s.Source.Allow
		if s.Config.Trust != toolsource.TrustDefault {
			t.Errorf("%s is trusted: %s", s.Config.ID, s.Config.Trust)
		}
	}
	want := map[string]any{"none": []string{}, "some": []string{"a"}, "all": []string(nil), "g": []string(nil)}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(notes) != 1 || notes[0].Field != "approvals" {
		t.Error(notes)
	}
}
