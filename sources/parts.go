package sources

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/sources/configsource"
	"github.com/toolsource/toolsource/sources/mcpsource"
	"github.com/toolsource/toolsource/sources/virtualsource"
)

// The names of the sources of a Set; a server's is "mcp:" and its id.
const (
	sourceDefault = "default"
	sourceConfig  = "config"
	sourceVirtual = "virtual"
)

// A part is one source of a configuration: its place, what it is made from, and, in a Set, the source.
type part struct {
	name       string
	precedence toolsource.Precedence
	order      int
	from       any                          // the declarations that make is given, to be compared; nil for a server
	make       func() toolsource.ToolSource // nil for a server

	entry  *Server // of a server
	source toolsource.ToolSource
	server *mcpclient.Server
}

func (p *part) layer() toolsource.Layer {
	l := toolsource.Layer{Source: p.source, Precedence: p.precedence, Order: p.order}
	if p.server != nil {
		l.Limit = p.server.Config().Connect + lastWords
	}
	return l
}

// lastWords is how much longer than its own limit a server is waited for, so that it can say why it failed.
const lastWords = time.Second

// declared are the parts that need no server, in the order in which they are attached.
func (c *Config) declared() []*part {
	var parts []*part
	add := func(name string, level toolsource.Precedence, from any, make func() toolsource.ToolSource) {
		parts = append(parts, &part{name: name, precedence: level, from: from, make: make})
	}
	tools := func(name string, defs []configsource.Definition) func() toolsource.ToolSource {
		o := configsource.Options{Name: name, Workspace: c.Workspace, Funcs: c.opts.Funcs, Providers: c.opts.Providers, LookupEnv: c.opts.LookupEnv}
		return func() toolsource.ToolSource { return configsource.New(defs, &o) }
	}
	if !c.opts.NoDefaults {
		defs, err := configsource.DefaultDefinitions()
		if err == nil { // they are part of the library, and tested
			add(sourceDefault, toolsource.PrecedenceDefault, nil, tools(sourceDefault, defs))
		}
	}
	if len(c.tools) > 0 {
		add(sourceConfig, toolsource.PrecedenceUser, c.tools, tools(sourceConfig, c.tools))
	}
	if len(c.virtual) > 0 {
		add(sourceVirtual, toolsource.PrecedenceVirtual, c.virtual, func() toolsource.ToolSource {
			return virtualsource.New(c.virtual, c.opts.Virtual, &virtualsource.Options{Name: sourceVirtual})
		})
	}
	return parts
}

// parts are the sources that are to be attached. Options.Approve is asked for a server unless it runs already.
func (c *Config) parts(runs func(*part) bool) ([]*part, error) {
	parts := c.declared()
	for i := range c.Servers {
		s := &c.Servers[i]
		p := &part{name: "mcp:" + s.Config.ID, precedence: s.Precedence, order: s.Order, entry: s}
		off := s.Off
		if off == "" && c.opts.Approve != nil && !runs(p) && !c.opts.Approve(*s) {
			off = "not approved"
		}
		switch {
		case off == "":
			parts = append(parts, p)
		case s.Config.Required && off != offDisabled && off != offConsent:
			return nil, requiredFails(s.Config.ID, errors.New(off))
		}
	}
	return parts, nil
}

func requiredFails(id string, err error) error {
	return fmt.Errorf("sources: required server %q: %w", id, err)
}

// makeAll makes the sources of parts that have none yet. On an error none of them is left open.
func (c *Config) makeAll(parts []*part) error {
	var made []*part
	for _, p := range parts {
		if p.source != nil {
			continue
		}
		if err := c.makeOne(p); err != nil { // Load has checked it
			err = fmt.Errorf("sources: server %q: %w", p.entry.Config.ID, err)
			return errors.Join(err, closeAll(made))
		}
		made = append(made, p)
	}
	return nil
}

func (c *Config) makeOne(p *part) error {
	if p.entry == nil {
		p.source = p.make()
		return nil
	}
	server, err := mcpclient.New(p.entry.Config, c.client())
	if err == nil {
		p.server, p.source = server, mcpsource.New(server, &p.entry.Source)
	}
	return err
}

func layersOf(parts []*part) []toolsource.Layer {
	layers := make([]toolsource.Layer, len(parts))
	for i, p := range parts {
		layers[i] = p.layer()
	}
	return layers
}

// closeAll closes the sources of parts side by side: each has a bound of its own.
func closeAll(parts []*part) error {
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, p := range parts {
		wg.Go(func() { errs[i] = toolsource.CloseSource(p.source) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// closed reports whether the part's server was closed, as the host does by removing its source.
func (p *part) closed() bool {
	return p.server != nil && p.server.Status().State == toolsource.StateClosed
}

// alike reports whether two configurations give their sources the same surroundings: functions of the host
// cannot be compared, so that where there are any, both have to have the same Options.
func (c *Config) alike(d *Config) bool {
	plain := func(c *Config) bool {
		o := c.given
		return o == nil || o.Funcs == nil && o.Providers == nil && o.Virtual == nil && o.LookupEnv == nil && o.MCP == nil && o.Logger == nil
	}
	return c.Workspace == d.Workspace && c.cache == d.cache && (c.given == d.given || plain(c) && plain(d))
}

// same reports whether a server is declared alike, wherever it stands: its place is its layer's.
func (s Server) same(t Server) bool {
	s.Config.Line, t.Config.Line = 0, 0
	s.Precedence, t.Precedence, s.Order, t.Order = 0, 0, 0, 0
	s.Entry, t.Entry = nil, nil
	return reflect.DeepEqual(s, t)
}
