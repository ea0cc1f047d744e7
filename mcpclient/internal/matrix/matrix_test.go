package matrix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
	"github.com/toolsource/toolsource/sources/mcpsource"
)

const (
	callDeadline = 300 * time.Millisecond
	cancelAfter  = 100 * time.Millisecond
	closeBound   = 2 * time.Second
	mayBeLate    = 50 * time.Millisecond // P1: beyond the lateness of a bare timer
	starved      = cancelAfter           // what is answered in time says nothing where even a timer waits so long
	apart        = 4 * time.Millisecond  // between the starts of cells that run side by side: they are not to wait for each other's processor
)

// The cells of the matrix, and those that have a reason to be missing. Whoever adds a fault counts again.
const (
	cellsRun     = 1951
	cellsExcused = 1457
)

// TestFaultMatrix puts every fault of the catalogue on every transport and does to it what clients do: a call
// with a deadline, a call that is cancelled, a close during a call, a close while connecting. Each cell is a
// Toolbox of its own with a healthy neighbour beside the server at fault.
func TestFaultMatrix(t *testing.T) {
	var plain, children, heavy []*cell
	excused := map[mcptest.Reason]int{}
	for _, f := range mcptest.Faults() {
		for _, transport := range mcptest.Transports() {
			for _, act := range mcptest.Acts() {
				c := &cell{fault: f, transport: transport, act: act}
				switch r := f.Excuse(transport, act); {
				case r != "":
					excused[r]++
				case f.Heavy:
					heavy = append(heavy, c)
				case transport == mcptest.Stdio:
					children = append(children, c)
				default:
					plain = append(plain, c)
				}
			}
		}
	}
	warmUp(t)
	for _, g := range []struct {
		cells []*cell
		size  int // cells side by side
	}{{plain, 64}, {children, 16}, {heavy, 3}} {
		// Those that are at fault while they connect last: starting children disturbs nobody's clock then.
		slices.SortStableFunc(g.cells, func(a, b *cell) int { return a.order() - b.order() })
		for batch := range slices.Chunk(g.cells, g.size) {
			runBatch(t, batch)
		}
	}
	all := slices.Concat(plain, children, heavy)
	report(t, all, excused)
	missing := 0
	for _, n := range excused {
		missing += n
	}
	if len(all) != cellsRun || missing != cellsExcused {
		t.Errorf("%d cells were run and %d excused, want %d and %d", len(all), missing, cellsRun, cellsExcused)
	}
}

// cell is one fault on one transport under one act, and what came of it.
type cell struct {
	fault     mcptest.Fault
	transport string
	act       mcptest.Act

	clock *metronome
	place *mcptest.Place
	tb    *toolsource.Toolbox
	layer toolsource.Layer
	call  toolsource.Callable

	err     error         // of the call
	took    time.Duration // by the call, or from the close to its return
	late    time.Duration // beyond a bare timer; negative: it returned before its time
	closing time.Duration // how long Close took
	bad     []string
}

func (c *cell) String() string { return fmt.Sprintf("%s/%s/%s", c.fault.Name, c.transport, c.act) }

func (c *cell) wrong(format string, args ...any) { c.bad = append(c.bad, fmt.Sprintf(format, args...)) }

// dials reports whether the act is done while the server is still connected to.
func (c *cell) dials() bool { return c.fault.Dialling || c.act == mcptest.CloseDials }

func (c *cell) order() int {
	if c.dials() {
		return 1
	}
	return 0
}

// runBatch runs cells side by side: all are set up, then all act, one shortly after another, then all are closed. What is left
// afterwards is the batch's.
func runBatch(t *testing.T, cells []*cell) {
	t.Helper()
	before := census(t)
	neighbour, err := mcptest.Start(mcptest.Memory, mcptest.Behaviour{})
	if err != nil {
		t.Fatal(err)
	}
	clock := newMetronome()
	phase := func(f func(int, *cell)) {
		var wg sync.WaitGroup
		for i, c := range cells {
			wg.Go(func() { f(i, c) })
		}
		wg.Wait()
	}
	phase(func(_ int, c *cell) { c.clock = clock; c.setUp(t, before.mark, neighbour) })
	phase(func(i int, c *cell) {
		time.Sleep(time.Duration(i) * apart)
		if len(c.bad) == 0 {
			c.run()
		}
	})
	phase(func(_ int, c *cell) { c.close() })
	clock.end()
	neighbour.Close()
	names := make([]string, len(cells))
	for i, c := range cells {
		names[i] = c.String()
		for _, b := range c.bad {
			t.Errorf("%s: %s", c, b)
		}
	}
	if left := before.left(t); left != "" {
		t.Errorf("left behind by one of %s:\n%s", strings.Join(names, "; "), left)
	}
}

// setUp makes the server, its Toolbox and the callable.
func (c *cell) setUp(t *testing.T, mark string, neighbour *mcptest.Place) {
	var err error
	if c.place, err = mcptest.Start(c.transport, c.fault.Behaviour); err != nil {
		c.wrong("start: %v", err)
		return
	}
	cfg := mcpclient.ServerConfig{
		ID: "faulty", Command: c.place.Command, Args: c.place.Args, Env: c.place.Env, URL: c.place.URL,
		Connect: 5 * time.Second, CloseBound: closeBound,
	}
	if c.transport == mcptest.Stdio {
		cfg.Env[markName] = toolsource.Secret(mark)
	}
	if c.transport == mcptest.SSE {
		cfg.Transport = mcpclient.TransportSSE
	}
	if c.fault.Behaviour.Modern && c.transport != mcptest.Stdio {
		cfg.Era = mcpclient.Era20260728
	}
	c.tb = toolsource.NewToolbox(&toolsource.Options{CloseBound: closeBound})
	src := newSource(t, cfg, c.place, nil)
	beside := newSource(t, mcpclient.ServerConfig{ID: "neighbour", URL: neighbour.URL}, neighbour, &mcpsource.Options{Qualified: true, Allow: []string{"echo"}})
	c.layer = toolsource.Layer{Source: src, Precedence: toolsource.PrecedenceMCP}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := c.tb.Add(ctx, toolsource.Layer{Source: beside, Precedence: toolsource.PrecedenceMCP}); err != nil {
		c.wrong("add the neighbour: %v", err)
		return
	}
	name := c.fault.ToolName()
	if c.dials() { // there is no listing yet: the callable is the source's own, for the tool that it would list
		spec := toolsource.ToolSpec{Name: name, InputSchema: []byte(`{"type":"object"}`), Origin: toolsource.Origin{Kind: "mcp", Server: "faulty", WireName: name}}
		call, err := src.Resolve(spec)
		if err == nil {
			_, err = c.tb.Register(spec, call)
		}
		if err != nil {
			c.wrong("register: %v", err)
			return
		}
	} else if err := c.tb.Add(ctx, c.layer); err != nil {
		c.wrong("add: %v", err)
		return
	}
	if c.call, err = c.tb.Resolve(name); err != nil {
		c.wrong("resolve: %v", err)
	}
}

func newSource(t *testing.T, cfg mcpclient.ServerConfig, at *mcptest.Place, o *mcpsource.Options) *mcpsource.Source {
	server, err := mcpclient.New(cfg, &mcpclient.Options{HTTPTransport: at.HTTP})
	if err != nil {
		t.Error(err)
	}
	return mcpsource.New(server, o)
}

// run acts.
func (c *cell) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	begin := time.Now()
	due := begin.Add(callDeadline)
	switch c.act {
	case mcptest.Deadline:
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, due)
		defer stop()
	case mcptest.CloseDials:
		due = begin.Add(20 * time.Millisecond)
	default:
		due = begin.Add(cancelAfter)
	}
	var wg sync.WaitGroup
	var back, added time.Time
	wg.Go(func() {
		_, c.err = c.call(ctx, c.fault.Args)
		back = time.Now()
	})
	if c.dials() {
		wg.Go(func() {
			_ = c.tb.Add(ctx, c.layer)
			added = time.Now()
		})
	}
	acted := due
	switch c.act {
	case mcptest.Cancel:
		time.Sleep(time.Until(due))
		acted = time.Now()
		cancel()
	case mcptest.CloseCall, mcptest.CloseDials:
		c.askNeighbour()
		time.Sleep(time.Until(due))
		acted = time.Now()
		c.closeToolbox()
	}
	wg.Wait()
	c.took = back.Sub(begin)
	c.late = back.Sub(acted) - c.clock.late(acted, back)
	c.returned("the call", c.late)
	if c.dials() {
		c.returned("Add", added.Sub(acted)-c.clock.late(acted, added))
	}
	if c.clock.late(begin, back) < starved {
		c.checkEnd()
	}
	if c.act == mcptest.Deadline || c.act == mcptest.Cancel {
		c.askNeighbour()
		c.closeToolbox()
	}
}

// returned judges when something came back that had to.
func (c *cell) returned(what string, late time.Duration) {
	limit := mayBeLate
	if raceEnabled {
		limit = 2 * time.Second
	}
	if late > limit {
		c.wrong("%s came back %v too late", what, late)
	}
}

// checkEnd judges how the call ended.
func (c *cell) checkEnd() {
	kind := toolsource.KindOf(c.err)
	gone := map[mcptest.Act]toolsource.Kind{
		mcptest.Deadline: toolsource.KindTimeout, mcptest.Cancel: toolsource.KindCancelled,
		mcptest.CloseCall: toolsource.KindClosed, mcptest.CloseDials: toolsource.KindClosed,
	}[c.act]
	given := c.err != nil && kind == gone
	switch {
	case c.act == mcptest.CloseDials, c.fault.Ends == mcptest.Either, raceEnabled:
	case c.fault.Ends == mcptest.Answered && c.err != nil && (c.act == mcptest.Deadline || !given):
		c.wrong("no answer: %v", c.err)
	case c.fault.Ends == mcptest.Refused && (c.err == nil || given && c.act == mcptest.Deadline && !c.fault.Dialling):
		c.wrong("no error of its own: %v", c.err)
	case c.fault.Ends == mcptest.Unending && !given:
		c.wrong("it ended by itself: %v", c.err)
	}
	var e *toolsource.CallError
	if kind == toolsource.KindClosed && !errors.Is(c.err, toolsource.ErrClosed) || errors.As(c.err, &e) && e.Kind == "" {
		c.wrong("an error without a kind: %#v", c.err)
	}
}

// askNeighbour calls the healthy server, which one at fault must not hold up (P4).
func (c *cell) askNeighbour() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if res, err := c.tb.Call(ctx, "mcp__neighbour__echo", map[string]any{"text": "here"}); err != nil || res.Value != "here" {
		c.wrong("the neighbour: %v, %v", res.Value, err)
	}
}

func (c *cell) closeToolbox() {
	begin := time.Now()
	err := c.tb.Close()
	end := time.Now()
	c.closing = end.Sub(begin)
	limit := closeBound + mayBeLate + c.clock.late(begin, end)
	if raceEnabled {
		limit += 2 * time.Second
	}
	if err != nil || c.closing > limit {
		c.wrong("Close after %v: %v", c.closing, err)
	}
}

// close ends what a cell that broke off has left.
func (c *cell) close() {
	if c.tb != nil {
		_ = c.tb.Close()
	}
	if c.layer.Source != nil {
		_ = toolsource.CloseSource(c.layer.Source)
	}
	if c.place != nil {
		c.place.Close()
	}
}

// report prints the table.
func report(t *testing.T, cells []*cell, excused map[mcptest.Reason]int) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nfault\ttransport\tact\toutcome\tcall ms\tovershoot ms\tclose ms")
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }
	var worst, slowest *cell
	for _, c := range cells {
		outcome := "answer"
		if c.err != nil {
			outcome = string(toolsource.KindOf(c.err))
		}
		over := "before"
		if c.late > 0 {
			over = ms(c.late)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.fault.Name, c.transport, c.act, outcome, ms(c.took), over, ms(c.closing))
		if worst == nil || c.late > worst.late {
			worst = c
		}
		if slowest == nil || c.closing > slowest.closing {
			slowest = c
		}
	}
	_ = w.Flush()
	t.Log(b.String())
	for _, r := range mcptest.Reasons() {
		t.Logf("%d cells excused: %s", excused[r], r)
	}
	t.Logf("%d cells; worst overshoot %sms (%s), slowest close %sms (%s)", len(cells), ms(worst.late), worst, ms(slowest.closing), slowest)
}
