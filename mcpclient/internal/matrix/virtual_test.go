package matrix

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
	"github.com/toolsource/toolsource/sources/mcpsource"
)

// seedName is a variable of the environment that repeats a run.
const seedName = "MATRIX_SEED"

// written is a call that takes effect, and what its caller was told.
type written struct {
	token string
	err   error
}

// TestRandomFaultsInVirtualTime draws programs and faults of HTTP by chance and runs them through the whole
// stack, connections included, in virtual time: so calls are back at their deadlines to the millisecond, and
// writes run at most once, whatever the answers look like.
func TestRandomFaultsInVirtualTime(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv(seedName); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d", seedName, seed)
	var pool []mcptest.HTTPFault
	for _, f := range mcptest.Faults() {
		if len(f.Behaviour.HTTP) == 1 && !f.Heavy && f.Excuse(mcptest.Memory, mcptest.Deadline) == "" && f.Behaviour.HTTP[0].Then != mcptest.ThenDrip {
			pool = append(pool, f.Behaviour.HTTP...)
		}
	}
	dir := t.TempDir()
	n := 1000
	if s := os.Getenv("MATRIX_SCHEDULES"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		synctest.Test(t, func(t *testing.T) {
			v := &virtual{t: t, n: i, rng: rand.New(rand.NewPCG(seed, uint64(i))), journal: filepath.Join(dir, fmt.Sprint(i))}
			v.run(pool)
		})
		if t.Failed() {
			t.Fatalf("schedule %d of %s=%d", i, seedName, seed)
		}
	}
}

// virtual is one program.
type virtual struct {
	t       *testing.T
	n       int
	rng     *rand.Rand
	journal string
	tb      *toolsource.Toolbox

	mu     sync.Mutex
	writes []written
}

func (v *virtual) run(pool []mcptest.HTTPFault) {
	b := mcptest.Behaviour{SSE: v.rng.IntN(2) == 0, Stream: v.rng.IntN(2) == 0, Journal: v.journal}
	for range v.rng.IntN(4) {
		f := pool[v.rng.IntN(len(pool))]
		f.From, f.Count = 1+v.rng.IntN(4), 1+v.rng.IntN(3)
		b.HTTP = append(b.HTTP, f)
	}
	if v.rng.IntN(4) == 0 {
		b.CallDelay = 100 * time.Millisecond
	}
	s, _ := serve(v.t, mcptest.Memory, b, func(c *mcpclient.ServerConfig) { c.Connect = 5 * time.Second })
	v.tb = toolsource.NewToolbox(&toolsource.Options{CloseBound: closeBound})
	ctx, cancel := context.WithTimeout(v.t.Context(), 20*time.Second)
	defer cancel()
	if err := v.tb.Add(ctx, toolsource.Layer{Source: mcpsource.New(s, nil), Precedence: toolsource.PrecedenceMCP}); err == nil {
		v.play()
	}
	begin := time.Now()
	if err := v.tb.Close(); err != nil || time.Since(begin) > closeBound {
		v.t.Errorf("Close after %v: %v", time.Since(begin), err)
	}
	v.checkJournal()
}

func (v *virtual) play() {
	var wg sync.WaitGroup
	for i := range 12 {
		token := fmt.Sprintf("%d-%d", v.n, i)
		limit := time.Duration(10+v.rng.IntN(2000)) * time.Millisecond
		ms := v.rng.IntN(200)
		switch p := v.rng.IntN(100); {
		case p < 50:
			wg.Go(func() { v.call("record", token, map[string]any{"token": token, "ms": ms}, limit) })
		case p < 85:
			wg.Go(func() { v.call("echo", token, map[string]any{"text": token}, limit) })
		case p < 97:
			wg.Go(func() { v.call("mute", token, nil, limit) })
		default:
			wg.Go(func() { _ = v.tb.Close() })
		}
		time.Sleep(time.Duration(v.rng.IntN(300)) * time.Millisecond)
	}
	wg.Wait()
}

func (v *virtual) call(tool, token string, args map[string]any, limit time.Duration) {
	ctx, cancel := context.WithTimeout(v.t.Context(), limit)
	defer cancel()
	begin := time.Now()
	res, err := v.tb.Call(ctx, tool, args)
	if late := time.Since(begin) - limit; late > 0 {
		v.t.Errorf("%s came back %v too late: %v", tool, late, err)
	}
	if err == nil && res.Value != token {
		v.t.Errorf("%s has the answer %v", token, res.Value)
	}
	if err != nil && toolsource.KindOf(err) == toolsource.KindTool {
		v.t.Errorf("%s: an error of the tool, which made none: %v", tool, err)
	}
	if tool == "record" {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.writes = append(v.writes, written{token, err})
	}
}

func (v *virtual) checkJournal() {
	raw, _ := os.ReadFile(v.journal)
	ran := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		ran[strings.TrimSpace(line)]++
	}
	for _, w := range v.writes {
		n := ran["record "+w.token]
		var e *toolsource.CallError
		if n > 1 || w.err == nil && n != 1 || n == 1 && errors.As(w.err, &e) && !e.MayHaveRun {
			v.t.Errorf("%s ran %d times: %v", w.token, n, w.err)
		}
	}
}
