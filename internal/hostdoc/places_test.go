package hostdoc

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// places lists every key and value of a tree: line:col path kind text, the key's place before an arrow.
func places(n *Node) []string {
	var out []string
	var walk func(n *Node, key string)
	walk = func(n *Node, key string) {
		out = append(out, strings.Trim(fmt.Sprintf("%s%d:%d %s %s %s", key, n.Line, n.Col, n.Path, n.Kind, n.Text), " \n"))
		for _, e := range n.Items {
			walk(e, "")
		}
		for _, m := range n.Members {
			walk(m.Value, fmt.Sprintf("%d:%d > ", m.Line, m.Col))
		}
	}
	walk(n, "")
	return out
}

func TestPlaces(t *testing.T) {
	tests := []struct {
		name   string
		syntax Syntax
		text   string
		want   []string
	}{
		{"JSON", JSON, "// ä\n{ /* € */ \"s\": {\n  \"my ä\": [\"😀\", {\"n\": null}, -1.50e3],\n\t\"b\": true,},\r\n\"x\u2028y\":\n  \"z\\u2028\", \"w\": 0.0}", []string{
			"2:1  map",
			"2:11 > 2:16 s map",
			`3:3 > 3:11 s."my ä" list`,
			`3:12 s."my ä"[0] string 😀`,
			`3:17 s."my ä"[1] map`,
			`3:18 > 3:23 s."my ä"[1].n null`,
			`3:30 s."my ä"[2] number -1.50e3`,
			"4:2 > 4:7 s.b boolean true",
			`5:1 > 6:3 "x\u2028y" string z` + "\u2028",
			"6:14 > 6:19 w number 0.0",
		}},
		{"YAML", YAML, "# ä\ns:\n  my ä: [😀, {n: }, -1.50e3]\n  b: True\nlist:\n- a: 1\n  b: |\n    x\n-\n  - y\nq: &q 'ä'  # c\nr: *q\nt: !!str 1\ne:\n", []string{
			"2:1  map",
			"2:1 > 3:3 s map",
			`3:3 > 3:9 s."my ä" list`,
			`3:10 s."my ä"[0] string 😀`,
			`3:13 s."my ä"[1] map`,
			`3:14 > 3:17 s."my ä"[1].n null`,
			`3:20 s."my ä"[2] number -1.50e3`,
			"4:3 > 4:6 s.b boolean True",
			"5:1 > 6:1 list list",
			"6:3 list[0] map",
			"6:3 > 6:6 list[0].a number 1",
			"7:3 > 7:6 list[0].b string x",
			"10:3 list[1] list",
			"10:5 list[1][0] string y",
			"11:1 > 11:4 q string ä",
			"12:1 > 12:4 r string ä",
			"13:1 > 13:4 t string 1",
			"14:1 > 14:3 e null",
		}},
		{"YAML, the line ends that only YAML knows", YAML, "a: x\u2028b: [1,\u0085 2]\rc:\r\n  d: 1\ne: 2", []string{
			"1:1  map",
			"1:1 > 1:4 a string x",
			"1:6 > 1:9 b list",
			"1:10 b[0] number 1",
			"1:14 b[1] number 2",
			"1:17 > 2:3 c map",
			"2:3 > 2:6 c.d number 1",
			"3:1 > 3:4 e number 2",
		}},
		{"YAML, merged members stand where they stand", YAML, "d: &d {a: 1}\ns:\n  <<: *d\n  b: 2", []string{
			"1:1  map",
			"1:1 > 1:4 d map",
			"1:8 > 1:11 d.a number 1",
			"2:1 > 3:3 s map",
			"1:8 > 1:11 s.a number 1",
			"4:3 > 4:6 s.b number 2",
		}},
		{"TOML", TOML, "# ä\n[s]\n\"my ä\" = [\"😀\", {n.m = 0x1F}, -1.50e3, inf]\nb = true # c\n[s.env]\n  d = 2001-12-14 10:00:00Z\n[[l]]\nx = '''\ny'''\n[[l]]\nu.v = +1_000\n", []string{
			"1:1  map",
			"2:2 > 2:2 s map",
			`3:1 > 3:10 s."my ä" list`,
			`3:11 s."my ä"[0] string 😀`,
			`3:16 s."my ä"[1] map`,
			`3:17 > 3:17 s."my ä"[1].n map`,
			`3:19 > 3:23 s."my ä"[1].n.m number 0x1F`,
			`3:30 s."my ä"[2] number -1.50e3`,
			`3:39 s."my ä"[3] number inf`,
			"4:1 > 4:5 s.b boolean true",
			"5:4 > 5:4 s.env map",
			"6:3 > 6:7 s.env.d string 2001-12-14 10:00:00Z",
			"7:3 > 7:3 l list",
			"7:1 l[0] map",
			"8:1 > 8:5 l[0].x string y",
			"10:1 l[1] map",
			"11:1 > 11:1 l[1].u map",
			"11:3 > 11:7 l[1].u.v number +1_000",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, places(must(t, tt.syntax, tt.text).Root)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALongPathIsCut(t *testing.T) {
	long := strings.Repeat("ä", 1<<19)
	items := "[" + strings.Repeat("1,", 100_000) + "]"
	for syntax, text := range map[Syntax]string{
		JSON: `{"` + long + `": ` + items + `}`,
		YAML: "? " + long + "\n: " + items,
		TOML: "\"" + long + "\" = " + items,
	} {
		d := must(t, syntax, text)
		if d.Root.Members[0].Name != long {
			t.Errorf("%s: the key itself is cut", syntax)
		}
		if p := d.Root.Members[0].Value.Items[99_999].Path; len(p) > 320 || !strings.HasPrefix(p, `"ää`) || !strings.HasSuffix(p, `ä"[99999]`) {
			t.Errorf("%s: path of %d bytes: %.100s", syntax, len(p), p)
		}
	}
}

func TestEmpty(t *testing.T) {
	for _, tt := range []struct {
		syntax Syntax
		text   string
		empty  bool
	}{
		{JSON, "", true}, {JSON, " \r\n\t", true}, {JSON, "// only\n/* comments */ // and no line end", true}, {JSON, "\ufeff", true},
		{JSON, "{}", false}, {JSON, "null", false}, {JSON, `""`, false},
		{YAML, "", true}, {YAML, " \n", true}, {YAML, "# only\n", true}, {YAML, "---\n", true}, {YAML, "---\n# x\n...\n", true}, {YAML, "\ufeff", true},
		{YAML, "{}", false}, {YAML, "null", false}, {YAML, "~", false}, {YAML, `""`, false},
		{TOML, "", true}, {TOML, "# only", true}, {TOML, "\ufeff\n", true}, {TOML, "[a]", false},
	} {
		d := must(t, tt.syntax, tt.text)
		if d.Empty != tt.empty || d.Root == nil {
			t.Errorf("%s %q: empty is %v, root %v", tt.syntax, tt.text, d.Empty, d.Root)
		}
		if d.Root.Get("x") != nil || tt.empty && d.Root.Kind != Null {
			t.Errorf("%s %q: %v", tt.syntax, tt.text, d.Root)
		}
	}
}

func TestMembers(t *testing.T) {
	root := must(t, JSON, `{"a": 1, "b": 2, "a": 3, "c": {"d": true}, "A": 1e2}`).Root
	if diff := cmp.Diff([]string{"b", "a", "c", "A"}, root.Keys()); diff != "" {
		t.Error(diff)
	}
	if n := root.Get("a"); n.Text != "3" || root.Member("a").Value != n || root.Member("a").Col != 18 {
		t.Errorf("not the last member: %+v", n)
	}
	if n := root.Get("c").Get("d"); n == nil {
		t.Error("no c.d")
	} else if v, ok := n.Bool(); !v || !ok {
		t.Errorf("c.d is %v, %v", v, ok)
	}
	if root.Get("no").Get("x") != nil || root.Get("a").Get("x") != nil || len(root.Get("no").Keys()) > 0 {
		t.Error("members of what is no map")
	}
	if f, ok := root.Get("A").Float(); f != 100 || !ok {
		t.Errorf("1e2 is %v, %v", f, ok)
	}
}

func TestFloat(t *testing.T) {
	for text, want := range map[string]float64{
		"0755": 755, "0x1F": 31, "0o17": 15, "1.50": 1.5, "+7": 7, ".5": .5, "-1e3": -1000, "1_000": 1000, "0b11": 3, "9007199254740993": 9007199254740992, "0": 0, "08": 8,
	} {
		if f, ok := (&Node{Kind: Number, Text: text}).Float(); !ok || f != want {
			t.Errorf("%s is %v, %v, want %v", text, f, ok, want)
		}
	}
	for _, text := range []string{".inf", "-.INF", ".nan", "inf", "nan", "1e999", "", "x"} {
		if f, ok := (&Node{Kind: Number, Text: text}).Float(); ok {
			t.Errorf("%s is %v", text, f)
		}
	}
	if _, ok := (&Node{Kind: String, Text: "1"}).Float(); ok {
		t.Error("text is a number")
	}
}

func inUTF16(text string, big bool) []byte {
	out := []byte{0xff, 0xfe}
	if big {
		out = []byte{0xfe, 0xff}
	}
	for _, u := range utf16.Encode([]rune(text)) {
		if big {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return out
}

func TestEncodings(t *testing.T) {
	texts := map[Syntax]string{JSON: "\n{\"ä😀\": 1, \"b\": 2}", YAML: "\n{\"ä😀\": 1, \"b\": 2}", TOML: "\n\"ä😀\" = 1\nb = 2\n"}
	for syntax, text := range texts {
		want := places(must(t, syntax, text).Root)
		for name, data := range map[string][]byte{
			"UTF-16 text (little-endian)": inUTF16(text, false),
			"UTF-16 text (big-endian)":    inUTF16(text, true),
			"begins with a byte order":    []byte("\ufeff" + text),
		} {
			d, err := Parse("f", syntax, data)
			if err != nil {
				t.Fatalf("%s %s: %v", syntax, name, err)
			}
			if diff := cmp.Diff(want, places(d.Root)); diff != "" {
				t.Errorf("%s %s: %s", syntax, name, diff)
			}
			if len(d.Notes) != 1 || !strings.Contains(d.Notes[0].Error(), name) {
				t.Errorf("%s %s: notes %v", syntax, name, d.Notes)
			}
		}
		for _, tt := range []struct{ data, want string }{
			{"\n\"ä\xff\"", "f:2:3: is not UTF-8 text (save it as UTF-8)"},
			{"\n # \x00", "f:2:4: holds a NUL character (the file may be damaged; write it anew)"},
			{"{\x00}\x00", "f:1:1: is UTF-16 text without a byte order mark (save it as UTF-8)"},
			{"\x00{\x00}", "f:1:1: is UTF-16 text without a byte order mark (save it as UTF-8)"},
			{"\xff\xfe{\x00}", "f:1:1: is UTF-16 text that is damaged (save it as UTF-8)"},
			{"\xff\xfe\x3d\xd8", "f:1:1: is UTF-16 text that is damaged (save it as UTF-8)"},
			{"\xff\xfe\x00\x00", "f:1:1: is UTF-32 text (save it as UTF-8)"},
			{"\xff\xfe" + strings.Repeat("\u0a0a", MaxFile/2/2), ""},
		} {
			_, err := Parse("f", syntax, []byte(tt.data))
			if tt.want != "" && (err == nil || err.Error() != tt.want) {
				t.Errorf("%s %.20q: %v, want %s", syntax, tt.data, err, tt.want)
			}
		}
	}
	if _, err := Parse("f", "ini", []byte("a=1")); err == nil || err.Error() != "f: is in no syntax that can be read" {
		t.Error(err)
	}
}

// servers is a file of n servers.
func servers(syntax Syntax, n int) string {
	var b strings.Builder
	switch syntax {
	case JSON:
		b.WriteString("{\n  \"mcpServers\": {\n")
	case YAML:
		b.WriteString("mcpServers:\n")
	}
	for i := range n {
		switch syntax {
		case JSON:
			fmt.Fprintf(&b, "    // server %d\n    \"server-%d\": {\"command\": \"npx\", \"args\": [\"-y\", \"demo-%d\", \"C:\\\\data\\\\x\"],\n      \"env\": {\"KEY\": \"${KEY_%d}\", \"PORT\": %d}, \"disabled\": false,},\n", i, i, i, i, i)
		case YAML:
			fmt.Fprintf(&b, "  # server %d\n  server-%d:\n    command: npx\n    args: [\"-y\", demo-%d]\n    env:\n      KEY: ${KEY_%d}\n      PORT: %d\n    disabled: false\n", i, i, i, i, i)
		case TOML:
			fmt.Fprintf(&b, "# server %d\n[mcp_servers.server-%d]\ncommand = \"npx\"\nargs = [\"-y\", \"demo-%d\"]\nenabled = true\n[mcp_servers.server-%d.env]\nKEY = \"${KEY_%d}\"\nPORT = \"%d\"\n", i, i, i, i, i, i)
		}
	}
	if syntax == JSON {
		b.WriteString("  },\n}\n")
	}
	return b.String()
}

// Ten times the servers take at most fifteen times as long. A file of 1,000 is read ten times in a row, so that
// both measurements are of one length, and it is the processor's time, so that other work on the machine weighs
// little and on both alike.
func TestTimeIsLinear(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("measures time")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // what it costs depends on what else is held
	took := func(syntax Syntax, data []byte, times int) time.Duration {
		runtime.GC()
		start := cpuTime()
		for range times {
			if _, err := Parse("f", syntax, data); err != nil {
				t.Fatal(err)
			}
		}
		return cpuTime() - start
	}
	for _, syntax := range []Syntax{JSON, YAML, TOML} {
		small, large := []byte(servers(syntax, 1000)), []byte(servers(syntax, 10_000))
		a, b := time.Hour, time.Hour
		for range 5 {
			a = min(a, took(syntax, small, 10))
			b = min(b, took(syntax, large, 1))
		}
		times := 10 * float64(b) / float64(a)
		t.Logf("%s: %v for 1,000 servers, %v for 10,000: %.1f times", syntax, a/10, b, times)
		if times > 15 {
			t.Errorf("%s: ten times the servers take %.1f times as long", syntax, times)
		}
	}
}

func TestTOMLFaults(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"repeated key", "a = 1\na = 2\n", "f:2:1: a: not TOML: "},
		{"bare value", "[x]\na = hush\n", "f:2:5: x.a: not TOML: expected a value; text stands in quotes"},
		{"deep", "a = " + strings.Repeat("[", 4<<20-10), "f: is nested more than 64 deep"},
		{"many keys below a long one", "[" + strings.Repeat("k", 1<<20) + "]\n" + strings.Repeat("a.b=1\n", 1000), "f: has keys that are too long (shorten them)"},
		{"many", "a = [" + strings.Repeat("0,", MaxValues) + "]", "f: holds more than 500000 values"},
	} {
		if _, err := Parse("f", TOML, []byte(tt.text)); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestRealFiles(t *testing.T) {
	read := func(name string) *Node {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		d := must(t, JSON, string(data))
		if d.Notes != nil {
			t.Errorf("%s: %v", name, notes(d))
		}
		return d.Root.Get("mcpServers")
	}
	windows := read("windows.mcp.json")
	for server, want := range map[string]string{
		"cmd-wrapper": `['/c' 'npx' '-y' 'demo-mcp' 'C:\data dir\x.db']`,
		"spaced-exe":  `['C:\Users\demo\server.js']`,
		"tilde":       `['~/data' '%APPDATA%\x']`,
	} {
		if got := flat(windows.Get(server).Get("args")); got != want {
			t.Errorf("%s: %s, want %s", server, got, want)
		}
	}
	want := `{a:{command:'demo' args:['http://not-a-comment/x' '/* not a comment */' 'a"//b']} b:{url:'http://127.0.0.1:9/mcp'}}`
	if got := flat(read("jsonc.mcp.json")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
