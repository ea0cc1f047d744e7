package configsource

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
)

func echo(_ context.Context, args map[string]any) (toolsource.Result, error) {
	return toolsource.Value(args), nil
}

var funcs = map[string]toolsource.Callable{"echo": echo, "other": func(context.Context, map[string]any) (toolsource.Result, error) {
	return toolsource.Value("other"), nil
}}

func names(t *testing.T, s *Source) []string {
	t.Helper()
	specs, err := s.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, sp := range specs {
		out = append(out, sp.Name)
	}
	return out
}

func TestGoFunction(t *testing.T) {
	s := load(t, `
[[tools]]
name = "myread"
func = "echo"
description = "Reads"
grade_w = 1
effects_ceiling = 1
args = [{ name = "path", type = "str" }, { name = "n", type = "int", default = 3 }]
`, &Options{Funcs: funcs})
	specs, err := s.Discover(t.Context())
	if err != nil || len(specs) != 1 {
		t.Fatal(specs, err)
	}
	sp := specs[0]
	if sp.Name != "myread" || sp.Grade != grade.W1D1 || len(sp.Args) != 2 || sp.Origin.Kind != "config" || sp.Origin.Source != "config" || sp.Origin.File != "f.toml" || sp.Origin.Line != 2 {
		t.Errorf("%+v", sp)
	}
	if got := must(t, s, "myread", map[string]any{"path": "a"}); !cmp.Equal(got, map[string]any{"path": "a", "n": int64(3)}) {
		t.Error(got)
	}
	for name, args := range map[string]map[string]any{"path": {}, "n": {"path": "a", "n": "3"}, "zz": {"path": "a", "zz": 1}} {
		if _, err := call(t, s, "myread", args); !errors.Is(err, toolsource.ErrBadArguments) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAvailableReflectsDefinitions(t *testing.T) {
	if New(nil, nil).Available() {
		t.Error("nothing declared, and available")
	}
	s := load(t, "[[tools]]\nname='x'\nfunc='echo'\n", &Options{Funcs: funcs})
	if !s.Available() || s.Name() != "config" {
		t.Error("one declared, and not available")
	}
}

func TestGradeIsTheWorstByDefault(t *testing.T) {
	s := load(t, "[[tools]]\nname='x'\nfunc='echo'\n", &Options{Funcs: funcs})
	specs, _ := s.Discover(t.Context())
	if specs[0].Grade != grade.Max {
		t.Error(specs[0].Grade)
	}
	made := New([]Definition{{Spec: toolsource.ToolSpec{Name: "y"}, Config: map[string]any{"func": "echo"}}}, &Options{Funcs: funcs})
	if specs, _ := made.Discover(t.Context()); specs[0].Grade != grade.Max || specs[0].Returns != "Any" {
		t.Errorf("%+v", specs[0])
	}
}

// One bad entry costs only itself, and says where it is and what to do.
func TestBadDefinitions(t *testing.T) {
	dir := t.TempDir()
	tests := []struct{ name, entry, want string }{
		{"no name", "func = 'echo'", `f.toml:2:1: tools[0]: has no name (add name = "...")`},
		{"unknown function", "name = 'x'\nfunc = 'ecko'", `f.toml:4:1: tool x: func: provider "go" has no function "ecko" (did you mean echo? known functions: echo, other)`},
		{"no function", "name = 'x'", `f.toml:2: tool x: func: provider "go" needs the name of a registered function (known functions: echo, other)`},
		{"two functions", "name = 'x'\nfunc = 'echo'\nfunction = 'echo'", `f.toml:5:1: tool x: function: is given beside func, which means the same (remove one)`},
		{"unknown provider", "name = 'x'\nprovider = 'python'", `f.toml:4:1: tool x: provider: no provider is called "python" (known providers: exec, file, go)`},
		{"unknown key", "name = 'x'\nfunc = 'echo'\ndesciption = 'd'", `f.toml:5:1: tool x: desciption: unknown key (did you mean description?)`},
		{"key of another provider", "name = 'x'\nfunc = 'echo'\nmax_output = 3", `f.toml:5:1: tool x: max_output: unknown key (provider "go" reads func, function)`},
		{"wrong type", "name = 'x'\nfunc = 3", `f.toml:4:1: tool x: func: want a string`},
		{"provider_config", "name = 'x'\nprovider_config = { func = 'nope' }", `f.toml:4:21: tool x: func: provider "go" has no function "nope" (known functions: echo, other)`},
		{"command empty", "name = 'x'\ncommand = []", `f.toml:4:1: tool x: command: is empty (give the program and its arguments, as ["grep", "-n", "{pattern}"])`},
		{"command is a string", "name = 'x'\ncommand = 'ls -l'", `f.toml:4:1: tool x: command: want an array`},
		{"program from argument", "name = 'x'\nargs=[{name='p'}]\ncommand = ['{p}']", `f.toml:5:12: tool x: command[0]: the program cannot come from an argument (write the program out)`},
		{"undeclared argument", "name = 'x'\ncommand = ['ls', '{p}']", `f.toml:4:18: tool x: command[1]: the tool has no argument "p" (declare it in args, or write {{ and }} for braces)`},
		{"open brace", "name = 'x'\ncommand = ['ls', '{p']", `f.toml:4:18: tool x: command[1]: has a { without a } (write {{ and }} for braces)`},
		{"list inside", "name = 'x'\nargs=[{name='p',type='list'}]\ncommand = ['ls', '-{p}']", `f.toml:5:18: tool x: command[1]: the list "p" cannot be part of an element (make it an element of its own)`},
		{"element in group", "name = 'x'\ncommand = ['ls', ['-a', 3]]", `f.toml:4:25: tool x: command[1][1]: want a string, or an array of strings that are left out together`},
		{"stdin", "name = 'x'\ncommand = ['ls']\nstdin = 'yes'", `f.toml:5:1: tool x: stdin: cannot be "yes" (want "none", "json" or "{NAME}" of a declared argument)`},
		{"output", "name = 'x'\ncommand = ['ls']\noutput = 'xml'", `f.toml:5:1: tool x: output: cannot be "xml" (want "text", "json" or "lines")`},
		{"dir", "name = 'x'\ncommand = ['ls']\ndir = '../y'", `f.toml:5:1: tool x: dir: is outside the workspace (give a path relative to the workspace)`},
		{"ok_codes", "name = 'x'\ncommand = ['ls']\nok_codes = [0, -1]", `f.toml:5:16: tool x: ok_codes[1]: want an exit code, 0 or more`},
		{"max_output", "name = 'x'\ncommand = ['ls']\nmax_output = 0", `f.toml:5:1: tool x: max_output: is 0, want 1 to 2147483647`},
		{"env type", "name = 'x'\ncommand = ['ls']\nenv = { A = 1 }", `f.toml:5:9: tool x: env.A: want a string`},
		{"env unset", "name = 'x'\ncommand = ['ls']\nenv = { A = 's3cret${NO_SUCH_VARIABLE}' }", `f.toml:5:1: tool x: env: A: variable NO_SUCH_VARIABLE is not set and has no default (set the variable, or write ${NAME:-default})`},
		{"operation", "name = 'x'\nprovider = 'file'\noperation = 'raed'", `f.toml:5:1: tool x: operation: no operation is called "raed" (did you mean read? known operations: edit, find, read, write)`},
		{"operation's arguments", "name = 'x'\nprovider = 'file'\noperation = 'read'", `f.toml:5:1: tool x: operation: "read" needs a required argument "path" of type str (declare it in args)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, problems := tryLoad(t, "\n[[tools]]\n"+tt.entry+"\n[[tools]]\nname = 'good'\nfunc = 'echo'\n", &Options{Funcs: funcs, Workspace: dir})
			if !cmp.Equal(problems, []string{tt.want}) {
				t.Errorf("got  %v\nwant %s", problems, tt.want)
			}
			if got := names(t, s); !cmp.Equal(got, []string{"good"}) {
				t.Errorf("the neighbours: %v", got)
			}
		})
	}
}

func TestResolveTellsWhyADefinitionWasLeftOut(t *testing.T) {
	s, _ := tryLoad(t, "[[tools]]\nname='x'\nfunc='nope'\n", &Options{Funcs: funcs})
	_, err := s.Resolve(toolsource.ToolSpec{Name: "x"})
	if err == nil || !strings.Contains(err.Error(), `tool x: func: provider "go" has no function "nope"`) || !strings.Contains(err.Error(), "echo, other") {
		t.Error(err)
	}
	if _, err := s.Resolve(toolsource.ToolSpec{Name: "y"}); !errors.Is(err, toolsource.ErrUnknownTool) {
		t.Error(err)
	}
}

func TestFirstOfTwoIsKept(t *testing.T) {
	s, problems := tryLoad(t, "[[tools]]\nname='x'\nfunc='echo'\n[[tools]]\nname='x'\nfunc='other'\n", &Options{Funcs: funcs})
	if !cmp.Equal(problems, []string{"f.toml:4: tool x: is declared twice; the one of line 1 is kept"}) {
		t.Error(problems)
	}
	if got := must(t, s, "x", nil); !cmp.Equal(got, map[string]any{}) {
		t.Error(got)
	}
}

func TestNoWorkspace(t *testing.T) {
	_, problems := tryLoad(t, "[[tools]]\nname='x'\ncommand=['ls']\n", nil)
	if !cmp.Equal(problems, []string{"f.toml:1: tool x: needs a workspace, and there is none; set Options.Workspace"}) {
		t.Error(problems)
	}
}

func TestHostProvider(t *testing.T) {
	upper := NewProvider(func(def Definition) (toolsource.Callable, error) {
		if def.Config["panic"] == true {
			panic("boom")
		}
		prefix, ok := def.Config["prefix"].(string)
		if !ok {
			return nil, &KeyError{Key: "prefix", Err: errors.New("want a string"), Hint: "give one"}
		}
		return func(_ context.Context, args map[string]any) (toolsource.Result, error) {
			return toolsource.Value(prefix + args["s"].(string)), nil
		}, nil
	}, "prefix", "panic")
	s, problems := tryLoad(t, `
[[tools]]
name = "a"
provider = "pre"
prefix = "> "
args = [{ name = "s", type = "str" }]
[[tools]]
name = "b"
provider = "pre"
prefix = 4
[[tools]]
name = "c"
provider = "pre"
panic = true
[[tools]]
name = "d"
provider = "pre"
prefxi = ""
`, &Options{Providers: map[string]Provider{"pre": upper}})
	if got := must(t, s, "a", map[string]any{"s": "x"}); got != "> x" {
		t.Error(got)
	}
	want := []string{
		"f.toml:10:1: tool b: prefix: want a string (give one)",
		"f.toml:11: tool c: panicked: boom",
		"f.toml:18:1: tool d: prefxi: unknown key (did you mean prefix?)",
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Error(diff)
	}
	if st := s.Status(); len(st.Problems) != 3 || st.Tools != 1 || st.State != toolsource.StateReady {
		t.Errorf("%+v", st)
	}
}

func TestClosed(t *testing.T) {
	s := load(t, "[[tools]]\nname='x'\nfunc='echo'\n", &Options{Funcs: funcs})
	c := callable(t, s, "x")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error("second Close:", err)
	}
	if _, err := c(t.Context(), nil); !errors.Is(err, toolsource.ErrClosed) {
		t.Error(err)
	}
	if _, err := s.Discover(t.Context()); !errors.Is(err, toolsource.ErrClosed) || s.Available() || s.Status().State != toolsource.StateClosed {
		t.Error("a closed source goes on:", err)
	}
}

func TestSpecsAreTheSourcesOwn(t *testing.T) {
	defs := []Definition{{Spec: toolsource.ToolSpec{Name: "x", Args: []toolsource.ArgSpec{{Name: "a", Type: "str"}}}, Config: map[string]any{"func": "echo"}}}
	s := New(defs, &Options{Funcs: funcs})
	defs[0].Spec.Args[0].Name = "changed"
	if specs, _ := s.Discover(t.Context()); specs[0].Args[0].Name != "a" {
		t.Error("the source shares the caller's memory")
	}
}

// No tool name stands in code: those of the defaults are data.
func TestNoToolNameInCode(t *testing.T) {
	s, err := Defaults(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tools := names(t, s)
	if !cmp.Equal(tools, []string{"read_file", "find_files", "write_file", "edit_file"}) {
		t.Error(tools)
	}
	files, _ := filepath.Glob("*.go")
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(tools, func(n string) bool { return strings.Contains(string(src), n) }); i >= 0 {
			t.Errorf("%s holds the tool name %s", f, tools[i])
		}
	}
}
