package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
)

// rounds is how often each lane runs; what counts is the median.
const rounds = 9

// A bout is one thing that several lanes do in turns.
type bout struct {
	name  string
	n     int           // operations of a lane in one turn
	turns int           // of each lane in a round; 0: one
	warm  int           // operations before those that count, in a session of its own for each turn; 0: one session does all
	apart time.Duration // least time between two rounds of a lane
	lanes []lane
}

// A lane starts what it needs, which ends with the test, and gives what opens a session.
type lane struct {
	name  string
	start func(testing.TB) (open func() session)
}

type session struct {
	run   func(n int) error
	close func() // nil: there is nothing to close
}

func (s session) end() {
	if s.close != nil {
		s.close()
	}
}

// figures are of one operation; cost sums up the rounds of a lane.
type figures struct{ ns, bytes, allocs float64 }

type cost struct{ of []figures }

func (c *cost) median() figures {
	pick := func(f func(figures) float64) float64 {
		var v []float64
		for _, x := range c.of {
			v = append(v, f(x))
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	return figures{
		pick(func(f figures) float64 { return f.ns }),
		pick(func(f figures) float64 { return f.bytes }),
		pick(func(f figures) float64 { return f.allocs }),
	}
}

// measure runs every lane of every bout in each round, so that whatever else the machine does meanwhile meets
// them all alike, and gives the medians by bout and lane. A round before the first does not count.
//
// A small call takes half as long when the system runs client and server on the same core as when it does not,
// and it stays with what it once chose for a pair of processes. So small calls are measured in many short
// turns, each in a session of its own.
func measure(t testing.TB, bouts []bout) (map[string]map[string]figures, error) {
	opens := make([][]func() session, len(bouts))
	kept := make([][]session, len(bouts))
	costs := make([][]cost, len(bouts))
	last := make([]time.Time, len(bouts))
	for i, b := range bouts {
		costs[i] = make([]cost, len(b.lanes))
		for _, l := range b.lanes {
			open := l.start(t)
			opens[i] = append(opens[i], open)
			if b.warm == 0 {
				s := open()
				t.Cleanup(s.end)
				kept[i] = append(kept[i], s)
			}
		}
	}
	for round := -1; round < rounds; round++ {
		for i, b := range bouts {
			time.Sleep(time.Until(last[i].Add(b.apart)))
			for turn := range max(b.turns, 1) * len(b.lanes) {
				k := (turn + round + 1) % len(b.lanes)
				var f figures
				var err error
				if b.warm == 0 {
					f, err = once(kept[i][k].run, 0, b.n)
				} else {
					f, err = inNewSession(opens[i][k], b.warm, b.n)
				}
				if err != nil {
					return nil, fmt.Errorf("%s, %s: %w", b.name, b.lanes[k].name, err)
				}
				if round >= 0 {
					costs[i][k].of = append(costs[i][k].of, f)
				}
			}
			last[i] = time.Now()
		}
	}
	out := map[string]map[string]figures{}
	for i, b := range bouts {
		out[b.name] = map[string]figures{}
		for k, l := range b.lanes {
			out[b.name][l.name] = costs[i][k].median()
		}
	}
	return out, nil
}

func inNewSession(open func() session, warm, n int) (figures, error) {
	s := open()
	defer s.end()
	return once(s.run, warm, n)
}

// once measures n operations of this process alone, after warm others: its servers are processes of their own.
func once(run func(n int) error, warm, n int) (figures, error) {
	runtime.GC()
	if warm > 0 {
		if err := run(warm); err != nil {
			return figures{}, err
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	err := run(n)
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	per := func(x uint64) float64 { return float64(x) / float64(n) }
	return figures{float64(took) / float64(n), per(after.TotalAlloc - before.TotalAlloc), per(after.Mallocs - before.Mallocs)}, err
}

// texts are arguments of n calls that can be told apart, each of about size bytes. A line in seven has
// quotes, as code has.
func texts(n, size int) []map[string]any {
	out := make([]map[string]any, n)
	for i := range out {
		var b strings.Builder
		fmt.Fprintf(&b, "call %04d, thirty bytes of text", i)
		for l := 0; b.Len() < size; l++ {
			q := ""
			if l%7 == 0 {
				q = `"`
			}
			fmt.Fprintf(&b, "\n\t%sline %06d of a text that comes back as it went%s", q, l, q)
		}
		out[i] = map[string]any{"text": b.String()}
	}
	return out
}

// calls makes a lane of calls, width at a time, and checks that each gets its own answer.
func calls(c *client, args []map[string]any) func(n int) error {
	one := func(args map[string]any) error {
		text, err := c.call(context.Background(), args)
		if err == nil && text != args["text"] {
			err = errResult
		}
		return err
	}
	return func(n int) error {
		if len(args) == 1 {
			for range n {
				if err := one(args[0]); err != nil {
					return err
				}
			}
			return nil
		}
		var wg sync.WaitGroup
		errs := make([]error, len(args))
		for i, a := range args {
			wg.Go(func() {
				for range n / len(args) {
					if errs[i] = one(a); errs[i] != nil {
						return
					}
				}
			})
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// lists makes a lane of listings, one after another over all clients.
func lists(cs []*client, want int) func(n int) error {
	return func(n int) error {
		for i := range n {
			got, err := cs[i%len(cs)].list(context.Background())
			if err != nil {
				return err
			}
			if got != want {
				return fmt.Errorf("%d tools of %d", got, want)
			}
		}
		return nil
	}
}

// functions is a source of one Go function.
type functions struct{ bounded bool }

func (functions) Name() string    { return "functions" }
func (functions) Available() bool { return true }
func (f functions) Bounded() bool { return f.bounded }

func (functions) Discover(context.Context) ([]toolsource.ToolSpec, error) {
	return []toolsource.ToolSpec{{Name: "echo", Grade: grade.Pure}}, nil
}

func (functions) Resolve(toolsource.ToolSpec) (toolsource.Callable, error) { return function, nil }

func function(_ context.Context, args map[string]any) (toolsource.Result, error) {
	return toolsource.Result{Value: args["text"]}, nil
}

// functionBout is a Go function, alone and as a tool.
func functionBout() bout {
	tool := func(bounded bool) func(testing.TB) func() session {
		return func(t testing.TB) func() session {
			tb := toolsource.NewToolbox(nil)
			t.Cleanup(func() { _ = tb.Close() })
			if err := tb.Add(context.Background(), toolsource.Layer{Source: functions{bounded}}); err != nil {
				t.Fatal(err)
			}
			call, err := tb.Resolve("echo")
			if err != nil {
				t.Fatal(err)
			}
			return func() session { return session{run: repeat(call)} }
		}
	}
	return bout{name: goFunction, n: 20000, lanes: []lane{
		{"function", func(testing.TB) func() session { return func() session { return session{run: repeat(function)} } }},
		{"bounded", tool(true)},
		{"tool", tool(false)},
	}}
}

func repeat(call toolsource.Callable) func(int) error {
	args := texts(1, 30)[0]
	return func(n int) error {
		for range n {
			res, err := call(context.Background(), args)
			if err != nil {
				return err
			}
			if res.Value != args["text"] {
				return errResult
			}
		}
		return nil
	}
}
