package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolsource/toolsource/sources"
)

const defaultConfig = "toolsource.toml"

// fileError is a configuration that cannot be read: wrong use of the command.
type fileError struct{ error }

func (fileError) Is(target error) bool { return target == errUsage }
func (e fileError) Unwrap() error      { return e.error }

// open opens the configuration. What is wrong in it goes to standard error, one line each; only a file that
// cannot be read and a required server that is missing are errors.
func (c *command) open(ctx context.Context) (*sources.Set, error) {
	file := c.config
	if file == "" {
		file = defaultConfig
	}
	cfg, err := sources.Load(file, nil)
	if err != nil {
		if c.config == "" {
			err = fmt.Errorf("%w (name your file with --config)", err)
		}
		return nil, fileError{err}
	}
	set, err := cfg.Open(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range set.Problems {
		var problem *sources.Problem
		text := strings.TrimPrefix(p.Error(), "toolsource: ")
		if errors.As(p, &problem) && problem.Severity == sources.SeverityWarning {
			text = "warning: " + text
		}
		c.complain(text)
	}
	return set, nil
}
