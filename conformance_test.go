package toolsource_test

import (
	"context"
	"testing"
	"time"

	ts "github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
	"github.com/toolsource/toolsource/sources/sourcetest"
)

// TestDecoratorsKeepTheContract runs every decorator, and a Toolbox as a source, through the suite that any
// source has to pass.
func TestDecoratorsKeepTheContract(t *testing.T) {
	base := func() ts.ToolSource {
		answer := func(context.Context, map[string]any) (any, error) { return "ok", nil }
		return ts.Regrade(sourcetest.Map{"read": answer, "list": answer, "stat": answer}, func(ts.ToolSpec) grade.Grade { return grade.W1D0 })
	}
	for name, tt := range map[string]struct {
		make func(t *testing.T) ts.ToolSource
		want []string
	}{
		"map":    {func(*testing.T) ts.ToolSource { return base() }, []string{"read", "list", "stat"}},
		"filter": {func(*testing.T) ts.ToolSource { return ts.Filter(base(), ts.FilterRule{Deny: []string{"l*"}}) }, []string{"read", "stat"}},
		"rename": {func(*testing.T) ts.ToolSource { return ts.Rename(base(), map[string]string{"read": "cat"}) }, []string{"cat", "list", "stat"}},
		"prefix": {func(*testing.T) ts.ToolSource { return ts.Prefix(base(), "fs_") }, []string{"fs_read", "fs_list", "fs_stat"}},
		"cache":  {func(*testing.T) ts.ToolSource { return ts.Cache(base(), time.Minute) }, []string{"read", "list", "stat"}},
		"nested": {func(*testing.T) ts.ToolSource {
			return ts.Filter(ts.Prefix(ts.Cache(base(), time.Minute), "p_"), ts.FilterRule{Allow: []string{"p_*"}})
		}, []string{"p_read"}},
		"toolbox": {func(t *testing.T) ts.ToolSource {
			tb := newBox(t, nil)
			add(t, tb, at(base(), 1))
			return tb.AsSource("box")
		}, []string{"read", "list", "stat"}},
		"limits and trace": {func(t *testing.T) ts.ToolSource {
			tb := newBox(t, &ts.Options{Middleware: []ts.Middleware{ts.LimitCalls(ts.Limits{Ceiling: time.Minute}), ts.Trace(func(ts.TraceEvent) {})}})
			add(t, tb, at(base(), 1))
			return tb.AsSource("box")
		}, []string{"read", "list", "stat"}},
	} {
		t.Run(name, func(t *testing.T) { sourcetest.Run(t, tt.make, tt.want...) })
	}
}
