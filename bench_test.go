package toolsource_test

import (
	"context"
	"fmt"
	"sort"
	"testing"
	"time"

	ts "github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
)

// bigLayers makes many sources; no two have a name in common.
func bigLayers(sources, each int) (layers []ts.Layer, all []string) {
	for i := range sources {
		f := tools(fmt.Sprint("s", i))
		for j := range each {
			n := fmt.Sprintf("tool_%d_%d", i, j)
			all = append(all, n)
			f.specs = append(f.specs, ts.ToolSpec{Name: n, Description: "does something", Grade: grade.W1D0, Args: []ts.ArgSpec{{Name: "a"}}})
		}
		layers = append(layers, ts.Layer{Source: plain{f}, Precedence: ts.Precedence(i % 7), Shared: true})
	}
	return layers, all
}

func bigBox(t testing.TB, sources, each int) (*ts.Toolbox, []string) {
	layers, all := bigLayers(sources, each)
	tb := newBox(t, nil)
	add(t, tb, layers...)
	return tb, all
}

// merge adds the layers to a new Toolbox and closes it.
func merge(t testing.TB, layers []ts.Layer) {
	tb := ts.NewToolbox(nil)
	add(t, tb, layers...)
	if err := tb.Close(); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkResolve(b *testing.B) {
	tb, names := bigBox(b, 10, 1000)
	bare := map[string]ts.Callable{}
	for _, n := range names {
		bare[n], _ = tb.Resolve(n)
	}
	var call ts.Callable
	b.Run("map", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			call = bare[names[i%len(names)]]
		}
	})
	b.Run("Resolve", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			call, _ = tb.Resolve(names[i%len(names)])
		}
	})
	b.Run("Spec", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			_, _ = tb.Spec(names[i%len(names)])
		}
	})
	_ = call
}

func BenchmarkMerge(b *testing.B) {
	for _, each := range []int{100, 1000} {
		b.Run(fmt.Sprintf("100x%d", each), func(b *testing.B) {
			layers, _ := bigLayers(100, each)
			b.ReportAllocs()
			for b.Loop() {
				merge(b, layers)
			}
		})
	}
}

func BenchmarkGoFunction(b *testing.B) {
	fn := func(_ context.Context, args map[string]any) (ts.Result, error) {
		return ts.Result{Value: args["n"]}, nil
	}
	ctx := context.Background()
	args := map[string]any{"n": int64(1)}
	b.Run("function", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			_, _ = fn(ctx, args)
		}
	})
	for _, bounded := range []bool{true, false} {
		f := tools("s", "x")
		f.bounded = bounded
		f.call = func(ctx context.Context, _ string, args map[string]any) (ts.Result, error) { return fn(ctx, args) }
		tb := newBox(b, nil)
		add(b, tb, at(plainBounded{f}, 1))
		call, err := tb.Resolve("x")
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint("bounded=", bounded), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				_, _ = call(ctx, args)
			}
		})
	}
}

func TestReadsDoNotAllocate(t *testing.T) {
	tb, names := bigBox(t, 10, 1000)
	i := 0
	if n := testing.AllocsPerRun(1000, func() { i++; _, _ = tb.Resolve(names[i%len(names)]) }); n != 0 {
		t.Errorf("Resolve allocates %v times", n)
	}
	if n := testing.AllocsPerRun(1000, func() { i++; _, _ = tb.Spec(names[i%len(names)]) }); n != 0 {
		t.Errorf("Spec allocates %v times", n)
	}
}

// median9 is the median processor time of nine runs of each function, run in turn.
func median9(fs ...func()) []time.Duration {
	times := make([][]time.Duration, len(fs))
	for range 9 {
		for i, f := range fs {
			begun := cpuTime()
			f()
			times[i] = append(times[i], cpuTime()-begun)
		}
	}
	out := make([]time.Duration, len(fs))
	for i, ts := range times {
		sort.Slice(ts, func(a, b int) bool { return ts[a] < ts[b] })
		out[i] = ts[4]
	}
	return out
}

func TestReadsCostLittleMoreThanAMap(t *testing.T) {
	if raceEnabled {
		t.Skip("times mean nothing under the race detector")
	}
	tb, names := bigBox(t, 10, 1000)
	bare := map[string]ts.Callable{}
	for _, n := range names {
		bare[n], _ = tb.Resolve(n)
	}
	var call ts.Callable
	const rounds = 100
	m := median9(
		func() {
			for range rounds {
				for _, n := range names {
					call = bare[n]
				}
			}
		},
		func() {
			for range rounds {
				for _, n := range names {
					call, _ = tb.Resolve(n)
				}
			}
		},
		func() {
			for range rounds {
				for _, n := range names {
					_, _ = tb.Spec(n)
				}
			}
		})
	_ = call
	t.Logf("map %v, Resolve %.2f of it, Spec %.2f of it", m[0], float64(m[1])/float64(m[0]), float64(m[2])/float64(m[0]))
	for i, what := range []string{"Resolve", "Spec"} {
		if m[i+1] > 3*m[0] {
			t.Errorf("%s takes %v, a map look-up %v", what, m[i+1], m[0])
		}
	}
}

func TestMergeIsLinear(t *testing.T) {
	if raceEnabled {
		t.Skip("times mean nothing under the race detector")
	}
	small, _ := bigLayers(100, 100)
	large, _ := bigLayers(100, 1000)
	m := median9(func() {
		for range 10 { // so that both make as much garbage
			merge(t, small)
		}
	}, func() { merge(t, large) })
	m[0] /= 10
	t.Logf("100 x 100 in %v, 100 x 1000 in %v: %.1f times", m[0], m[1], float64(m[1])/float64(m[0]))
	if m[1] > 15*m[0] {
		t.Errorf("ten times the tools take %v instead of %v", m[1], m[0])
	}
}

// A registration costs a small copy, and a whole merge now and then: far less than the square of the number.
func TestRegisteringManyToolsIsNotQuadratic(t *testing.T) {
	if raceEnabled {
		t.Skip("times mean nothing under the race detector")
	}
	fill := func(n int) {
		tb := ts.NewToolbox(nil)
		for i := range n {
			if _, err := tb.Register(ts.ToolSpec{Name: fmt.Sprint("tool_", i)}, answering("")); err != nil {
				t.Fatal(err)
			}
		}
		if len(tb.Tools()) != n {
			t.Fatalf("%d tools", len(tb.Tools()))
		}
		if err := tb.Close(); err != nil {
			t.Fatal(err)
		}
	}
	m := median9(func() {
		for range 10 {
			fill(1000)
		}
	}, func() { fill(10_000) })
	t.Logf("1,000 tools in %v, 10,000 in %v: %.1f times", m[0]/10, m[1], 10*float64(m[1])/float64(m[0]))
	if 10*m[1] > 30*m[0] {
		t.Errorf("ten times the tools take %v instead of %v", m[1], m[0]/10)
	}
}
