package sources

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
)

// Set is an open configuration: its Toolbox, which owns the sources, and its profiles. Close ends it all
// within a bound.
type Set struct {
	*toolsource.Toolbox

	// Problems are those of the Config, and a *toolsource.SourceError for each source that failed when the
	// Set was opened. Sources tells how they are now.
	Problems []error

	turn chan struct{} // room for one: who reloads

	mu     sync.Mutex // guards the fields below
	config *Config
	parts  []*part // what is attached
}

// Config is the configuration that the Set has now.
func (s *Set) Config() *Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config
}

// Close ends the Toolbox, as its Close does, and waits for a Reload that is under way, which closes what it
// has not handed over yet: for the CloseBound of the Toolbox each.
func (s *Set) Close() error {
	err := s.Toolbox.Close()
	bound := s.Config().toolbox().CloseBound
	if bound <= 0 {
		bound = toolsource.DefaultCloseBound
	}
	t := time.NewTimer(bound)
	defer t.Stop()
	select {
	case s.turn <- struct{}{}:
		<-s.turn
		return err
	case <-t.C:
		return errors.Join(err, fmt.Errorf("sources: close: a Reload has not ended within %v (let its Options.Approve return)", bound))
	}
}

// Open loads a file and opens it.
func Open(ctx context.Context, path string, o *Options) (*Set, error) {
	c, err := Load(path, o)
	if err != nil {
		return nil, err
	}
	return c.Open(ctx)
}

// Open attaches everything to a Toolbox. Servers connect side by side, each for at most its own limit. ctx
// bounds the call and no more: a server that has not answered when ctx's deadline is over goes on trying
// and joins later. A server marked required that is off or does not answer, and a ctx that is cancelled,
// are errors; everything started is closed by then.
func (c *Config) Open(ctx context.Context) (*Set, error) {
	parts, err := c.parts(func(*part) bool { return false })
	if err != nil {
		return nil, err
	}
	if err := c.makeAll(parts); err != nil {
		return nil, err
	}
	set := &Set{Toolbox: toolsource.NewToolbox(c.toolbox()), config: c, parts: parts, turn: make(chan struct{}, 1)}
	for _, p := range c.Problems {
		set.Problems = append(set.Problems, p)
	}
	failed := split(set.Add(ctx, layersOf(parts)...))
	set.Problems = append(set.Problems, failed...)
	err = c.required(failed)
	if errors.Is(ctx.Err(), context.Canceled) {
		err = ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(err, set.Close())
	}
	return set, nil
}

func (c *Config) toolbox() *toolsource.Options {
	var o toolsource.Options
	if c.opts.Toolbox != nil {
		o = *c.opts.Toolbox
	}
	if o.Logger == nil {
		o.Logger = c.opts.Logger
	}
	return &o
}

// client is what the servers have in common.
func (c *Config) client() *mcpclient.Options {
	var o mcpclient.Options
	if c.opts.MCP != nil {
		o = *c.opts.MCP
	}
	if o.Workspace == "" {
		o.Workspace = c.Workspace
	}
	if o.LookupEnv == nil {
		o.LookupEnv = c.opts.LookupEnv
	}
	if o.Logger == nil {
		o.Logger = c.opts.Logger
	}
	if o.Cache == nil {
		o.Cache = c.cache
	}
	return &o
}

// required is the error of a required server among those that failed.
func (c *Config) required(failed []error) error {
	required := map[string]string{} // ids, by the names of their sources
	for _, s := range c.Servers {
		if s.Config.Required {
			required["mcp:"+s.Config.ID] = s.Config.ID
		}
	}
	var errs []error
	for _, err := range failed {
		var se *toolsource.SourceError
		if errors.As(err, &se) && se.Op != "close" && required[se.Source] != "" {
			errs = append(errs, requiredFails(required[se.Source], err))
		}
	}
	return errors.Join(errs...)
}
