package hostconfig

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func scope(t *testing.T, name, servers string) *File {
	t.Helper()
	return parse(t, name, `{"mcpServers":{`+servers+`}}`, &Options{Format: "plain"})
}

func lines(notes []Note) string {
	var b strings.Builder
	for _, n := range notes {
		b.WriteString(n.String() + "\n")
	}
	return b.String()
}

// The earlier file wins, also beyond the fourth.
func TestMergePrecedence(t *testing.T) {
	var files []*File
	for i := range 7 {
		files = append(files, scope(t, fmt.Sprintf("f%d", i), fmt.Sprintf(`"all":{"command":"c%d"},"late%d":{"command":"x"},"last":{"command":"%s"}`, i, i, map[bool]string{true: "x", false: "y"}[i >= 5])))
	}
	files = append(files[:3:3], append([]*File{nil}, files[3:]...)...)
	got, notes := Merge(files)
	var ids []string
	for _, e := range got {
		ids = append(ids, e.ID)
	}
	if d := cmp.Diff([]string{"all", "late0", "last", "late1", "late2", "late3", "late4", "late5", "late6"}, ids); d != "" {
		t.Error(d)
	}
	if got[0].Command != "c0" || got[0].File != "f0" || got[2].Command != "y" {
		t.Error(got[0].Command, got[2].Command)
	}
	shadowed := 0
	for _, n := range notes {
		if n.Server == "all" && n.Action == Refused && strings.Contains(n.Reason, "f0:1") {
			shadowed++
		}
	}
	if shadowed != 6 {
		t.Errorf("%d shadowed:\n%s", shadowed, lines(notes))
	}
}

// One way of reaching a server is one way in every notation.
func TestMergeIdentical(t *testing.T) {
	claude := parse(t, "/p/.mcp.json", `{"mcpServers":{"a":{"command":"x","args":["${V}"],"env":{"K":"${V:-d}"}},"h":{"type":"http","url":"http://h","headers":{"Authorization":"Bearer ${V}"}},"e":{"command":"x","env":{"V":"${V}"}}}}`, nil)
	for _, row := range []struct {
		name, text, server string
		same               bool
	}{
		{"/p/.mcp.json", `{"mcpServers":{"a":{"command":"x","args":["${V}"],"env":{"K":"${V:-d}"},"timeout":5000}}}`, "a", true},
		{"/p/.gemini/settings.json", `{"mcpServers":{"a":{"command":"x","args":["$V"],"env":{"K":"${V:-d}"}}}}`, "a", true},
		{"/p/.cursor/mcp.json", `{"mcpServers":{"a":{"command":"x","args":["${V}"],"env":{"K":"${V:-d}"}}}}`, "a", false}, // literal there
		{"/p/.mcp.json", `{"mcpServers":{"a":{"command":"x","args":["${W}"],"env":{"K":"${V:-d}"}}}}`, "a", false},
		{"/p/.mcp.json", `{"mcpServers":{"a":{"command":"x","args":["${V}"],"env":{"K":"${V:-e}"}}}}`, "a", false},
		{"/p/.mcp.json", `{"mcpServers":{"a":{"command":"x","args":["${V}"]}}}`, "a", false},
		{"/p/.mcp.json", `{"mcpServers":{"h":{"type":"http","url":"http://h","headers":{"authorization":"Bearer ${V}"}}}}`, "h", true},
		{"/p/.codex/config.toml", "[mcp_servers.h]\nurl='http://h'\nbearer_token_env_var='V'\n", "h", true},
		{"/p/.codex/config.toml", "[mcp_servers.h]\nurl='http://h'\nhttp_headers={Authorization='Bearer ${V}'}\n", "h", false},
		{"/p/.codex/config.toml", "[mcp_servers.e]\ncommand='x'\nenv_vars=['V']\n", "e", false}, // left out where it is not set
		{"/p/.mcp.json", `{"mcpServers":{"h":{"type":"sse","url":"http://h","headers":{"Authorization":"Bearer ${V}"}}}}`, "h", false},
		{"/p/.vscode/mcp.json", `{"servers":{"a":{"command":"x","args":["${env:V}"],"cwd":"sub"}}}`, "a", false},
	} {
		got, notes := Merge([]*File{claude, parse(t, row.name, row.text, nil)})
		want := map[bool]string{true: Ignored, false: Refused}[row.same]
		if len(got) != 3 || len(notes) != 1 || notes[0].Server != row.server || notes[0].Action != want || notes[0].File != row.name {
			t.Errorf("%s %s:\n%s", row.name, row.text, lines(notes))
		}
	}
}

// A later scope can only narrow.
func TestMergeLists(t *testing.T) {
	for _, row := range []struct {
		a, b        string // keys beside the command
		allow, deny []string
		enabled     bool
	}{
		{``, ``, nil, nil, true},
		{`,"enabledTools":["x","y"]`, ``, []string{"x", "y"}, nil, true},
		{``, `,"enabledTools":["x"]`, []string{"x"}, nil, true},
		{`,"enabledTools":["x","y"]`, `,"enabledTools":["y","z"]`, []string{"y"}, nil, true},
		{`,"enabledTools":["x"]`, `,"enabledTools":["y"]`, []string{}, nil, true},
		{`,"enabledTools":[]`, `,"enabledTools":["y"]`, []string{}, nil, true},
		{`,"enabledTools":["get_*"]`, `,"enabledTools":["get_a","put_a"]`, []string{"get_a"}, nil, true},
		{`,"enabledTools":["get_a","put_a"]`, `,"enabledTools":["get_*"]`, []string{"get_a"}, nil, true},
		{`,"enabledTools":["*"]`, `,"enabledTools":["get_*","x"]`, []string{"get_*", "x"}, nil, true},
		{`,"enabledTools":["get_*"]`, `,"enabledTools":["*_a"]`, []string{}, nil, true}, // no list says it
		{`,"disabledTools":["x"]`, `,"disabledTools":["x","y"]`, nil, []string{"x", "y"}, true},
		{`,"disabled":true`, ``, nil, nil, false},
		{``, `,"disabled":true`, nil, nil, true},
	} {
		for _, other := range []string{"x", "another"} {
			first := scope(t, "f0", `"s":{"command":"x"`+row.a+`}`)
			got, notes := Merge([]*File{first, scope(t, "f1", `"s":{"command":"`+other+`"`+row.b+`}`)})
			if len(got) != 1 || !cmp.Equal(got[0].Allow, row.allow) || !slices.Equal(got[0].Deny, row.deny) || got[0].Enabled != row.enabled || got[0].Command != "x" {
				t.Errorf("%s + %s: allow %#v deny %v enabled %v\n%s", row.a, row.b, got[0].Allow, got[0].Deny, got[0].Enabled, lines(notes))
			}
			if !slices.Equal(first.Entries[0].Deny, scope(t, "f0", `"s":{"command":"x"`+row.a+`}`).Entries[0].Deny) {
				t.Error("the merge changed a file")
			}
		}
	}
	_, notes := Merge([]*File{scope(t, "f0", `"s":{"command":"x","enabledTools":["get_*"]}`), scope(t, "f1", `"s":{"command":"x","enabledTools":["*_a"]}`)})
	if !strings.Contains(lines(notes), "overlap") {
		t.Error(lines(notes))
	}
	own := scope(t, "f0", `"s":{"command":"x","args":["a"],"env":{"K":"v"}}`)
	merged, _ := Merge([]*File{own})
	merged[0].Env["K"], merged[0].Args[0] = "changed", "changed"
	if own.Entries[0].Env["K"].Reveal() != "v" || own.Entries[0].Args[0] != "a" {
		t.Error("a merged entry shares memory with its file")
	}
	if got, notes := Merge(nil); got != nil || notes != nil {
		t.Error(got, notes)
	}
}

func TestCovers(t *testing.T) {
	for _, row := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "a", true}, {"*", "*", true}, {"a*", "a", true}, {"a*", "ab*", true}, {"ab*", "a*", false}, {"a*c", "ac", true}, {"a*c", "a", false},
		{"a*a", "a", false}, {"*b*", "abc", true}, {"*b*", "b", true}, {"*b*c*", "cb", false}, {"a", "a", true}, {"a", "b", false}, {"a?", "a*", false}, {"**", "x", true},
	} {
		if got := covers(row.pattern, row.name); got != row.want {
			t.Errorf("covers(%q, %q) = %v", row.pattern, row.name, got)
		}
	}
}

// No secret in the notes of a merge.
func TestMergeShowsNoValue(t *testing.T) {
	a := scope(t, "f0", `"s":{"command":"x","args":["`+planted+`"],"env":{"K":"`+planted+`"}}`)
	b := scope(t, "f1", `"s":{"command":"x","args":["`+planted+`2"]}`)
	got, notes := Merge([]*File{a, b})
	if all := lines(notes) + fmt.Sprintf("%v %+v %#v", got, got, got); strings.Contains(all, planted) {
		t.Error(all)
	}
}

// Many patterns are not compared pair by pair: what both lists have is allowed, and the rest is not.
func TestMergeOfManyPatterns(t *testing.T) {
	many := func(name string) []string {
		out := []string{"both", "both_*"}
		for i := range 20_000 {
			out = append(out, fmt.Sprintf("%s%d*", name, i))
		}
		return out
	}
	a, b := Entry{ID: "s", Allow: many("a"), Deny: many("x")}, Entry{ID: "s", Allow: many("b"), Deny: many("y")}
	merged, notes := Merge([]*File{{Entries: []Entry{a}}, {Entries: []Entry{b}}})
	if !slices.Equal(merged[0].Allow, []string{"both", "both_*"}) || len(merged[0].Deny) != 40_002 || !strings.Contains(lines(notes), "too many") {
		t.Error(merged[0].Allow, len(merged[0].Deny))
	}
}
