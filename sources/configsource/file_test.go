package configsource

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
)

// defaults opens the shipped tools on a workspace beside which there is a secret.
func defaults(t *testing.T) (s *Source, dir string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put(t, base, map[string]string{"secret.txt": "secret", "ws/a.txt": "alpha", "ws/sub/b.txt": "beta"})
	dir = filepath.Join(base, "ws")
	if s, err = Defaults(dir, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, dir
}

func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Skip("no symbolic links here:", err)
	}
}

func get(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestDefaultsAreAsDocumented(t *testing.T) {
	s, _ := defaults(t)
	if s.Name() != "default" {
		t.Error(s.Name())
	}
	specs, err := s.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		name, args, returns, desc string
		g                         grade.Grade
	}
	var got []row
	for _, sp := range specs {
		var args []string
		for _, a := range sp.Args {
			args = append(args, a.Name+":"+a.Type)
		}
		got = append(got, row{sp.Name, strings.Join(args, " "), sp.Returns, sp.Description, sp.Grade})
	}
	want := []row{
		{"read_file", "path:str", "str", "Read file contents", grade.W1D1},
		{"find_files", "pattern:str", "list[str]", "Find files matching a glob pattern", grade.W1D1},
		{"write_file", "path:str content:str", "bool", "Write content to a file", grade.Max},
		{"edit_file", "path:str old_str:str new_str:str", "bool", "Replace text in a file", grade.Max},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Error(diff)
	}
}

func TestDefaultsNeedAFolder(t *testing.T) {
	_, dir := defaults(t)
	if _, err := Defaults(filepath.Join(dir, "none"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Defaults(filepath.Join(dir, "a.txt"), nil); err == nil || !strings.Contains(err.Error(), "is not a folder") {
		t.Error(err)
	}
}

// No path leaves the workspace, by whatever operation.
func TestNoPathLeavesTheWorkspace(t *testing.T) {
	s, dir := defaults(t)
	secret := filepath.Join(dir, "..", "secret.txt")
	link(t, secret, filepath.Join(dir, "abs_link"))
	link(t, "../secret.txt", filepath.Join(dir, "rel_link"))
	link(t, "..", filepath.Join(dir, "dir_link"))
	link(t, "../new.txt", filepath.Join(dir, "dangling"))
	paths := []string{"../secret.txt", "sub/../../secret.txt", secret, filepath.Dir(dir) + "/ws/../secret.txt", dir + "-other/x",
		"abs_link", "rel_link", "dir_link/secret.txt", "dangling", "..", "/etc/passwd"}
	for _, p := range paths {
		for tool, args := range map[string]map[string]any{
			"read_file": {"path": p}, "write_file": {"path": p, "content": "owned"}, "edit_file": {"path": p, "old_str": "secret", "new_str": "owned"},
		} {
			r, err := call(t, s, tool, args)
			if !errors.Is(err, toolsource.ErrDenied) || !strings.Contains(err.Error(), fmt.Sprintf("%q is outside the workspace", p)) {
				t.Errorf("%s %s: %v %v", tool, p, r.Value, err)
			}
		}
	}
	for _, p := range []string{"../*", "/etc/*", "sub/../../*", dir + "-other/*"} {
		if _, err := call(t, s, "find_files", map[string]any{"pattern": p}); !errors.Is(err, toolsource.ErrDenied) {
			t.Errorf("find %s: %v", p, err)
		}
	}
	if got := must(t, s, "find_files", map[string]any{"pattern": "**/*secret*"}); !cmp.Equal(got, any([]any{})) {
		t.Error("a linked folder was entered:", got)
	}
	if got := must(t, s, "find_files", map[string]any{"pattern": "*_link"}); !cmp.Equal(got, any([]any{})) {
		t.Error("links out of the workspace:", got)
	}
	if get(t, dir, "../secret.txt") != "secret" || exists(filepath.Join(dir, "..", "new.txt")) {
		t.Error("something outside changed")
	}
}

func TestRead(t *testing.T) {
	s, dir := defaults(t)
	put(t, dir, map[string]string{"crlf": "\ufeffa\r\nb", "empty": "", "latin1": "\xe4"})
	for p, want := range map[string]string{"a.txt": "alpha", "./sub/../a.txt": "alpha", "sub/b.txt": "beta", filepath.Join(dir, "a.txt"): "alpha", "crlf": "\ufeffa\r\nb", "empty": ""} {
		if got := must(t, s, "read_file", map[string]any{"path": p}); got != want {
			t.Errorf("%s: %q", p, got)
		}
	}
	for p, want := range map[string]string{
		"none.txt": "none.txt: no such file", "sub": "sub is a folder", "latin1": "latin1 is not UTF-8 text", "a.txt/x": "a.txt/x: not a directory",
	} {
		_, err := call(t, s, "read_file", map[string]any{"path": p})
		var te *toolsource.ToolError
		if !errors.As(err, &te) || !strings.Contains(err.Error(), want) && runtime.GOOS == "linux" {
			t.Errorf("%s: %v", p, err)
		}
	}
	if _, err := call(t, s, "read_file", map[string]any{"path": "none.txt"}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, p := range []string{"", "a\x00b"} {
		if _, err := call(t, s, "read_file", map[string]any{"path": p}); !errors.Is(err, toolsource.ErrBadArguments) {
			t.Errorf("%q: %v", p, err)
		}
	}
}

func TestWorkspaceByAnotherName(t *testing.T) {
	_, dir := defaults(t)
	alias := filepath.Join(t.TempDir(), "alias")
	link(t, dir, alias)
	s, err := Defaults(alias, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, p := range []string{filepath.Join(dir, "a.txt"), filepath.Join(alias, "a.txt")} {
		if got := must(t, s, "read_file", map[string]any{"path": p}); got != "alpha" {
			t.Errorf("%s: %v", p, got)
		}
	}
}

func fileTools(t *testing.T, dir, more string) *Source {
	t.Helper()
	var b strings.Builder
	for op, args := range map[string]string{"read": "{name='path',type='str'}", "find": "{name='pattern',type='str'}",
		"write": "{name='path',type='str'},{name='content',type='str'}", "edit": "{name='path',type='str'},{name='old_str',type='str'},{name='new_str',type='str'}"} {
		fmt.Fprintf(&b, "[[tools]]\nname='do_%s'\nprovider='file'\noperation='%s'\nargs=[%s]\n%s\n", op, op, args, more)
	}
	return load(t, b.String(), &Options{Workspace: dir})
}

func TestSizeLimits(t *testing.T) {
	_, dir := defaults(t)
	s := fileTools(t, dir, "max_bytes = 5")
	put(t, dir, map[string]string{"six": "123456", "five": "12345"})
	if got := must(t, s, "do_read", map[string]any{"path": "five"}); got != "12345" {
		t.Error(got)
	}
	for tool, args := range map[string]map[string]any{
		"do_read": {"path": "six"}, "do_write": {"path": "five", "content": "123456"}, "do_edit": {"path": "five", "old_str": "5", "new_str": "56"},
	} {
		_, err := call(t, s, tool, args)
		if err == nil || !strings.Contains(err.Error(), "has 6 bytes, and the limit is 5 (max_bytes)") {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if get(t, dir, "five") != "12345" {
		t.Error("the file changed")
	}
}

func TestWrite(t *testing.T) {
	s, dir := defaults(t)
	put(t, dir, map[string]string{"tool.sh": "x", "target": "old"})
	if err := os.Chmod(filepath.Join(dir, "tool.sh"), 0o777); err != nil {
		t.Fatal(err)
	}
	link(t, "target", filepath.Join(dir, "link"))
	for p, want := range map[string]string{"new.txt": "n\r\n", "tool.sh": "#!", "sub/c": "", "link": "through"} {
		if got := must(t, s, "write_file", map[string]any{"path": p, "content": want}); got != true {
			t.Error(got)
		}
		if got := get(t, dir, p); got != want {
			t.Errorf("%s: %q", p, got)
		}
	}
	if st, _ := os.Stat(filepath.Join(dir, "tool.sh")); st.Mode().Perm() != 0o777 && runtime.GOOS != "windows" {
		t.Error("the mode changed:", st.Mode())
	}
	if st, _ := os.Lstat(filepath.Join(dir, "link")); st.Mode()&fs.ModeSymlink == 0 || get(t, dir, "target") != "through" {
		t.Error("the link was replaced")
	}
	for p, want := range map[string]string{"sub": "sub is a folder", "no/such/x": "no/such/x: the folder no/such does not exist"} {
		if _, err := call(t, s, "write_file", map[string]any{"path": p, "content": "x"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", p, err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*", ".toolsource-*"))
	top, _ := filepath.Glob(filepath.Join(dir, ".toolsource-*"))
	if len(left)+len(top) > 0 {
		t.Error("temp files are left:", left, top)
	}
}

func TestEdit(t *testing.T) {
	s, dir := defaults(t)
	put(t, dir, map[string]string{"f": "one two one"})
	edit := func(old, new string) any {
		return must(t, s, "edit_file", map[string]any{"path": "f", "old_str": old, "new_str": new})
	}
	if edit("one", "1") != true || get(t, dir, "f") != "1 two one" {
		t.Error("the first occurrence:", get(t, dir, "f"))
	}
	before, _ := os.Stat(filepath.Join(dir, "f"))
	if edit("three", "3") != false {
		t.Error("not there, and true")
	}
	if after, _ := os.Stat(filepath.Join(dir, "f")); !os.SameFile(before, after) {
		t.Error("written although the text is not there")
	}
	if _, err := call(t, s, "edit_file", map[string]any{"path": "f", "old_str": "", "new_str": "x"}); !errors.Is(err, toolsource.ErrBadArguments) {
		t.Error(err)
	}
	if _, err := call(t, s, "edit_file", map[string]any{"path": "none", "old_str": "a", "new_str": "x"}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// Edits of one file at once all happen.
func TestEditsAtOnce(t *testing.T) {
	s, dir := defaults(t)
	var text strings.Builder
	for i := range 20 {
		fmt.Fprintf(&text, "<%02d>", i)
	}
	put(t, dir, map[string]string{"f": text.String()})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			_, err := callable(t, s, "edit_file")(context.Background(), map[string]any{"path": "f", "old_str": fmt.Sprintf("<%02d>", i), "new_str": "."})
			if err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if got := get(t, dir, "f"); got != strings.Repeat(".", 20) {
		t.Error(got)
	}
}

func TestContextsOfFiles(t *testing.T) {
	s, dir := defaults(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := &files{space: s.space, maxBytes: 100, maxResults: 100, maxEntries: 100}
	for op, args := range map[string]map[string]any{
		"read": {"path": "a.txt"}, "find": {"pattern": "**"}, "write": {"path": "a.txt", "content": "x"}, "edit": {"path": "a.txt", "old_str": "a", "new_str": "b"},
	} {
		if _, _, err := operations[op].run(f, ctx, args); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", op, err)
		}
	}
	root, err := s.space.open()
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(ctx, root, "temp", "", 0o600, false); !errors.Is(err, context.Canceled) {
		t.Error("a context that ended while the file was written:", err)
	}
	if get(t, dir, "a.txt") != "alpha" {
		t.Error("written after the end of the context")
	}
}

func TestFilesAfterClose(t *testing.T) {
	s, _ := defaults(t)
	f := &files{space: s.space, maxBytes: 100}
	_ = s.Close()
	if _, _, err := f.read(t.Context(), map[string]any{"path": "a.txt"}); !errors.Is(err, toolsource.ErrClosed) {
		t.Error(err)
	}
}

func TestFind(t *testing.T) {
	s, dir := defaults(t)
	put(t, dir, map[string]string{".hidden": "", ".git/config": "", "sub/deep/c.txt": "", "sub/deep/d.go": "", "sub-x/e.txt": "", "[x].txt": ""})
	link(t, "a.txt", filepath.Join(dir, "to_a.txt"))
	link(t, "sub", filepath.Join(dir, "to_sub"))
	tests := []struct {
		pattern string
		want    []any
	}{
		{"*.txt", []any{"[x].txt", "a.txt", "to_a.txt"}}, {"*", []any{"[x].txt", "a.txt", "to_a.txt"}},
		{"**/*.txt", []any{"[x].txt", "a.txt", "sub-x/e.txt", "sub/b.txt", "sub/deep/c.txt", "to_a.txt"}},
		{"**", []any{"[x].txt", "a.txt", "sub-x/e.txt", "sub/b.txt", "sub/deep/c.txt", "sub/deep/d.go", "to_a.txt"}},
		{"sub/**", []any{"sub/b.txt", "sub/deep/c.txt", "sub/deep/d.go"}}, {"sub/**/*.go", []any{"sub/deep/d.go"}}, {"**/deep/**/c.txt", []any{"sub/deep/c.txt"}},
		{"sub/*/*.txt", []any{"sub/deep/c.txt"}}, {"./a.txt", []any{"a.txt"}}, {"sub//b.txt", []any{"sub/b.txt"}}, {"sub", []any{}}, {"none/**", []any{}},
		{"[ab].txt", []any{"a.txt"}}, {"[!ab].txt", []any{}}, {`\[x\].txt`, []any{"[x].txt"}}, {"?.txt", []any{"a.txt"}},
		{".*", []any{".hidden"}}, {".git/*", []any{".git/config"}}, {"**/config", []any{}}, {"**/.hidden", []any{".hidden"}},
		{dir + "/sub/*.txt", []any{"sub/b.txt"}}, {"to_sub/*", []any{}},
	}
	for _, tt := range tests {
		if got := must(t, s, "find_files", map[string]any{"pattern": tt.pattern}); !cmp.Equal(got, any(tt.want)) {
			t.Errorf("%s: %v, want %v", tt.pattern, got, tt.want)
		}
	}
	for _, p := range []string{"", ".", "[a", `a\`} {
		if _, err := call(t, s, "find_files", map[string]any{"pattern": p}); !errors.Is(err, toolsource.ErrBadArguments) {
			t.Errorf("%q: %v", p, err)
		}
	}
}

func TestFindIsCut(t *testing.T) {
	_, dir := defaults(t)
	find := func(s *Source) (any, bool) {
		r, err := call(t, s, "do_find", map[string]any{"pattern": "**"})
		if err != nil {
			t.Fatal(err)
		}
		return r.Value, r.Truncated
	}
	if got, cut := find(fileTools(t, dir, "max_results = 1")); !cut || !cmp.Equal(got, any([]any{"a.txt"})) {
		t.Error(got, cut)
	}
	if got, cut := find(fileTools(t, dir, "max_results = 2")); cut || len(got.([]any)) != 2 {
		t.Error("exactly the limit:", got, cut)
	}
	if got, cut := find(fileTools(t, dir, "max_entries = 2")); !cut || len(got.([]any)) != 1 {
		t.Error(got, cut)
	}
	if got, cut := find(fileTools(t, dir, "max_entries = 3")); cut || len(got.([]any)) != 2 {
		t.Error("exactly the limit:", got, cut)
	}
}

// The set of segments answers as matching a path element by element does.
func FuzzGlob(f *testing.F) {
	f.Add("**/a*/**/?", "x/ab/c")
	f.Add("a/**", "a")
	f.Add("**/.x/**", ".x/y")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := parseGlob(pattern)
		if err != nil {
			if !errors.Is(err, toolsource.ErrBadArguments) && !errors.Is(err, toolsource.ErrDenied) {
				t.Fatal(err)
			}
			return
		}
		elems := strings.Split(name, "/")
		if len(elems) > 8 || len(g) > 8 {
			return
		}
		set := g.start()
		for _, e := range elems {
			set = g.step(set, e)
		}
		if got, want := g.matches(set), matchSlowly(g, elems); got != want {
			t.Fatalf("%q on %q: %v, want %v", pattern, name, got, want)
		}
	})
}

func matchSlowly(g glob, elems []string) bool {
	if len(g) == 0 {
		return len(elems) == 0
	}
	if g[0].deep {
		return matchSlowly(g[1:], elems) || len(elems) > 0 && !strings.HasPrefix(elems[0], ".") && matchSlowly(g, elems[1:])
	}
	if len(elems) == 0 {
		return false
	}
	ok, _ := path.Match(g[0].pattern, elems[0])
	return ok && (!strings.HasPrefix(elems[0], ".") || strings.HasPrefix(g[0].pattern, ".")) && matchSlowly(g[1:], elems[1:])
}

// Many ** cost no more than one.
func TestManyStars(t *testing.T) {
	g, err := parseGlob(strings.Repeat("**/*a/", 30) + "b")
	if err != nil {
		t.Fatal(err)
	}
	set := g.start()
	for range 1000 {
		if set = g.step(set, "aa"); len(set) > len(g)+1 || slices.Contains(set, -1) {
			t.Fatal(set)
		}
	}
}
