package sources

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/sources/mcpsource"
)

// Set is an open configuration: its Toolbox, which owns the sources, and its profiles. Close ends it all
// within a bound.
type Set struct {
	*toolsource.Toolbox

	// Problems are those of the Config, and a *toolsource.SourceError for each source that failed when the
	// Set was opened. Sources tells how they are now.
	Problems []error

	config *Config
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
	layers, err := c.layers()
	if err != nil {
		return nil, err
	}
	set := &Set{Toolbox: toolsource.NewToolbox(c.toolbox()), config: c}
	for _, p := range c.Problems {
		set.Problems = append(set.Problems, p)
	}
	failed := split(set.Add(ctx, layers...))
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

// layers makes all sources. On an error none is left open.
func (c *Config) layers() ([]toolsource.Layer, error) {
	var layers []toolsource.Layer
	fail := func(id string, err error) ([]toolsource.Layer, error) {
		for _, l := range layers {
			err = errors.Join(err, toolsource.CloseSource(l.Source))
		}
		return nil, fmt.Errorf("sources: required server %q: %w", id, err)
	}
	level := map[string]toolsource.Precedence{
		sourceDefault: toolsource.PrecedenceDefault, sourceConfig: toolsource.PrecedenceUser, sourceVirtual: toolsource.PrecedenceVirtual,
	}
	for _, src := range c.declared() {
		layers = append(layers, toolsource.Layer{Source: src, Precedence: level[src.Name()]})
	}
	for _, s := range c.Servers {
		off := s.Off
		if off == "" && c.opts.Approve != nil && !c.opts.Approve(s) {
			off = "not approved"
		}
		if off != "" {
			if s.Config.Required && off != offDisabled {
				return fail(s.Config.ID, errors.New(off))
			}
			continue
		}
		server, err := mcpclient.New(s.Config, c.client())
		if err != nil { // Load has checked it
			return fail(s.Config.ID, err)
		}
		source := s.Source
		layers = append(layers, toolsource.Layer{Source: mcpsource.New(server, &source), Precedence: toolsource.PrecedenceMCP, Limit: server.Config().Connect + lastWords})
	}
	return layers, nil
}

// lastWords is how much longer than its own limit a server is waited for, so that it can say why it failed.
const lastWords = time.Second

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
	return &o
}

// required is the error of a required server among those that failed.
func (c *Config) required(failed []error) error {
	var errs []error
	for _, err := range failed {
		var se *toolsource.SourceError
		if !errors.As(err, &se) {
			continue
		}
		for _, s := range c.Servers {
			if s.Config.Required && se.Source == "mcp:"+s.Config.ID {
				errs = append(errs, fmt.Errorf("sources: required server %q: %w", s.Config.ID, err))
			}
		}
	}
	return errors.Join(errs...)
}

// Plan is what Reload would change, by the names of sources.
type Plan struct {
	Added, Removed, Changed []string
}

// Reload is not supported yet: it changes nothing and its error matches errors.ErrUnsupported.
func (s *Set) Reload(ctx context.Context, c *Config) (Plan, error) {
	return Plan{}, fmt.Errorf("sources: Reload is not there yet (open the new Config and close this Set): %w", errors.ErrUnsupported)
}
