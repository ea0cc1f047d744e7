package grade

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

var (
	yes, no = true, false
	tri     = []*bool{nil, &no, &yes}
)

func word(b *bool) string {
	if b == nil {
		return "absent"
	}
	return fmt.Sprint(*b)
}

func (h Hints) text() string {
	return fmt.Sprintf("readOnly %s, openWorld %s, idempotent %s, destructive %s", word(h.ReadOnly), word(h.OpenWorld), word(h.Idempotent), word(h.Destructive))
}

func allHints() []Hints {
	var out []Hints
	for _, r := range tri {
		for _, o := range tri {
			for _, i := range tri {
				for _, d := range tri {
					out = append(out, Hints{ReadOnly: r, OpenWorld: o, Idempotent: i, Destructive: d})
				}
			}
		}
	}
	return out
}

// TestFromHints goes through all 81 combinations. The table's rows are tried in order; "*" is any value.
func TestFromHints(t *testing.T) {
	table := []struct {
		why                                          string
		readOnly, openWorld, idempotent, destructive string
		w, d                                         int
	}{
		{"nothing is said of writing", "absent", "*", "*", "*", 3, 3},
		{"read-only and destructive contradict each other", "true", "*", "*", "true", 3, 3},
		{"reads a closed world", "true", "false", "*", "*", 1, 0},
		{"reads an open world", "true", "true", "*", "*", 2, 1},
		{"reads, and where is not said", "true", "absent", "*", "*", 3, 3},
		{"writes, again and again the same, and destroys nothing", "false", "*", "true", "false", 3, 2},
		{"writes, and may destroy", "false", "*", "*", "*", 3, 3},
	}
	used := map[string]int{}
	for _, h := range allHints() {
		for _, row := range table {
			match := func(want string, got *bool) bool { return want == "*" || want == word(got) }
			if !match(row.readOnly, h.ReadOnly) || !match(row.openWorld, h.OpenWorld) ||
				!match(row.idempotent, h.Idempotent) || !match(row.destructive, h.Destructive) {
				continue
			}
			used[row.why]++
			if g := FromHints(&h); g.W() != row.w || g.D() != row.d || g == Unknown {
				t.Errorf("%s: %v, want %d,%d (%s)", h.text(), g, row.w, row.d, row.why)
			}
			break
		}
	}
	for _, row := range table {
		if used[row.why] == 0 {
			t.Errorf("no combination has to do with %q", row.why)
		}
	}
	if g := FromHints(nil); g != Max {
		t.Errorf("no hints at all: %v, want the worst", g)
	}
	if g := FromHints(&Hints{}); g != Max {
		t.Errorf("empty hints: %v, want the worst", g)
	}
}

func contradicts(h Hints) bool { return is(h.ReadOnly, true) && is(h.Destructive, true) }

// TestFromHintsMonotone: saying less never makes a tool look less dangerous, nor does an open world in place
// of a closed one, or not idempotent, or destructive. The one exception is a contradiction, which is the worst of all: taking it back may lower it.
func TestFromHintsMonotone(t *testing.T) {
	for _, h := range allHints() {
		g := FromHints(&h)
		for _, step := range []struct {
			why   string
			worse func(*Hints)
		}{
			{"without readOnly", func(x *Hints) { x.ReadOnly = nil }},
			{"without openWorld", func(x *Hints) { x.OpenWorld = nil }},
			{"without idempotent", func(x *Hints) { x.Idempotent = nil }},
			{"without destructive", func(x *Hints) { x.Destructive = nil }},
			{"open world", func(x *Hints) { x.OpenWorld = &yes }},
			{"not idempotent", func(x *Hints) { x.Idempotent = &no }},
			{"destructive", func(x *Hints) { x.Destructive = &yes }},
		} {
			x := h
			step.worse(&x)
			if contradicts(h) && !contradicts(x) || step.why == "open world" && h.OpenWorld == nil {
				continue // an absent openWorld counts as worse than an open one
			}
			if worse := FromHints(&x); !g.AtMost(worse) {
				t.Errorf("%s: %v; %s: %v", h.text(), g, step.why, worse)
			}
		}
	}
}

// TestRealAnnotations are the ways in which real servers annotate, read from their JSON.
func TestRealAnnotations(t *testing.T) {
	for _, tt := range []struct{ hints, want string }{
		{`null`, "3,3"},
		{`{}`, "3,3"},
		{`{"readOnlyHint":true}`, "3,3"},
		{`{"readOnlyHint":false}`, "3,3"},
		{`{"readOnlyHint":false,"destructiveHint":false}`, "3,3"},
		{`{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true}`, "3,2"},
		{`{"readOnlyHint":true,"destructiveHint":true}`, "3,3"},
		{`{"readOnlyHint":true,"destructiveHint":true,"openWorldHint":false}`, "3,3"},
		{`{"readOnlyHint":null,"openWorldHint":false}`, "3,3"},
		{`{"destructiveHint":false}`, "3,3"},
		{`{"readOnlyHint":true,"title":"Delete everything"}`, "3,3"},
		{`{"readOnlyHint":true,"openWorldHint":true}`, "2,1"},
		{`{"readOnlyHint":true,"openWorldHint":false}`, "1,0"},
		{`{"x-unknown":1}`, "3,3"},
	} {
		var h *Hints
		if err := json.Unmarshal([]byte(tt.hints), &h); err != nil {
			t.Fatal(err)
		}
		if g := FromHints(h); g.String() != tt.want {
			t.Errorf("%s: %v, want %s", tt.hints, g, tt.want)
		}
	}
}

// TestHintsStayAbsent: what a server did not say is not written as false.
func TestHintsStayAbsent(t *testing.T) {
	for _, h := range allHints() {
		b, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		var back Hints
		if err := json.Unmarshal(b, &back); err != nil || back.text() != h.text() {
			t.Errorf("%s became %s by way of %s (%v)", h.text(), back.text(), b, err)
		}
	}
	if b, _ := json.Marshal(Hints{}); string(b) != "{}" {
		t.Errorf("absent hints are written as %s", b)
	}
}

func all() []Grade {
	var out []Grade
	for w := range steps {
		for d := range steps {
			g, err := Of(w, d)
			if err != nil {
				panic(err)
			}
			out = append(out, g)
		}
	}
	return out
}

func TestConstants(t *testing.T) {
	names := []Grade{Pure, W0D1, W0D2, W0D3, W1D0, W1D1, W1D2, W1D3, W2D0, W2D1, W2D2, W2D3, W3D0, W3D1, W3D2, Max}
	for i, g := range all() {
		if g != names[i] || g.W() != i/4 || g.D() != i%4 || g == Unknown {
			t.Errorf("grade %d is %v with axes %d,%d, want %v", i, g, g.W(), g.D(), names[i])
		}
	}
}

func TestOf(t *testing.T) {
	for _, tt := range []struct{ w, d int }{{-1, 0}, {0, -1}, {4, 0}, {0, 4}, {1 << 20, 0}, {255, 255}} {
		if g, err := Of(tt.w, tt.d); err == nil || g != Unknown {
			t.Errorf("Of(%d, %d) is %v, %v; want Unknown and an error", tt.w, tt.d, g, err)
		}
	}
}

// TestUnknownIsTheWorst: the zero value, and a number that is no grade, never look harmless.
func TestUnknownIsTheWorst(t *testing.T) {
	var zero Grade
	if zero != Unknown {
		t.Fatal("the zero value is not Unknown")
	}
	for _, g := range []Grade{zero, Max + 1, 255} {
		if g.W() != 3 || g.D() != 3 {
			t.Errorf("%d has axes %d,%d", g, g.W(), g.D())
		}
		if g.String() != "unknown" {
			t.Errorf("%d is written %q", g, g)
		}
		for _, ceiling := range all() {
			if g.AtMost(ceiling) != (ceiling == Max) {
				t.Errorf("%d is at most %v: %v", g, ceiling, g.AtMost(ceiling))
			}
			if !ceiling.AtMost(g) {
				t.Errorf("%v is above %d", ceiling, g)
			}
			if Join(ceiling, g) != Max || Join(g, ceiling) != Max {
				t.Errorf("joined with %v it is not the worst", ceiling)
			}
		}
		if Join(g) != Max {
			t.Errorf("joined alone it is %v", Join(g))
		}
	}
}

func anyGrade() *rapid.Generator[Grade] { return rapid.SampledFrom(append(all(), Unknown)) }

func TestJoin(t *testing.T) {
	if Join() != Pure {
		t.Errorf("of nothing it is %v, want pure", Join())
	}
	if g := Join(W1D3, W2D0); g != W2D3 {
		t.Errorf("each axis has its own maximum: %v, want 2,3", g)
	}
	rapid.Check(t, func(t *rapid.T) {
		gs := rapid.SliceOf(anyGrade()).Draw(t, "grades")
		j := Join(gs...)
		if j == Unknown {
			t.Fatal("a join is Unknown")
		}
		w, d := 0, 0
		for _, g := range gs {
			if !g.AtMost(j) {
				t.Fatalf("%v is above the join %v", g, j)
			}
			w, d = max(w, g.W()), max(d, g.D())
		}
		if least, _ := Of(w, d); least != j {
			t.Fatalf("the join is %v, the least above all is %v", j, least)
		}
		more := append(gs, anyGrade().Draw(t, "one more"))
		if !j.AtMost(Join(more...)) {
			t.Fatal("one more tool lowered the grade")
		}
	})
}

func TestAtMost(t *testing.T) {
	for _, g := range all() {
		for _, ceiling := range all() {
			if want := g.W() <= ceiling.W() && g.D() <= ceiling.D(); g.AtMost(ceiling) != want {
				t.Errorf("%v at most %v: want %v", g, ceiling, want)
			}
		}
	}
	if W1D3.AtMost(W2D1) || W2D1.AtMost(W1D3) {
		t.Error("neither axis makes up for the other")
	}
}

func TestWith(t *testing.T) {
	p := func(i int) *int { return &i }
	for _, tt := range []struct {
		why  string
		g    Grade
		w, d *int
		want Grade
		bad  bool
	}{
		{"none", W1D2, nil, nil, W1D2, false},
		{"both, down", Max, p(0), p(0), Pure, false},
		{"both, up", Pure, p(3), p(3), Max, false},
		{"w only", W1D2, p(3), nil, W3D2, false},
		{"d only", W1D2, nil, p(0), W1D0, false},
		{"of an unknown one, both", Unknown, p(1), p(1), W1D1, false},
		{"of an unknown one, the other axis stays the worst", Unknown, p(1), nil, W1D3, false},
		{"of an unknown one, none", Unknown, nil, nil, Max, false},
		{"w too large", Pure, p(4), nil, Unknown, true},
		{"d negative", Pure, p(1), p(-1), Unknown, true},
	} {
		if g, err := tt.g.With(tt.w, tt.d); g != tt.want || (err != nil) != tt.bad {
			t.Errorf("%s: %v, %v; want %v", tt.why, g, err, tt.want)
		}
	}
}

func TestParse(t *testing.T) {
	for s, want := range map[string]Grade{
		"1,2": W1D2, " 1 , 2 ": W1D2, "(1,2)": W1D2, "( 3, 3 )": Max, "0,0": Pure, "unknown": Unknown, "Unknown": Unknown,
	} {
		if g, err := Parse(s); g != want || err != nil {
			t.Errorf("%q: %v, %v; want %v", s, g, err, want)
		}
	}
	for _, s := range []string{"", "1", "1,", ",1", "1,2,3", "a,b", "4,0", "0,4", "-1,0", "(1,2", "1.0,2", "1;2", "none"} {
		if g, err := Parse(s); err == nil || g != Unknown {
			t.Errorf("%q: %v, %v; want an error", s, g, err)
		}
	}
}

func TestText(t *testing.T) {
	for _, g := range append(all(), Unknown) {
		b, err := g.MarshalText()
		var back Grade
		if err != nil || back.UnmarshalText(b) != nil || back != g {
			t.Errorf("%v became %v by way of %q", g, back, b)
		}
	}
	g := W1D1
	if err := g.UnmarshalText([]byte("9,9")); err == nil || g != W1D1 {
		t.Errorf("a bad text: %v, and %v is left", err, g)
	}
}

func TestJSON(t *testing.T) {
	if b, _ := json.Marshal(W2D1); string(b) != `{"w":2,"d":1}` {
		t.Errorf("written as %s", b)
	}
	for _, g := range append(all(), Unknown) {
		b, err := json.Marshal(g)
		back := W0D1
		want := g
		if g == Unknown { // it has no form of its own in JSON
			want = Max
		}
		if err != nil || json.Unmarshal(b, &back) != nil || back != want {
			t.Errorf("%v became %v by way of %s", g, back, b)
		}
	}
	for s, want := range map[string]Grade{
		`{"d":1,"w":2}`: W2D1, ` {"w":0,"d":0} `: Pure, `"2,1"`: W2D1, `null`: W0D3, `{"w":1,"d":1,"note":"x"}`: W1D1,
	} {
		g := W0D3
		if err := json.Unmarshal([]byte(s), &g); err != nil || g != want {
			t.Errorf("%s: %v, %v; want %v", s, g, err, want)
		}
	}
	for _, s := range []string{`{}`, `{"w":1}`, `{"d":1}`, `{"w":4,"d":0}`, `{"w":-1,"d":0}`, `{"w":1.5,"d":0}`, `{"w":"1","d":0}`, `{"w":null,"d":0}`, `[1,1]`, `3`, `true`, `"9,9"`, `""`} {
		g := W0D3
		if err := json.Unmarshal([]byte(s), &g); err == nil || g != W0D3 {
			t.Errorf("%s: %v is left, error %v; want an error", s, g, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1,2", "(3,3)", "unknown", "", "9,9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		g, err := Parse(s)
		if err != nil {
			if g != Unknown {
				t.Errorf("an error and %v", g)
			}
			return
		}
		if back, err := Parse(g.String()); err != nil || back != g {
			t.Errorf("%q is %v, which reads back as %v, %v", s, g, back, err)
		}
	})
}
