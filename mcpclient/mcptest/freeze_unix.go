//go:build unix

package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"syscall"
	"time"
)

func runFreeze(ctx context.Context, c *call) (json.RawMessage, error) {
	if !c.server.process {
		return nil, errors.New("only a process can be stopped")
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
		return nil, err
	}
	wait(ctx, 100*time.Millisecond) // the signal takes a moment to reach every thread
	return text("thawed"), nil
}
