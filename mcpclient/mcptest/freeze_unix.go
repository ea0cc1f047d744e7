//go:build unix

package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"syscall"
)

func runFreeze(_ context.Context, c *call) (json.RawMessage, error) {
	if !c.server.process {
		return nil, errors.New("only a process can be stopped")
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
		return nil, err
	}
	return text("thawed"), nil
}
