package hostconfig

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
)

// plainEntry is an entry with what is secret shown, for comparing.
type plainEntry struct {
	ID        string            `json:"id"`
	Name      string            `json:"name,omitempty"`
	Transport string            `json:"transport"`
	Command   string            `json:"command,omitempty"`
	Args      []string          `json:"args,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	EnvFile   string            `json:"env_file,omitempty"`
	Cwd       string            `json:"cwd,omitempty"`
	URL       string            `json:"url,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
	ConnectMS int64             `json:"connect_timeout_ms,omitempty"`
	CallMS    int64             `json:"call_timeout_ms,omitempty"`
	Enabled   bool              `json:"enabled"`
	Required  bool              `json:"required,omitempty"`
	Allow     []string          `json:"allow,omitzero"`
	Deny      []string          `json:"deny,omitempty"`
	Approvals *Approvals        `json:"approvals,omitempty"`
	Line      int               `json:"line,omitempty"`
}

func plainly(e Entry) plainEntry {
	p := plainEntry{
		ID: e.ID, Name: e.Name, Transport: e.Transport, Command: e.Command, Args: e.Args, Env: revealed(e.Env), EnvFile: e.EnvFile,
		Cwd: e.Cwd, URL: e.URL, Headers: revealed(e.Headers), ConnectMS: e.ConnectTimeout.Milliseconds(), CallMS: e.CallTimeout.Milliseconds(),
		Enabled: e.Enabled, Required: e.Required, Allow: e.Allow, Deny: e.Deny, Line: e.Line,
	}
	if !e.Approvals.IsZero() {
		p.Approvals = &e.Approvals
	}
	return p
}

func revealed(m map[string]toolsource.Secret) map[string]string {
	if m == nil {
		return nil
	}
	out := map[string]string{}
	for k, v := range m {
		out[k] = v.Reveal()
	}
	return out
}

func parse(t *testing.T, name, text string, opts *Options) *File {
	t.Helper()
	f, err := Parse(name, []byte(text), opts)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return f
}

func entry(t *testing.T, f *File, id string) Entry {
	t.Helper()
	for _, e := range f.Entries {
		if e.ID == id {
			return e
		}
	}
	t.Fatalf("%s has no entry %q: %v", f.Name, id, f.Report)
	return Entry{}
}

// noted finds a note by server, field and action, with words in its text.
func noted(f *File, server, field, action string, words ...string) bool {
	for _, n := range f.Report {
		if n.Server != server || n.Field != field || n.Action != action {
			continue
		}
		all := true
		for _, w := range words {
			all = all && strings.Contains(n.Reason+" "+n.Remedy, w)
		}
		if all {
			return true
		}
	}
	return false
}

func mustNote(t *testing.T, f *File, server, field, action string, words ...string) {
	t.Helper()
	if !noted(f, server, field, action, words...) {
		t.Errorf("no note %q %q %s with %q in:\n%s", server, field, action, words, report(f))
	}
}

func report(f *File) string {
	var b strings.Builder
	for _, n := range f.Report {
		b.WriteString(n.String() + "\n")
	}
	return b.String()
}

// golden compares a value with a file of testdata/golden; UPDATE=1 writes it.
func golden(t *testing.T, name string, v any) {
	t.Helper()
	got, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "golden", name+".json")
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(got, '\n'), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.TrimSpace(string(want)), string(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}
