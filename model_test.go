package toolsource_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	ts "github.com/toolsource/toolsource"
)

// boxModel is a Toolbox in its simplest form: every question goes through every layer.
type boxModel struct {
	failover bool
	strict   bool
	layers   []*modelLayer
	seq      int
	order    []string // visible names by first appearance
}

type modelLayer struct {
	name       string
	prec, ord  int
	seq        int
	registered bool
	listed     bool
	down       bool
	names      []string
	claims     []string
}

func (m *boxModel) ranked() []*modelLayer {
	ls := slices.Clone(m.layers)
	sort.SliceStable(ls, func(i, j int) bool {
		a, b := ls[i], ls[j]
		switch {
		case a.registered != b.registered:
			return a.registered
		case a.prec != b.prec:
			return a.prec > b.prec
		case a.ord != b.ord:
			return a.ord > b.ord
		}
		return a.seq > b.seq
	})
	return ls
}

// owner is who owns a name: "" if nobody does.
func (m *boxModel) owner(name string) string {
	var fallback *modelLayer
	unlisted := false
	for _, l := range m.ranked() {
		if !l.listed {
			if m.failover && l.down {
				continue
			}
			if fallback == nil && slices.Contains(l.claims, name) {
				return ""
			}
			unlisted = true
			continue
		}
		if !slices.Contains(l.names, name) {
			continue
		}
		if unlisted && m.strict && fallback == nil {
			return ""
		}
		if m.failover && l.down {
			if fallback == nil {
				fallback = l
			}
			continue
		}
		return l.name
	}
	if fallback != nil {
		return fallback.name
	}
	return ""
}

// update brings the order up to date: who stays keeps its place, who is new comes last.
func (m *boxModel) update() {
	m.order = slices.DeleteFunc(m.order, func(n string) bool { return m.owner(n) == "" })
	for _, l := range m.layers {
		for _, n := range l.names {
			if m.owner(n) != "" && !slices.Contains(m.order, n) {
				m.order = append(m.order, n)
			}
		}
	}
}

func TestToolboxAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &boxModel{failover: rapid.Bool().Draw(t, "failover")}
		m.strict = !m.failover && rapid.Bool().Draw(t, "strict")
		tb := ts.NewToolbox(&ts.Options{Failover: m.failover, Strict: m.strict})
		defer tb.Close()
		sources := map[string]*fake{}
		removes := map[string]func(){}
		name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		list := rapid.SliceOfNDistinct(name, 0, 4, rapid.ID[string])
		ctx := context.Background()
		drop := func(l *modelLayer) {
			m.layers = slices.DeleteFunc(m.layers, func(o *modelLayer) bool { return o == l })
		}
		pickLayer := func(t *rapid.T, registered bool) *modelLayer {
			var ls []*modelLayer
			for _, l := range m.layers {
				if l.registered == registered {
					ls = append(ls, l)
				}
			}
			if len(ls) == 0 {
				t.Skip("none")
			}
			return rapid.SampledFrom(ls).Draw(t, "layer")
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				m.seq++
				l := &modelLayer{name: fmt.Sprint("s", m.seq), prec: rapid.IntRange(1, 3).Draw(t, "prec"), ord: rapid.IntRange(0, 1).Draw(t, "ord"), seq: m.seq}
				fail := rapid.Bool().Draw(t, "fail")
				names := list.Draw(t, "names")
				f := tools(l.name, names...)
				if fail {
					f.err = errors.New("down")
					f.claims = list.Draw(t, "claims")
					l.claims, l.down = f.claims, true
				} else {
					l.names, l.listed = names, true
				}
				sources[l.name] = f
				err := tb.Add(ctx, ts.Layer{Source: f, Precedence: ts.Precedence(l.prec), Order: l.ord})
				if (err != nil) != fail {
					t.Fatal(err)
				}
				m.layers = append(m.layers, l)
			},
			"register": func(t *rapid.T) {
				m.seq++
				l := &modelLayer{name: fmt.Sprint("r", m.seq), registered: true, listed: true, seq: m.seq, names: []string{name.Draw(t, "name")}}
				remove, err := tb.Register(ts.ToolSpec{Name: l.names[0]}, answering(l.name))
				if err != nil {
					t.Fatal(err)
				}
				removes[l.name] = remove
				m.layers = append(m.layers, l)
			},
			"unregister": func(t *rapid.T) {
				l := pickLayer(t, true)
				removes[l.name]()
				drop(l)
			},
			"remove": func(t *rapid.T) {
				l := pickLayer(t, false)
				if err := tb.Remove(l.name); err != nil {
					t.Fatal(err)
				}
				drop(l)
			},
			"refresh": func(t *rapid.T) {
				l := pickLayer(t, false)
				f := sources[l.name]
				l.down = rapid.Bool().Draw(t, "down")
				f.mu.Lock()
				f.err = nil
				if l.down {
					f.err = errors.New("down")
				}
				f.mu.Unlock()
				if !l.down {
					l.names, l.listed = list.Draw(t, "names"), true
					f.set(l.names...)
				}
				if err := tb.Refresh(ctx, l.name); (err != nil) != l.down {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				m.update()
				if got, want := names(tb.Tools()), strings.Join(m.order, " "); got != want {
					t.Fatalf("tools are %q, want %q", got, want)
				}
				for _, n := range []string{"a", "b", "c", "d", "e"} {
					want := m.owner(n)
					res, err := tb.Call(ctx, n, nil)
					got := ""
					if err == nil {
						got = trimOwner(res.Value.(string), n)
					}
					if got != want {
						t.Fatalf("%s is %q's, want %q's (%v)", n, got, want, err)
					}
				}
			},
		})
	})
}

func trimOwner(s, name string) string {
	if i := len(s) - len(name) - 1; i > 0 && s[i:] == "."+name {
		return s[:i]
	}
	return s
}
