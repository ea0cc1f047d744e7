package virtualsource

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ping = `
[[virtual_tools]]
name = "ping"
returns = "str"
grade_w = 2
effects_ceiling = 2
docs = "ping.md"
args = [{ name = "n", type = "int", default = 1 }]
examples = [{ intent = "is it there", code = "ping()" }]
provider_config = { channel = "a" }
`

func parse(t *testing.T, text string) []toolsource.ToolSpec {
	t.Helper()
	specs, problems, err := Parse("f", []byte(text))
	if err != nil || problems != nil {
		t.Fatal(err, problems)
	}
	return specs
}

func pong(_ context.Context, args map[string]any) (toolsource.Result, error) {
	return toolsource.Value(args["n"]), nil
}

func always(context.Context, string) (toolsource.Callable, bool) { return pong, true }

// Both forms give the same spec, with its examples and settings.
func TestBothForms(t *testing.T) {
	array := parse(t, ping)
	table := parse(t, strings.Replace(strings.Replace(ping, "[[virtual_tools]]", "[virtual_tools.ping]", 1), "name = \"ping\"\n", "\n", 1))
	if diff := cmp.Diff(array, table); diff != "" {
		t.Error(diff)
	}
	s := New(array, always, nil)
	specs, err := s.Discover(t.Context())
	if err != nil || len(specs) != 1 {
		t.Fatal(specs, err)
	}
	sp := specs[0]
	if sp.Grade != grade.W2D2 || sp.Returns != "str" || sp.Docs != "ping.md" || sp.Origin.Kind != "virtual" || sp.Origin.Source != "virtual" {
		t.Errorf("%+v", sp)
	}
	if len(sp.Examples) != 1 || !cmp.Equal(sp.Meta, map[string]any{"provider_config": map[string]any{"channel": "a"}}) {
		t.Error("examples or settings are lost")
	}
}

func TestBadEntriesCostOnlyThemselves(t *testing.T) {
	tests := []struct{ text, want, good string }{
		{"[[virtual_tools]]\nreturns = 'str'\n[[virtual_tools]]\nname = 'ok'", `f:1:1: virtual_tools[0]: has no name (add name = "...")`, "ok"},
		{"[virtual_tools]\nx = 3\n[virtual_tools.ok]", `f:2:1: virtual_tools.x: want a table, is an integer`, "ok"},
		{"[virtual_tools.a-b]\n[virtual_tools.ok]", `f:1:16: virtual_tools.a-b: "a-b" is no name that programs can call (use a_b)`, "ok"},
		{"[virtual_tools.x]\nfunc = 'f'\n[virtual_tools.ok]", `f:2:1: virtual_tools.x.func: unknown key (known keys: args, ceiling, description, docs, effects_ceiling, examples, grade, grade_w, name, provider, provider_config, returns, silence, timeout, title)`, "ok"},
		{"[virtual_tools.x]\nprovider = 'go'\n[virtual_tools.ok]", `f:2:1: virtual_tools.x.provider: unknown word "go" (want virtual)`, "ok"},
		{"virtual_tools = 3", `f:1:1: virtual_tools: want an array of tables, or a table of them (write [[virtual_tools]] or [virtual_tools.NAME])`, ""},
	}
	for _, tt := range tests {
		specs, problems, err := Parse("f", []byte(tt.text))
		if err != nil || len(problems) != 1 || problems[0].Error() != tt.want {
			t.Errorf("%q:\n got %v %v\nwant %s", tt.text, problems, err, tt.want)
		}
		if tt.good != "" && (len(specs) != 1 || specs[0].Name != tt.good) {
			t.Errorf("%q: %v", tt.text, specs)
		}
	}
}

func TestSecondOfANameIsLeftOut(t *testing.T) {
	s := New([]toolsource.ToolSpec{{Name: "a", Title: "first"}, {Name: "a"}, {}}, always, nil)
	specs, _ := s.Discover(t.Context())
	if len(specs) != 1 || specs[0].Title != "first" || specs[0].Grade != grade.Max || len(s.Problems()) != 2 || len(s.Status().Problems) != 2 {
		t.Errorf("%+v %v", specs, s.Problems())
	}
}

// The whole matrix of what a host may do, by the Toolbox: at the selection and at the call.
func TestGate(t *testing.T) {
	first := func() func(context.Context, string) (toolsource.Callable, bool) {
		var n atomic.Int64
		return func(context.Context, string) (toolsource.Callable, bool) { return pong, n.Add(1) == 1 }
	}
	tests := []struct {
		name     string
		host     func(context.Context, string) (toolsource.Callable, bool)
		offered  bool
		runs     bool
		contains string
	}{
		{"always", always, true, true, ""},
		{"never", func(context.Context, string) (toolsource.Callable, bool) { return pong, false }, false, false, ""},
		{"nil although ok", func(context.Context, string) (toolsource.Callable, bool) { return nil, true }, false, false, ""},
		{"no host", nil, false, false, ""},
		{"panics", func(context.Context, string) (toolsource.Callable, bool) { panic("boom") }, false, false, ""},
		{"withdrawn after the selection", first(), true, false, "unavailable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tb := toolsource.NewToolbox(nil)
			defer tb.Close()
			if err := tb.Add(t.Context(), toolsource.Layer{Source: New(parse(t, ping), tt.host, nil), Precedence: toolsource.PrecedenceVirtual}); err != nil {
				t.Fatal(err)
			}
			if _, ok := tb.Spec("ping"); !ok {
				t.Error("the Toolbox does not list it")
			}
			sel, err := tb.SelectAs(t.Context(), map[string]string{"p": "ping"})
			if err != nil {
				t.Fatal(err)
			}
			call, err := sel.Resolve("p")
			if (err == nil) != tt.offered {
				t.Fatalf("offered by its alias: %v", err)
			}
			if !tt.offered {
				if sel.Grade() != grade.Pure {
					t.Error("a hidden tool counts in the grade:", sel.Grade())
				}
				return
			}
			if sel.Grade() != grade.W2D2 {
				t.Error(sel.Grade())
			}
			r, err := call(t.Context(), nil)
			switch {
			case tt.runs && (err != nil || r.Value != int64(1)):
				t.Error(r, err)
			case !tt.runs && (!errors.Is(err, toolsource.ErrUnavailable) || !strings.Contains(err.Error(), tt.contains)):
				t.Error(err)
			}
		})
	}
}

// One selection asks the host once for each tool, by its declared name.
func TestHostIsAskedOncePerSelection(t *testing.T) {
	var asked []string
	s := New(parse(t, ping), func(_ context.Context, name string) (toolsource.Callable, bool) {
		asked = append(asked, name)
		return pong, true
	}, nil)
	tb := toolsource.NewToolbox(nil)
	defer tb.Close()
	if err := tb.Add(t.Context(), toolsource.Layer{Source: s}); err != nil {
		t.Fatal(err)
	}
	if len(asked) > 0 {
		t.Error("asked while listing:", asked)
	}
	if _, err := tb.SelectAs(t.Context(), map[string]string{"p": "ping"}); err != nil || !cmp.Equal(asked, []string{"ping"}) {
		t.Error(asked, err)
	}
}

func TestTheCallAsksAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		host func(context.Context, string) (toolsource.Callable, bool)
		want string
	}{
		"withdrawn": {func(context.Context, string) (toolsource.Callable, bool) { return nil, false }, "the program does not offer it now"},
		"panics":    {func(context.Context, string) (toolsource.Callable, bool) { panic("boom") }, "the program's resolver failed: panicked: boom"},
		"none":      {nil, "the program offers no virtual tools"},
	} {
		s := New(parse(t, ping), tt.host, nil)
		call, err := s.Resolve(toolsource.ToolSpec{Name: "ping"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = call(t.Context(), nil)
		if !errors.Is(err, toolsource.ErrUnavailable) || !errors.Is(err, toolsource.ErrNotReached) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestArguments(t *testing.T) {
	asked := false
	s := New(parse(t, ping), func(context.Context, string) (toolsource.Callable, bool) { asked = true; return pong, true }, nil)
	call, _ := s.Resolve(toolsource.ToolSpec{Name: "alias", Origin: toolsource.Origin{WireName: "ping"}})
	if _, err := call(t.Context(), map[string]any{"m": 1}); !errors.Is(err, toolsource.ErrBadArguments) || asked {
		t.Error(err, asked)
	}
	if r, err := call(t.Context(), map[string]any{"n": 7.0}); err != nil || r.Value != int64(7) {
		t.Error(r, err)
	}
	if _, err := s.Resolve(toolsource.ToolSpec{Name: "other"}); !errors.Is(err, toolsource.ErrUnknownTool) {
		t.Error(err)
	}
}

// A host's function that ignores its context does not hold a Toolbox's caller.
func TestFunctionThatIgnoresItsContext(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	s := New(parse(t, ping), func(context.Context, string) (toolsource.Callable, bool) {
		return func(context.Context, map[string]any) (toolsource.Result, error) {
			<-release
			return toolsource.Result{}, nil
		}, true
	}, nil)
	if toolsource.IsBounded(s) {
		t.Error("a source of foreign functions says that they end")
	}
	tb := toolsource.NewToolbox(nil)
	defer tb.Close()
	if err := tb.Add(t.Context(), toolsource.Layer{Source: s}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := tb.Call(ctx, "ping", nil); !errors.Is(err, toolsource.ErrTimeout) {
		t.Error(err)
	}
}

func TestAvailable(t *testing.T) {
	if New(nil, always, nil).Available() || !New(parse(t, ping), nil, nil).Available() {
		t.Error("Available is not whether anything is declared")
	}
}
