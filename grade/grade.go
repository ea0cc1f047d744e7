// Package grade says how dangerous a tool is, on two axes: world coupling W (0 pure, 1 pinhole read,
// 2 scoped exec, 3 scoped write) and effects D (0 none to 3 unbounded).
//
// A Grade is a small comparable value. Its zero value is [Unknown], which counts as the most dangerous
// grade everywhere, so that a source which forgets to grade a tool never makes it look harmless.
// Nothing here enforces a grade: hosts, filters and selections do. The package imports nothing of
// toolsource and starts nothing.
package grade

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Grade is a point on the two axes. The zero value is Unknown.
type Grade uint8

// Unknown, then one constant for each (W, D). A constant's value is 1 + 4*W + D.
const (
	Unknown Grade = iota
	Pure          // (0,0)
	W0D1
	W0D2
	W0D3
	W1D0
	W1D1
	W1D2
	W1D3
	W2D0
	W2D1
	W2D2
	W2D3
	W3D0
	W3D1
	W3D2
	Max // (3,3)
)

const steps = 4 // values on an axis: 0 to 3

// Hints are a tool's annotations as its server claims them (MCP ToolAnnotations). Each is three-valued:
// nil means that the server said nothing, which is not the same as false.
type Hints struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

// FromHints grades by what the hints say and, where they say too little or contradict each other, by the
// worst. It is never Unknown; of nil it is Max. The defaults of the MCP specification are not folded in:
// an absent hint stays absent.
func FromHints(h *Hints) Grade {
	if h == nil || h.ReadOnly == nil {
		return Max
	}
	if *h.ReadOnly {
		switch {
		case is(h.Destructive, true), h.OpenWorld == nil: // read-only and destructive contradict each other
			return Max
		case *h.OpenWorld:
			return W2D1
		default:
			return W1D0
		}
	}
	if is(h.Idempotent, true) && is(h.Destructive, false) {
		return W3D2
	}
	return Max
}

func is(hint *bool, v bool) bool { return hint != nil && *hint == v }

// Of is the grade (w, d). Each must lie in 0..3.
func Of(w, d int) (Grade, error) {
	if w < 0 || w >= steps {
		return Unknown, fmt.Errorf("grade: w is %d, want 0 to 3", w)
	}
	if d < 0 || d >= steps {
		return Unknown, fmt.Errorf("grade: d is %d, want 0 to 3", d)
	}
	return at(w, d), nil
}

func at(w, d int) Grade { return Grade(1 + w*steps + d) }

// Join is the maximum on each axis: the grade of running all of them. Of nothing it is Pure; with an
// Unknown among them it is Max.
func Join(gs ...Grade) Grade {
	w, d := 0, 0
	for _, g := range gs {
		w, d = max(w, g.W()), max(d, g.D())
	}
	return at(w, d)
}

func (g Grade) known() bool { return g > Unknown && g <= Max }

// W is the world coupling, 0 to 3; of Unknown it is 3.
func (g Grade) W() int {
	if !g.known() {
		return steps - 1
	}
	return int(g-1) / steps
}

// D is the effects ceiling, 0 to 3; of Unknown it is 3.
func (g Grade) D() int {
	if !g.known() {
		return steps - 1
	}
	return int(g-1) % steps
}

// AtMost reports whether g stays within the ceiling on both axes. Unknown counts as (3,3) on either side.
func (g Grade) AtMost(ceiling Grade) bool { return g.W() <= ceiling.W() && g.D() <= ceiling.D() }

// With returns g with one or both axes replaced, as a configuration's override does; nil leaves an axis.
func (g Grade) With(w, d *int) (Grade, error) {
	nw, nd := g.W(), g.D()
	if w != nil {
		nw = *w
	}
	if d != nil {
		nd = *d
	}
	return Of(nw, nd)
}

// String is "w,d", and "unknown" for Unknown.
func (g Grade) String() string {
	if !g.known() {
		return "unknown"
	}
	return strconv.Itoa(g.W()) + "," + strconv.Itoa(g.D())
}

// Parse reads what String writes, with or without spaces or parentheses around the numbers.
func Parse(s string) (Grade, error) {
	t := strings.TrimSpace(s)
	if strings.EqualFold(t, "unknown") {
		return Unknown, nil
	}
	if strings.HasPrefix(t, "(") && strings.HasSuffix(t, ")") {
		t = t[1 : len(t)-1]
	}
	ws, ds, ok := strings.Cut(t, ",")
	if !ok {
		return Unknown, fmt.Errorf("grade: %q is not a grade, want \"w,d\" with 0 to 3 each", s)
	}
	w, werr := strconv.Atoi(strings.TrimSpace(ws))
	d, derr := strconv.Atoi(strings.TrimSpace(ds))
	if werr != nil || derr != nil {
		return Unknown, fmt.Errorf("grade: %q is not a grade, want \"w,d\" with 0 to 3 each", s)
	}
	return Of(w, d)
}

// MarshalText writes "w,d".
func (g Grade) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (g *Grade) UnmarshalText(b []byte) error {
	v, err := Parse(string(b))
	if err == nil {
		*g = v
	}
	return err
}

type axes struct {
	W *int `json:"w"`
	D *int `json:"d"`
}

// MarshalJSON writes {"w":..,"d":..}; Unknown, which counts as (3,3), is written so.
func (g Grade) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"w":%d,"d":%d}`, g.W(), g.D()), nil
}

// UnmarshalJSON reads an object with both axes, or a string in the text form. JSON null leaves g as it is.
func (g *Grade) UnmarshalJSON(b []byte) error {
	switch b = bytes.TrimSpace(b); {
	case bytes.Equal(b, []byte("null")):
		return nil
	case len(b) > 0 && b[0] == '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return fmt.Errorf("grade: %w", err)
		}
		return g.UnmarshalText([]byte(s))
	}
	var a axes
	if err := json.Unmarshal(b, &a); err != nil {
		return fmt.Errorf("grade: %w", err)
	}
	if a.W == nil || a.D == nil {
		return fmt.Errorf("grade: %s wants both w and d", b)
	}
	v, err := Of(*a.W, *a.D)
	if err == nil {
		*g = v
	}
	return err
}
