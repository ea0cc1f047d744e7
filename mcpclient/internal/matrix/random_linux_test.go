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
	"syscall"
	"testing"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
	"github.com/toolsource/toolsource/sources/mcpsource"
)

const (
	schedules  = 200 // with the race detector; a quarter of them without
	sideBySide = 10
)

// TestRandomFaultSchedules runs programs against real children that are killed, stopped, woken and closed at
// random moments. Whatever happens: every call is back by its deadline, with its own answer or an error that
// does not lie; a write runs at most once, and not at all if its error says so; and nothing is left.
func TestRandomFaultSchedules(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv(seedName); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d", seedName, seed)
	dir := t.TempDir()
	var total tally
	n := schedules
	if !raceEnabled {
		n /= 4
	}
	for first := 0; first < n; first += sideBySide {
		before := census(t)
		clock := newMetronome()
		var wg sync.WaitGroup
		for i := first; i < first+sideBySide; i++ {
			s := &schedule{
				t: t, n: i, rng: rand.New(rand.NewPCG(seed, uint64(i))), clock: clock,
				mark: fmt.Sprintf("%s-%d", before.mark, i), journal: filepath.Join(dir, fmt.Sprint(i)),
			}
			wg.Go(func() { s.run(); total.add(&s.tally) })
		}
		wg.Wait()
		clock.end()
		for i := first; i < first+sideBySide; i++ {
			if pids := marked(fmt.Sprintf("%s-%d", before.mark, i)); len(pids) > 0 {
				t.Errorf("schedule %d left the processes %v", i, pids)
			}
		}
		if left := before.left(t); left != "" {
			t.Fatalf("left behind by one of the schedules %d to %d:\n%s", first, first+sideBySide-1, left)
		}
	}
	t.Logf("%d calls, %d answered; %d kills, %d stops; by kind of error: %v", total.calls, total.answered, total.kills, total.stops, total.kinds)
	if total.answered == 0 || total.kills == 0 || total.stops == 0 || total.kinds[toolsource.KindOutcomeUnknown] == 0 || total.kinds[toolsource.KindTimeout] == 0 {
		t.Error("the schedules miss what they are for")
	}
}

// tally counts what happened.
type tally struct {
	mu                            sync.Mutex
	calls, answered, kills, stops int
	kinds                         map[toolsource.Kind]int
}

func (a *tally) add(b *tally) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls, a.answered, a.kills, a.stops = a.calls+b.calls, a.answered+b.answered, a.kills+b.kills, a.stops+b.stops
	if a.kinds == nil {
		a.kinds = map[toolsource.Kind]int{}
	}
	for k, n := range b.kinds {
		a.kinds[k] += n
	}
}

// schedule is one random program against one server.
type schedule struct {
	t       *testing.T
	n       int
	rng     *rand.Rand // of the one goroutine that plans
	clock   *metronome
	mark    string
	journal string
	tb      *toolsource.Toolbox

	tally  // mu guards also what follows
	writes []written
}

func (s *schedule) wrong(format string, args ...any) {
	s.t.Errorf("schedule %d: %s", s.n, fmt.Sprintf(format, args...))
}

func (s *schedule) run() {
	place, err := mcptest.Start(mcptest.Stdio, s.behaviour())
	if err != nil {
		s.wrong("%v", err)
		return
	}
	place.Env[markName] = toolsource.Secret(s.mark)
	server, err := mcpclient.New(mcpclient.ServerConfig{
		ID: "srv", Command: place.Command, Env: place.Env, Connect: 5 * time.Second, CloseBound: closeBound,
	}, nil)
	if err != nil {
		s.wrong("%v", err)
		return
	}
	src := mcpsource.New(server, nil)
	s.tb = toolsource.NewToolbox(&toolsource.Options{CloseBound: closeBound})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.tb.Add(ctx, toolsource.Layer{Source: src, Precedence: toolsource.PrecedenceMCP}); err != nil {
		s.wrong("add: %v", err)
	} else {
		s.play(server)
	}
	begin := time.Now()
	err = s.tb.Close()
	if took := time.Since(begin); err != nil || took > closeBound+time.Second {
		s.wrong("Close after %v: %v", took, err)
	}
	s.checkJournal()
}

func (s *schedule) behaviour() mcptest.Behaviour {
	b := mcptest.Behaviour{Journal: s.journal}
	switch s.rng.IntN(5) {
	case 0:
		b.IgnoreEOF, b.IgnoreTerm = true, true
	case 1:
		b.CallDelay = 20 * time.Millisecond
	case 2:
		b.Grandchild, b.GrandchildHoldsPipes = true, true
	}
	return b
}

// play does some twenty things, each a few milliseconds after the other, and waits for its calls.
func (s *schedule) play(server *mcpclient.Server) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range 20 {
		token := fmt.Sprintf("%d-%d", s.n, i)
		limit := time.Duration(30+s.rng.IntN(400)) * time.Millisecond
		ms := s.rng.IntN(60)
		switch p := s.rng.IntN(100); {
		case p < 35:
			wg.Go(func() { s.write(token, ms, limit) })
		case p < 60:
			wg.Go(func() { s.read(token, limit) })
		case p < 70: // more than a pipe holds
			wg.Go(func() { s.read(token+strings.Repeat("x", 1<<18), limit) })
		case p < 78:
			wg.Go(func() { s.cancelled(token, limit) })
		case p < 86:
			s.signal(syscall.SIGKILL)
		case p < 94:
			s.signal(syscall.SIGSTOP)
			wake := time.Duration(s.rng.IntN(300)) * time.Millisecond
			wg.Go(func() {
				time.Sleep(wake)
				s.signal(syscall.SIGCONT)
			})
		case p < 98:
			server.Reconnect()
		case s.rng.IntN(2) == 0:
			wg.Go(func() { _ = s.tb.Close() })
		}
		time.Sleep(time.Duration(s.rng.IntN(40)) * time.Millisecond)
	}
}

// signal sends a signal to all processes of the server.
func (s *schedule) signal(sig syscall.Signal) {
	s.mu.Lock()
	switch sig {
	case syscall.SIGKILL:
		s.kills++
	case syscall.SIGSTOP:
		s.stops++
	}
	s.mu.Unlock()
	for _, p := range marked(s.mark) {
		if pid, err := strconv.Atoi(p); err == nil && pid > 1 {
			_ = syscall.Kill(pid, sig)
		}
	}
}

// call calls within a limit and judges when it came back.
func (s *schedule) call(tool string, args map[string]any, limit time.Duration) (toolsource.Result, error) {
	due := time.Now().Add(limit)
	ctx, cancel := context.WithDeadline(context.Background(), due)
	defer cancel()
	res, err := s.tb.Call(ctx, tool, args)
	back := time.Now()
	allowed := mayBeLate
	if raceEnabled {
		allowed = 2 * time.Second
	}
	if late := back.Sub(due) - s.clock.late(due, back); late > allowed {
		s.wrong("%s came back %v too late: %v", tool, late, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if err == nil {
		s.answered++
		return res, nil
	}
	if s.kinds == nil {
		s.kinds = map[toolsource.Kind]int{}
	}
	s.kinds[toolsource.KindOf(err)]++
	switch toolsource.KindOf(err) {
	case toolsource.KindTimeout, toolsource.KindUnavailable, toolsource.KindSessionLost, toolsource.KindOutcomeUnknown, toolsource.KindClosed:
	default:
		s.wrong("%s: an error of the kind %s: %v", tool, toolsource.KindOf(err), err)
	}
	return res, err
}

func (s *schedule) read(token string, limit time.Duration) {
	if res, err := s.call("echo", map[string]any{"text": token}, limit); err == nil && res.Value != token {
		s.wrong("%.20s has the answer %.20v", token, res.Value)
	}
}

func (s *schedule) write(token string, ms int, limit time.Duration) {
	res, err := s.call("record", map[string]any{"token": token, "ms": ms}, limit)
	if err == nil && res.Value != token {
		s.wrong("%s has the answer %v", token, res.Value)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, written{token, err})
}

func (s *schedule) cancelled(token string, limit time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(limit/4, cancel)
	_, err := s.tb.Call(ctx, "record", map[string]any{"token": token, "ms": 200})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, written{token, err})
}

// checkJournal compares what took effect with what the callers were told.
func (s *schedule) checkJournal() {
	raw, err := os.ReadFile(s.journal)
	if err != nil {
		s.wrong("%v", err)
		return
	}
	times := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		if token, ok := strings.CutPrefix(strings.TrimSpace(line), "record "); ok {
			times[token]++
		}
	}
	for _, w := range s.writes {
		n := times[w.token]
		var e *toolsource.CallError
		switch {
		case n > 1:
			s.wrong("%s ran %d times: %v", w.token, n, w.err)
		case w.err == nil && n != 1:
			s.wrong("%s was answered and did not run", w.token)
		case n == 1 && errors.As(w.err, &e) && !e.MayHaveRun:
			s.wrong("%s ran, though its error says that it cannot have: %v", w.token, w.err)
		}
	}
}
