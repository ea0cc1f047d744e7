package toolschema

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var isIdentifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`).MatchString

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 140)
	for _, tt := range []struct {
		why        string
		wire, want []string // "~" stands for "_" and eight digits of a hash
	}{
		{"identifiers are kept", []string{"read_file", "_x", "A9", "__init__", strings.Repeat("n", 64)}, []string{"read_file", "_x", "A9", "__init__", strings.Repeat("n", 64)}},
		{"other characters", []string{"calendar.respondToEvent", "user-profile/update", "Create CIFS Share", "a,b;c", "café", "get-sum"},
			[]string{"calendar_respondToEvent", "user_profile_update", "Create_CIFS_Share", "a_b_c", "caf_", "get_sum"}},
		{"leading digit", []string{"3d"}, []string{"_3d"}},
		{"reserved words", []string{"class", "load", "delete", "func", "None", "map", "import", "let", "await"}, []string{"class_", "load_", "delete_", "func_", "None_", "map_", "import_", "let_", "await_"}},
		{"a name that Python gives to nothing else", []string{"__debug__", "__proto__"}, []string{"__debug___", "__proto___"}},
		{"reserved word beside its cleaned form", []string{"class", "class_"}, []string{"class_~", "class_~"}},
		{"cut", []string{long}, []string{strings.Repeat("x", 55) + "~"}},
		{"only just too long", []string{strings.Repeat("n", 65)}, []string{strings.Repeat("n", 55) + "~"}},
		{"equal by cleaning: all carry a hash", []string{"read-file", "read_file", "safe_tool", "read.file"}, []string{"read_file~", "read_file~", "safe_tool", "read_file~"}},
		{"nothing left", []string{"查询", "查", "\u200b", "_", "-", "💥"}, []string{"tool~", "tool~", "tool~", "tool~", "tool~", "tool~"}},
		{"two underscores are a name", []string{"__"}, []string{"__"}},
		{"empty", []string{"", "a", ""}, []string{"", "a", ""}},
		{"the same twice", []string{"a", "b", "a", "a-b", "a-b"}, []string{"a", "b", "", "a_b", ""}},
		{"zero-width and bidi characters show", []string{"read\u200bfile", "\u202eelif_daer"}, []string{"read_file", "_elif_daer"}},
		{"look-alikes show", []string{"re\u0430d", "read"}, []string{"re_d", "read"}},
		{"not UTF-8", []string{"a\xffb", "a\xfeb"}, []string{"a_b~", "a_b~"}},
		{"nothing", nil, nil},
	} {
		t.Run(tt.why, func(t *testing.T) {
			got := Names(tt.wire)
			checkNames(t, tt.wire, got, isIdentifier)
			for i, w := range tt.want {
				pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(w), "~", "_[0-9a-f]{8}") + "$"
				if !regexp.MustCompile(pattern).MatchString(got[i]) {
					t.Errorf("%q is %q, want %q", tt.wire[i], got[i], w)
				}
			}
		})
	}
}

type failer interface {
	Helper()
	Errorf(string, ...any)
}

// checkNames: valid, distinct, and "" exactly for what is empty or stood before.
func checkNames(t failer, wire, names []string, valid func(string) bool) {
	t.Helper()
	if len(names) != len(wire) {
		t.Errorf("%d names for %d wire names", len(names), len(wire))
		return
	}
	at := map[string]int{}
	for i, n := range names {
		missing := wire[i] == "" || slices.Contains(wire[:i], wire[i])
		if missing != (n == "") {
			t.Errorf("%q at %d is %q", wire[i], i, n)
		}
		if n == "" {
			continue
		}
		if !valid(n) || reserved[n] || n == "_" {
			t.Errorf("%q is %q, which is no identifier", wire[i], n)
		}
		if j, dup := at[n]; dup {
			t.Errorf("%q and %q are both %q", wire[j], wire[i], n)
		}
		at[n] = i
	}
}

// TestNamesLikeHashed: a tool that is called what another's name would be with its hash stays apart.
func TestNamesLikeHashed(t *testing.T) {
	wire := []string{"a-b", "a_b"}
	for range 4 { // chase each name with a tool of that name
		names := Names(wire)
		checkNames(t, wire, names, isIdentifier)
		wire = append(wire, names[len(names)-1], names[0])
		slices.Sort(wire)
		wire = slices.Compact(wire)
	}
	cut := []string{strings.Repeat("x", 80), strings.Repeat("x", 90)}
	wire = append(cut, Names(cut)...)
	names := Names(wire)
	checkNames(t, wire, names, isIdentifier)
}

// TestNamesWithAWeakHash: even if every hash were the same, no two tools would share a name.
func TestNamesWithAWeakHash(t *testing.T) {
	wire := []string{"a-b", "a.b", "c"}
	names := assign(wire, identifier, func(string) [32]byte { return [32]byte{} })
	if !slices.Equal(names, []string{"", "", "c"}) {
		t.Errorf("got %q", names)
	}
}

// nasty draws wire names that are likely to clash.
var nasty = rapid.OneOf(
	rapid.StringMatching(`[ab_.-]{0,4}`),
	rapid.StringMatching(`[ab_.-]{60,70}`),
	rapid.SampledFrom([]string{"class", "class_", "class-", "_", "__", "查", "1", "_1", "-1", "tool", "a\u200b", "a\u202e", "mcp__a__b"}),
	rapid.String(),
	rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }),
)

func TestNamesProperties(t *testing.T) {
	for _, f := range []struct {
		name  string
		names func([]string) []string
		valid func(string) bool
	}{
		{"Names", Names, isIdentifier},
		{"Qualified", func(w []string) []string { return Qualified("my-server", w) }, func(n string) bool { return isIdentifier(n) && strings.HasPrefix(n, "mcp__my_server__") }},
		{"Qualified, long", func(w []string) []string { return Qualified(strings.Repeat("s", 70), w) }, isIdentifier},
	} {
		t.Run(f.name, rapid.MakeCheck(func(t *rapid.T) {
			wire := rapid.SliceOfN(nasty, 0, 30).Draw(t, "wire")
			if len(wire) > 0 && rapid.Bool().Draw(t, "chase") {
				wire = append(wire, f.names(wire)...) // tools named as others come out
			}
			names := f.names(wire)
			checkNames(t, wire, names, f.valid)

			of := map[string]string{}
			for i, w := range wire {
				if names[i] != "" {
					of[w] = names[i]
				}
			}
			shuffled := slices.Clone(wire)
			seed := rapid.Uint64().Draw(t, "seed")
			rand.New(rand.NewPCG(seed, 0)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			for i, n := range f.names(shuffled) {
				if n != "" && n != of[shuffled[i]] {
					t.Errorf("%q is %q, and %q in another order", shuffled[i], of[shuffled[i]], n)
				}
			}
			if again := f.names(wire); !slices.Equal(names, again) {
				t.Errorf("%q the first time, %q the second", names, again)
			}
		}))
	}
}

func TestNamesCases(t *testing.T) {
	for _, file := range []string{"31-tool-names-illegal.json", "32-tool-names-long-prefix.json"} {
		c := readCase(t, file)
		var wire []string
		for _, x := range c.Tools {
			wire = append(wire, x.Name)
		}
		checkNames(t, wire, Names(wire), isIdentifier)
		checkNames(t, wire, Qualified(c.Server, wire), isIdentifier)
		reversed := slices.Clone(wire)
		slices.Reverse(reversed)
		back := Qualified(c.Server, reversed)
		slices.Reverse(back)
		if !slices.Equal(back, Qualified(c.Server, wire)) {
			t.Errorf("%s: another order gives other names", file)
		}
	}
}

func TestQualified(t *testing.T) {
	for _, tt := range []struct{ server, tool, want string }{
		{"filesystem", "read_file", "mcp__filesystem__read_file"},
		{"my-server", "get-sum", "mcp__my_server__get_sum"},
		{"my-api", "list-items.v2", "mcp__my_api__list_items_v2"},
		{"ai.exa/exa", "search", "mcp__ai_exa_exa__search"},
		{"a", "_b", "mcp__a___b"},
		{"s", "class", "mcp__s__class"},
		{"s", "查", "mcp__s___"},
		{"s", "do__thing", "mcp__s__do__thing"},
	} {
		if got := Qualified(tt.server, []string{tt.tool}); got[0] != tt.want {
			t.Errorf("%s, %s: %s, want %s", tt.server, tt.tool, got[0], tt.want)
		}
	}
	long := Qualified("agent_plugin_my_server_997167c9__my_server", []string{"reply_communication_todo", "reply_communication_task"})
	checkNames(t, []string{"a", "b"}, long, isIdentifier)
}

// TestQualifiedAcrossServers: a name belongs to one pair of server and tool, though nobody splits it.
func TestQualifiedAcrossServers(t *testing.T) {
	servers := map[string][]string{
		"my":                             {"server__do", "server__x__do", "do"},
		"my__server":                     {"do", "x__do"},
		"my__server__x":                  {"do"},
		"a":                              {"_b", "b"},
		"a_":                             {"b", "_b"},
		"_a":                             {"b"},
		"":                               {"b", "a__b"},
		"查":                              {"b"},
		"询":                              {"b"},
		"my-server":                      {"do"},
		"my_server":                      {"do"},
		"my.server":                      {"do"},
		strings.Repeat("long", 20) + "1": {"do"},
		strings.Repeat("long", 20) + "2": {"do"},
	}
	var ids []string
	for id := range servers {
		ids = append(ids, id)
	}
	owner := map[string]string{}
	for id, tools := range servers {
		for i, n := range Qualified(id, tools, ids...) {
			pair := fmt.Sprintf("%q of %q", tools[i], id)
			if other, taken := owner[n]; taken {
				t.Errorf("%s is %s and %s", n, other, pair)
			}
			if !isIdentifier(n) {
				t.Errorf("%s is %q", pair, n)
			}
			owner[n] = pair
		}
	}
	if got := Qualified("my-server", []string{"do"}, "my-server", "other"); got[0] != "mcp__my_server__do" {
		t.Errorf("a server is no other to itself: %s", got[0])
	}
}
