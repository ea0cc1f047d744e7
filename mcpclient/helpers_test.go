package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// logBuffer is where a test's logger writes, from any goroutine.
type logBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func testLogger(l *logBuffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func sprint(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		text = []byte(err.Error())
	}
	return fmt.Sprintf("%v %+v %#v %s %s", v, v, v, v, text)
}

// waitFor polls what a real process will do.
func waitFor(t testing.TB, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
	}
}

// stat is how often the server received something.
func stat(t testing.TB, s *Server, what string) int {
	t.Helper()
	res, err := s.Call(t.Context(), "stats", nil, CallOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n, _ := res.Value.(map[string]any)[what].(int64)
	return int(n)
}

func countLines(t testing.TB, file, line string) (n int) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range strings.Split(string(raw), "\n") {
		if l == line {
			n++
		}
	}
	return n
}

func bodyOf(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }

// overshoot runs something that has to end at a deadline d from now, and tells how much later it ended
// than a bare timer in the same process.
func overshoot(t testing.TB, d time.Duration, run func(context.Context)) time.Duration {
	t.Helper()
	begin := time.Now()
	ctx, cancel := context.WithDeadline(t.Context(), begin.Add(d))
	defer cancel()
	bare := make(chan time.Duration, 1)
	go func() {
		time.Sleep(time.Until(begin.Add(d)))
		bare <- time.Since(begin)
	}()
	run(ctx)
	took := time.Since(begin)
	return took - <-bare
}
