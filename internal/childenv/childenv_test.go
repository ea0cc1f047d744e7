package childenv

import (
	"slices"
	"testing"

	"github.com/toolsource/toolsource"
)

type env = map[string]string

func lookup(e env) func(string) (string, bool) {
	return func(n string) (string, bool) {
		v, ok := e[n]
		return v, ok
	}
}

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		why     string
		have    env
		own     map[string]toolsource.Secret
		windows bool
		want    []string
	}{
		{"where things are, and no credentials",
			env{"PATH": "/bin", "HOME": "/h", "LANG": "C", "XDG_DATA_HOME": "/d", "SECRET_KEY": "x", "AWS_SECRET_ACCESS_KEY": "x", "GITHUB_TOKEN": "x", "OPENAI_API_KEY": "x", "DATABASE_URL": "x", "SSH_AUTH_SOCK": "x"},
			nil, false, []string{"HOME=/h", "LANG=C", "PATH=/bin", "XDG_DATA_HOME=/d"}},
		{"one that is empty is there", env{"PATH": ""}, nil, false, []string{"PATH="}},
		{"its own wins", env{"PATH": "/bin"}, map[string]toolsource.Secret{"PATH": "/own", "T": "hunter2"}, false, []string{"PATH=/own", "T=hunter2"}},
		{"names differ by case", env{"PATH": "/bin"}, map[string]toolsource.Secret{"Path": "/own"}, false, []string{"PATH=/bin", "Path=/own"}},
		{"names do not differ by case on Windows", env{"PATH": `C:\a`, "SYSTEMROOT": `C:\W`}, map[string]toolsource.Secret{"Path": `C:\b`}, true, []string{`Path=C:\b`, `SYSTEMROOT=C:\W`}},
		{"of two spellings one is there on Windows", nil, map[string]toolsource.Secret{"PATH": "1", "Path": "2", "path": "3"}, true, []string{"path=3"}},
		{"where things are on Windows",
			env{"APPDATA": "a", "COMSPEC": "c", "PATHEXT": ".EXE", "PROGRAMFILES(X86)": "p", "USERPROFILE": "u", "AZURE_CLIENT_SECRET": "x"},
			nil, true, []string{"APPDATA=a", "COMSPEC=c", "PATHEXT=.EXE", "PROGRAMFILES(X86)=p", "USERPROFILE=u"}},
		{"of two paths the configured one is there", env{"PATH": "base"}, map[string]toolsource.Secret{"Path": "own", "pathext": ".PY"}, true, []string{"Path=own", "pathext=.PY"}},
		{"no shell functions", env{"PATH": "() { :; }; echo", "HOME": "/h"}, nil, false, []string{"HOME=/h"}},
	} {
		for range 5 { // maps have no order
			if got := of(tt.own, lookup(tt.have), tt.windows); !slices.Equal(got, tt.want) {
				t.Errorf("%s: %q, want %q", tt.why, got, tt.want)
			}
		}
	}
	t.Setenv("TMPDIR", "/here")
	if got := Of(nil, nil); !slices.Contains(got, "TMPDIR=/here") {
		t.Errorf("our own environment: %q", got)
	}
}

func TestInBase(t *testing.T) {
	for name, want := range map[string]bool{"PATH": true, "Path": true, "XDG_DATA_HOME": true, "API_KEY": false, "": false} {
		if got := InBase(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestValue(t *testing.T) {
	list := []string{"PATH=1", "Path=2=3", "EMPTY=", "ODD"}
	for _, tt := range []struct {
		name    string
		windows bool
		want    string
		ok      bool
	}{
		{"PATH", false, "1", true}, {"PATH", true, "2=3", true}, {"Path", false, "2=3", true},
		{"EMPTY", false, "", true}, {"ODD", false, "", false}, {"NONE", true, "", false},
	} {
		if got, ok := ValueOn(list, tt.name, tt.windows); got != tt.want || ok != tt.ok {
			t.Errorf("%s, windows %v: %q %v", tt.name, tt.windows, got, ok)
		}
	}
	if v, ok := Value(list, "PATH"); !ok || v == "" {
		t.Errorf("%q %v", v, ok)
	}
}
