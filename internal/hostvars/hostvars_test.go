package hostvars

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/toolsource/toolsource/internal/specdoc"
	"pgregory.net/rapid"
)

// The notations of the programs, as far as the tests need them.
var (
	claude   = Braces | BracesDefault
	gemini   = Braces | Dollar
	cursor   = BracesEnv | BracesContext
	windsurf = BracesEnv | BracesFile
	vscode   = BracesEnv | BracesInput | BracesContext
	opencode = CurlyEnv | CurlyFile
	cont     = TemplateSecret | TemplateInput
	codex    = Notation(0)
	all      = Escape<<1 - 1
)

func lookup(m map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := m[name]
		return v, ok
	}
}

var values = &Resolver{
	Env: lookup(map[string]string{
		"SET": "v1", "EMPTY": "", "NESTED": "${SET} $SET {env:SET}", "ProgramFiles(x86)": "pf", "my.var": "dot", "MY-VAR": "dash", "ÄÖ": "wide",
		"workspaceFolder": "not the folder", "SECRET_LIKE": "p@ss\"w\\ord\n",
	}),
	Input:  lookup(map[string]string{"key": "typed", "with space": "w"}),
	Secret: lookup(map[string]string{"SET": "s1", "org/NAME": "s2"}),
	ReadFile: func(path string) (string, error) {
		switch path {
		case "/srv/pin.txt":
			return "1234 \r\n\n", nil
		case "/srv/none":
			return "", fs.ErrNotExist
		case "/srv/shut":
			return "", fs.ErrPermission
		}
		return "", errors.New("hunter2")
	},
	Workspace: filepath.Join("w", "proj"),
	Home:      "/home/me",
}

func TestExpand(t *testing.T) {
	sep := string(filepath.Separator)
	tests := []struct {
		n          Notation
		text, want string
		why        string
	}{
		{claude, "a-${SET}-${SET}b", "a-v1-v1b", ""},
		{claude, "${EMPTY}", "", "empty is a value"},
		{claude, "${EMPTY:-fallback}", "fallback", "empty counts as unset where there is a default, as in POSIX"},
		{claude, "${SET:-fallback}", "v1", ""},
		{claude, "${UNSET:-}", "", "the empty default is one"},
		{claude, "${UNSET:-a:-b}", "a:-b", ""},
		{claude, "${UNSET:-{x}}", "{x}", "the default ends at the first }, and what follows is text"},
		{claude, "${UNSET:-${SET}}", "${SET}", "a default is not looked at again"},
		{claude, "${UNSET:-$SET}", "$SET", ""},
		{claude, "${UNSET:-a\nb}", "a\nb", ""},
		{claude, "${ProgramFiles(x86)}${my.var}${MY-VAR}${ÄÖ}", "pfdotdashwide", "names are wide"},
		{claude, "${NESTED}", "${SET} $SET {env:SET}", "a value is not looked at again"},
		{claude, "$$", "$$", ""},
		{claude, "$${SET}", "$v1", "no program documents an escape"},
		{claude, "${", "${", ""},
		{claude, "${}", "${}", "no name"},
		{claude, "${SET", "${SET", "no end"},
		{claude, "${a${SET}", "${av1", "a variable within what is none"},
		{claude, "${ SET }", "${ SET }", "white space belongs to no name"},
		{claude, "${SET:?x}${SET:+x}${SET-x y}", "${SET:?x}${SET:+x}${SET-x y}", "the shell's other forms"},
		{claude, "%SET% ~/x", "%SET% ~/x", ""},
		{claude, "${env:SET}{env:SET}$SET", "${env:SET}{env:SET}$SET", "other programs' notations"},
		{claude, "${{ secrets.SET }}", "${{ secrets.SET }}", ""},
		{claude, "${workspaceFolder}", "not the folder", "a variable as any other"},
		{Braces, "${SET:-x}", "${SET:-x}", "no defaults here"},
		{gemini, "$SET/${SET}-$SET.$SET$SET", "v1/v1-v1.v1v1", ""},
		{gemini, "$5 $ $$ $-", "$5 $ $$ $-", "no names"},
		{gemini, "$$SET", "$v1", ""},
		{cursor, "${workspaceFolder}/x", filepath.Join("w", "proj") + "/x", ""},
		{cursor, "${workspaceFolderBasename}${pathSeparator}${/}${userHome}", "proj" + sep + sep + "/home/me", ""},
		{cursor | Braces, "${workspaceFolder}", filepath.Join("w", "proj"), "before a variable of that name"},
		{cursor, "${WORKSPACEFOLDER} ${workspaceFolder:x}", "${WORKSPACEFOLDER} ${workspaceFolder:x}", ""},
		{cursor, "Bearer ${env: SET }", "Bearer v1", "white space around a name is not part of it"},
		{cursor, "${env:}${env:a b}", "${env:}${env:a b}", "no names"},
		{cursor, "${SET}", "${SET}", ""},
		{windsurf, "${file:/srv/pin.txt}|", "1234 |", "line ends at the end are cut off"},
		{vscode, "${input:key}${input:with space}", "typedw", ""},
		{opencode, "{env:SET}{file:/srv/pin.txt}", "v11234 ", ""},
		{opencode, "${env:SET} ${file:/x}", "${env:SET} ${file:/x}", "another program's"},
		{opencode, "{{env:SET}} {env:SET", "{v1} {env:SET", ""},
		{opencode, `{"a": {"env": "x"}}`, `{"a": {"env": "x"}}`, "JSON as an argument"},
		{cont, "${{ secrets.SET }}${{secrets.org/NAME}}${{ inputs.key }}", "s1s2typed", ""},
		{cont, "${{ env.SET }}${{ secrets.}}${{secrets}}${{ secrets.SET }", "${{ env.SET }}${{ secrets.}}${{secrets}}${{ secrets.SET }", ""},
		{cont | TemplateEnv, "${{ env.SET }}", "v1", ""},
		{codex, "${SET} $SET {env:SET} ${env:SET}", "${SET} $SET {env:SET} ${env:SET}", "expands nothing"},
		{Own, "$${SET} $$${SET} ${SET}", "${SET} $${SET} v1", "the escape"},
	}
	for _, tt := range tests {
		got, err := Expand(tt.text, tt.n, values)
		if err != nil || got != tt.want {
			t.Errorf("%s: %q, %v, want %q (%s)", tt.text, got, err, tt.want, tt.why)
		}
	}
}

func TestUnset(t *testing.T) {
	tests := []struct {
		n    Notation
		text string
		want UnsetError
		msg  string
	}{
		{claude, "Bearer ${UNSET}", UnsetError{Kind: Env, Name: "UNSET"}, "environment variable UNSET is not set and has no default"},
		{claude, "${UNSET}${OTHER}", UnsetError{Kind: Env, Name: "UNSET"}, "environment variable UNSET is not set and has no default"},
		{gemini, "$UNSET", UnsetError{Kind: Env, Name: "UNSET"}, "environment variable UNSET is not set and has no default"},
		{cursor, "${env:UNSET}", UnsetError{Kind: Env, Name: "UNSET"}, "environment variable UNSET is not set and has no default"},
		{opencode, "{env:UNSET}", UnsetError{Kind: Env, Name: "UNSET"}, "environment variable UNSET is not set and has no default"},
		{vscode, "${input:no}", UnsetError{Kind: Input, Name: "no"}, "input no has no value"},
		{cont, "${{ inputs.no }}", UnsetError{Kind: Input, Name: "no"}, "input no has no value"},
		{cont, "${{ secrets.NO }}", UnsetError{Kind: Secret, Name: "NO"}, "secret NO has no value"},
		{opencode, "{file:/srv/none}", UnsetError{Kind: File, Name: "/srv/none"}, "file /srv/none does not exist"},
		{windsurf, "${file:/srv/shut}", UnsetError{Kind: File, Name: "/srv/shut"}, "file /srv/shut may not be read"},
		{windsurf, "${file:/srv/odd}", UnsetError{Kind: File, Name: "/srv/odd"}, "file /srv/odd cannot be read"},
	}
	for _, tt := range tests {
		got, err := Expand("a"+tt.text+"/z", tt.n, values)
		var unset *UnsetError
		if !errors.As(err, &unset) || unset.Kind != tt.want.Kind || unset.Name != tt.want.Name || err.Error() != tt.msg || got != "" {
			t.Errorf("%s: %q, %v, want %s", tt.text, got, err, tt.msg)
		}
	}
	if _, err := Expand("{file:/srv/none}", opencode, values); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cause is lost: %v", err)
	}
	for text, want := range map[string]string{
		"${workspaceFolder}":         "the workspace folder of ${workspaceFolder} is not known",
		"${workspaceFolderBasename}": "the workspace folder of ${workspaceFolderBasename} is not known",
		"${userHome}":                "the home folder of ${userHome} is not known",
		"${env:SET}":                 "environment variable SET is not set and has no default",
		"${input:key}":               "input key has no value",
		"${file:/srv/pin.txt}":       "file /srv/pin.txt cannot be read",
		"${{ secrets.SET }}":         "secret SET has no value",
	} {
		for _, r := range []*Resolver{nil, {}} {
			if _, err := Expand(text, all, r); err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %s", text, err, want)
			}
		}
	}
}

func TestRefs(t *testing.T) {
	got := Refs("${SET:-x} $5 ${SET}${input:a b}${workspaceFolder}{file:~/x}${{ secrets.S }}$A${/}", all)
	want := []Ref{
		{Kind: Env, Name: "SET", HasDefault: true, Default: "x"}, {Kind: Env, Name: "SET"}, {Kind: Input, Name: "a b"}, {Kind: Workspace, Name: "workspaceFolder"},
		{Kind: File, Name: "~/x"}, {Kind: Secret, Name: "S"}, {Kind: Env, Name: "A"}, {Kind: Separator, Name: "/"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if refs := Refs("${SET}$SET", codex); refs != nil {
		t.Errorf("%v", refs)
	}
}

func TestForeign(t *testing.T) {
	long := strings.Repeat("x", 100)
	tests := []struct {
		n    Notation
		text string
		want []string
		why  string
	}{
		{codex, "${SET}", []string{"${SET}"}, ""},
		{claude, "Bearer ${env:SET} ${SET} ${env:SET}", []string{"${env:SET}"}, "once"},
		{claude, "{env:SET} ${{ secrets.X }} ${input:x} $TOKEN", []string{"{env:SET}", "${{ secrets.X }}", "${input:x}", "$TOKEN"}, ""},
		{claude, "${UNSET:-${SET}}", []string{"${"}, "the default holds one"},
		{claude, "${SET", []string{"${"}, "no end"},
		{claude, "$(cat x)", []string{"$(cat x)"}, ""},
		{claude, "${A:?x}", []string{"${A:?x}"}, ""},
		{claude, "%APPDATA%\\x", []string{"%APPDATA%"}, ""},
		{claude, "http://h/%7Ex%20y%E4%BD%A0", nil, "a URL"},
		{claude, "pa$SWORD1 100% $x $5 $ a{b} {x:y}", nil, "a password, a price"},
		{claude, "${" + long + " }", []string{"${"}, "too long to show"},
		{opencode, "${env:SET}", []string{"${env:SET}"}, ""},
		{cursor, "${SET} ${workspaceFolder}", []string{"${SET}"}, ""},
		{gemini, "$SET ${SET:-x}", []string{"${SET:-x}"}, ""},
		{Own, "$${SET}", nil, "escaped"},
		{vscode, "plain", nil, ""},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Foreign(tt.text, tt.n)); diff != "" {
			t.Errorf("%s (%s): %s", tt.text, tt.why, diff)
		}
	}
}

// The rows that the programs' own documentation and bug reports give. Where a program sends the text of an
// unset variable as it stands, or nothing, the right result is an error.
func TestPrograms(t *testing.T) {
	data, err := os.ReadFile("testdata/interpolation.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Env  map[string]string
		Rows [][3]any
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	notations := map[string]Notation{
		"claude": claude, "gemini": gemini, "cursor": cursor, "windsurf": windsurf, "roo": BracesEnv | BracesContext, "vscode": vscode,
		"opencode": opencode, "continue": cont, "codex": codex,
	}
	r := &Resolver{Env: lookup(file.Env), Workspace: "<root>"}
	unset := map[string]UnsetError{
		"literal_kept": {Kind: Env, Name: "UNSET"}, "never_send_literal": {Kind: Env, Name: "UNSET"},
		"needs_input": {Kind: Input, Name: "key"}, "needs_secret": {Kind: Secret, Name: "SET"},
	}
	rows := 0
	for _, row := range file.Rows {
		text := row[1].(string)
		for _, program := range strings.Split(row[0].(string), "|") {
			n, ok := notations[program]
			if !ok {
				t.Fatalf("no notation for %s", program)
			}
			rows++
			got, err := Expand(text, n, r)
			switch want := row[2].(type) {
			case string:
				if strings.HasPrefix(want, "choose and document") {
					want = "fallback"
				}
				if err != nil || got != want {
					t.Errorf("%s %s: %q, %v, want %q", program, text, got, err, want)
				}
			case map[string]any:
				known := false
				for k := range want {
					if w, ok := unset[k]; ok {
						known = true
						var u *UnsetError
						if !errors.As(err, &u) || u.Kind != w.Kind || u.Name != w.Name {
							t.Errorf("%s %s: %q, %v, want %v", program, text, got, err, w)
						}
					}
				}
				if !known {
					t.Errorf("%s %s: a result that the test does not know: %v", program, text, want)
				}
			}
		}
	}
	if rows < 20 {
		t.Errorf("only %d rows", rows)
	}
}

// texts draws texts of parts that look like variables and parts that do not.
func texts(t *rapid.T) string {
	part := rapid.SampledFrom([]string{"${", "}", "$", "{", "env:", "input:", "file:", "A", "B", ":-", "secrets.", "{{ ", " }}", " ", "\n", "%", "ä", "x y", "$${", "userHome", "/",
		"${A}", "${B:-d}", "{env:A}", "$A", "${env:A}"})
	return strings.Join(rapid.SliceOf(part).Draw(t, "parts"), "")
}

func TestTextWithoutVariablesIsItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := texts(t)
		n := Notation(rapid.Uint32Range(0, uint32(Escape-1)).Draw(t, "notation"))
		if len(Refs(text, n)) > 0 {
			return
		}
		if got, err := Expand(text, n, nil); err != nil || got != text {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	})
}

// What variables hold comes out as it is, whatever it looks like.
func TestValuesAreNotLookedAtAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, value := texts(t), texts(t)
		n := Notation(rapid.Uint32Range(0, uint32(all)).Draw(t, "notation"))
		constant := func(string) (string, bool) { return value, value != "" }
		r := &Resolver{Env: constant, Input: constant, Secret: constant, ReadFile: func(string) (string, error) { return value, nil }, Workspace: "W", Home: "H"}
		want := Rewrite(text, n, func(ref Ref) string {
			switch {
			case ref.Kind == Workspace:
				return "W"
			case ref.Kind == Home:
				return "H"
			case ref.Kind == Separator:
				return string(filepath.Separator)
			case ref.Kind == File:
				return strings.TrimRight(value, "\n")
			case value == "" && ref.HasDefault:
				return ref.Default
			}
			return value
		}, nil)
		got, err := Expand(text, n, r)
		if err != nil && value != "" || err == nil && got != want {
			t.Errorf("%q with %q is %q, %v, want %q", text, value, got, err, want)
		}
	})
}

func TestToOwn(t *testing.T) {
	names := func(ref Ref) (string, bool) {
		return strings.ToUpper(string(ref.Kind[0])) + "_" + ref.Name, ref.Kind == Input || ref.Kind == Secret
	}
	for _, tt := range []struct {
		n          Notation
		text, want string
	}{
		{gemini, "$A/${A}", "${A}/${A}"},
		{opencode, "Bearer {env:A}", "Bearer ${A}"},
		{claude, "${A:-d} ${env:X} ${", "${A:-d} $${env:X} $${"},
		{codex, "${A} $A", "$${A} $A"},
		{vscode, "${input:key}", "${I_key}"},
		{cont, "${{ secrets.S }}", "${S_S}"},
	} {
		if got, err := ToOwn(tt.text, tt.n, names); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.text, got, err, tt.want)
		}
	}
	for text, want := range map[string]string{
		"${workspaceFolder}": "workspace folder workspaceFolder cannot be written as a variable of the environment",
		"${input:a b}":       "input a b cannot be written as a variable of the environment",
		"x$${env:A}":         "environment variable A stands after a $, which cannot be written",
	} {
		if _, err := ToOwn(text, vscode, names); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := ToOwn("${input:a}", vscode, nil); err == nil {
		t.Error("an input became a variable without a name")
	}
}

func TestToOwnMeansTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := texts(t)
		n := Notation(rapid.Uint32Range(0, uint32(all)).Draw(t, "notation"))
		r := &Resolver{Env: lookup(map[string]string{"A": "${B}$", "x": ""})}
		own, err := ToOwn(text, n, nil)
		if err != nil {
			return
		}
		want, wantErr := Expand(text, n, r)
		got, gotErr := Expand(own, Own, r)
		if theirs, err := specdoc.Expand(own, r.Env); theirs != got || (err == nil) != (gotErr == nil) {
			t.Errorf("%q is %q, %v; to specdoc it is %q, %v", own, got, gotErr, theirs, err)
		}
		if got != want || (gotErr == nil) != (wantErr == nil) {
			t.Errorf("%q is %q, %v; as %q it is %q, %v", text, want, wantErr, own, got, gotErr)
		}
	})
}

// Texts made to be looked through again and again are looked through once. Where that fails, a mebibyte takes
// minutes, or with the fastest search ten seconds.
func TestLinear(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("measures time")
	}
	took := func(part, end string) time.Duration {
		start := time.Now()
		text := strings.Repeat(part, 1<<20/len(part)) + end
		Expand(text, all, values)
		ToOwn(text, all, nil)
		text = text[len(text)*7/8:]
		Foreign(text, 0)
		Foreign(text, all)
		return time.Since(start)
	}
	for _, part := range []string{"${", "${a", "${a:-", "{env:", "${{", "${env:", "$", "{", "$${", "$(", "%A", "${a b", "$A", " %AAA", " $AA"} {
		for _, end := range []string{"", "}"} {
			least := took(part, end)
			for range 3 {
				if least > 3*time.Second {
					least = min(least, took(part, end))
				}
			}
			if least > 3*time.Second {
				t.Errorf("%s...%s: %v", part, end, least)
			}
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"${A}", "$A", "${A:-d}", "{env:A}", "${env:A}", "${input:a}", "${{ secrets.A }}", "${file:/a}", "$${A}", "${/}", "${", "%A%", "${A:-${B}}"} {
		f.Add(seed, uint32(all))
	}
	const hush = "hunter2${A}"
	f.Fuzz(func(t *testing.T, text string, n uint32) {
		known := func(name string) (string, bool) { return hush, len(name)%2 == 0 }
		r := &Resolver{Env: known, Input: known, Secret: known, ReadFile: func(string) (string, error) { return hush, nil }, Home: hush}
		got, err := Expand(text, Notation(n), r)
		if err != nil && strings.Contains(err.Error(), "hunter2") && !strings.Contains(text, "hunter2") {
			t.Errorf("the error shows a value: %v", err)
		}
		if refs := Refs(text, Notation(n)); len(refs) == 0 && n&uint32(Escape) == 0 && (err != nil || got != text) {
			t.Errorf("%q without variables is %q, %v", text, got, err)
		}
		if same := Rewrite(text, 0, nil, nil); same != text {
			t.Errorf("%q is rewritten as %q", text, same)
		}
		for _, s := range Foreign(text, Notation(n)) {
			if !strings.Contains(text, s) || len(s) > maxForeign {
				t.Errorf("%q is not in %q", s, text)
			}
		}
		if own, err := ToOwn(text, Notation(n), nil); err == nil {
			for _, ref := range Refs(own, Own) {
				if !slices.ContainsFunc(Refs(text, Notation(n)), func(o Ref) bool { return o == ref }) {
					t.Errorf("%q has a variable that %q has not: %v", own, text, ref)
				}
			}
		}
	})
}
