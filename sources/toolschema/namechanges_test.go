package toolschema

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNameChanges(t *testing.T) {
	for _, tt := range []struct {
		why   string
		wire  []string
		rules string
	}{
		{"identifiers", []string{"read_file", "A9", "__init__", "do__thing"}, ""},
		{"empty, and twice", []string{"", "a", "a"}, "name-missing name-missing"},
		{"zero width and bidi", []string{"read\u200bfile", "\u202eelif_daer"}, "name-hidden name-hidden"},
		{"tags", []string{"read" + tagged("x")}, "name-hidden"},
		{"a look-alike", []string{"re\u0430d"}, "name-look-alike"},
		{"other characters", []string{"a.b", "Create CIFS Share", "查询"}, "name-character name-character name-character"},
		{"a digit", []string{"3d"}, "name-digit"},
		{"reserved words", []string{"class", "load", "let", "func", "__proto__"}, "name-reserved name-reserved name-reserved name-reserved name-reserved"},
		{"too long", []string{strings.Repeat("x", 70)}, "name-long"},
		{"alike", []string{"read-file", "read_file"}, "name-alike name-alike name-character"},
		{"several reasons", []string{"3\u200b-d"}, "name-character name-digit name-hidden"},
	} {
		names := Names(tt.wire)
		cs := NameChanges(tt.wire, names)
		var rules []string
		for _, c := range cs {
			rules = append(rules, c.Rule)
			if strings.ContainsAny(c.String(), "\n\u202e\u200b") {
				t.Errorf("%s: %+q", tt.why, c.String())
			}
		}
		slices.Sort(rules)
		if got := strings.Join(rules, " "); got != tt.rules {
			t.Errorf("%s: %q, want %q: %v", tt.why, got, tt.rules, cs)
		}
	}
	for _, tt := range []struct{ server, tool, rules string }{
		{"filesystem", "read_file", ""},
		{"s", "do__thing", ""},
		{"s", "class", ""},
		{"my-server", "get-sum", "name-character server-id"},
		{"my__server", "do", "server-id"},
		{"a_", "b", "server-id"},
		{"s\u200b", "b", "server-id"},
		{"s", strings.Repeat("x", 60), "name-long"},
		{"s", "b\u200b", "name-hidden"},
	} {
		var rules []string
		for _, c := range QualifiedChanges(tt.server, []string{tt.tool}) {
			rules = append(rules, c.Rule)
		}
		slices.Sort(rules)
		if got := strings.Join(rules, " "); got != tt.rules {
			t.Errorf("%s, %s: %q, want %q", tt.server, tt.tool, got, tt.rules)
		}
	}
}

// TestEveryNewNameIsTold: no tool is called anything else without a word.
func TestEveryNewNameIsTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wire := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("ab_-.3 查\u200b\u0430")), 0, 6, -1), 0, 6).Draw(t, "wire")
		names := Names(wire)
		told := map[string]bool{}
		for _, c := range NameChanges(wire, names) {
			told[c.Tool] = true
		}
		for i, w := range wire {
			if names[i] != w && !told[w] {
				t.Errorf("%q is %q without a word", w, names[i])
			}
		}
	})
}

// TestQualifiedIsInjective: no two pairs of server and tool have one name, whatever they are called, also
// where a server is called as another is with its hash.
func TestQualifiedIsInjective(t *testing.T) {
	part := rapid.StringOfN(rapid.SampledFrom([]rune("ab__-查")), 0, 5, -1)
	check := func(t failer, servers map[string][]string) {
		var ids []string
		for id := range servers {
			ids = append(ids, id)
		}
		owner := map[string]string{}
		for id, tools := range servers {
			names := Qualified(id, tools, ids...)
			for i, n := range names {
				if n == "" {
					continue
				}
				pair := fmt.Sprintf("%q of %q", tools[i], id)
				if other, taken := owner[n]; taken {
					t.Errorf("%s is %s and %s", n, other, pair)
				}
				owner[n] = pair
				if !isIdentifier(n) {
					t.Errorf("%s is %q", pair, n)
				}
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		servers := map[string][]string{}
		for range rapid.IntRange(1, 5).Draw(t, "servers") {
			id := part.Draw(t, "id")
			servers[id] = rapid.SliceOfN(part, 0, 4).Draw(t, "tools")
			if rapid.Bool().Draw(t, "mimic") {
				servers[serverWord(id, nil)] = servers[id]
				servers[serverWord(id, []string{strings.ReplaceAll(id, "-", "_")})] = servers[id]
			}
		}
		check(t, servers)
	})
	hashed := serverWord("my__server", nil)
	check(t, map[string][]string{"my__server": {"do"}, hashed: {"do"}})
}
