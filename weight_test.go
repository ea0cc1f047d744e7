package toolsource_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	ts "github.com/toolsource/toolsource"
)

// held is the heap that is in use without garbage. Pools let go of what they hold in two steps.
func held() int64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// light is a source that holds nothing.
type light string

func (s light) Name() string                             { return string(s) }
func (s light) Available() bool                          { return true }
func (s light) Bounded() bool                            { return true }
func (s light) Watch(func()) func()                      { return func() {} }
func (s light) Resolve(ts.ToolSpec) (ts.Callable, error) { return lightCall, nil }
func (s light) Discover(context.Context) ([]ts.ToolSpec, error) {
	return []ts.ToolSpec{{Name: string(s) + "_tool", Origin: ts.Origin{Source: string(s)}}}, nil
}

func lightCall(context.Context, map[string]any) (ts.Result, error) { return ts.Result{}, nil }

// stillSession never ends.
type stillSession struct{}

func (*stillSession) Done() <-chan struct{}       { return nil }
func (*stillSession) Err() error                  { return nil }
func (*stillSession) Close(context.Context) error { return nil }

// What is idle holds little: hosts keep hundreds of servers, each for a few calls.
func TestIdleWeight(t *testing.T) {
	if raceEnabled {
		t.Skip("bytes mean nothing under the race detector")
	}
	const n = 1000
	s := &stillSession{}
	var bridges []*ts.Bridge[*stillSession]
	var boxes []*ts.Toolbox
	layers := make([]ts.Layer, n)
	for i := range layers {
		layers[i].Source = light(fmt.Sprint("s", i))
	}
	one := ts.NewToolbox(nil)
	for _, step := range []struct {
		what string
		run  func(i int)
		most int64 // bytes each
	}{
		{"a Bridge that was not needed yet", func(int) {
			bridges = append(bridges, ts.NewBridge(func(context.Context) (*stillSession, error) { return s, nil }, nil))
		}, 900},
		// Half of it is the runtime's, for the goroutine that owns the session and the one that dialled.
		{"its session", func(i int) {
			if err := bridges[i].Start(context.Background()); err != nil {
				t.Fatal(err)
			}
		}, 1500},
		{"an empty Toolbox", func(int) { boxes = append(boxes, ts.NewToolbox(nil)) }, 600},
		{"its one source", func(i int) {
			if err := boxes[i].Add(context.Background(), layers[i]); err != nil {
				t.Fatal(err)
			}
		}, 2000},
		{"one of many sources", func(i int) {
			if i > 0 {
				return
			}
			if err := one.Add(context.Background(), layers...); err != nil {
				t.Fatal(err)
			}
		}, 2000},
	} {
		before := held()
		for i := range n {
			step.run(i)
		}
		each := (held() - before) / n
		t.Logf("%s: %d bytes", step.what, each)
		if each > step.most {
			t.Errorf("%s holds %d bytes, want at most %d", step.what, each, step.most)
		}
	}
	for _, b := range bridges {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, tb := range append(boxes, one) {
		if err := tb.Close(); err != nil {
			t.Error(err)
		}
	}
}
