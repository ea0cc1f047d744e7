//go:build !unix

package mcptest

import (
	"context"
	"encoding/json"
	"errors"
)

func runFreeze(context.Context, *call) (json.RawMessage, error) {
	return nil, errors.New("there is no SIGSTOP here")
}
