// Package mcpsource presents an MCP server's tools as a toolsource.ToolSource.
package mcpsource

import (
	"context"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
)

// Options of a Source. The zero value and nil work.
type Options struct {
	Name      string              // the source's name; "": "mcp:" and the server's id
	Allow     []string            // globs over wire names (path.Match); nil: every tool
	Deny      []string            // likewise; wins over Allow
	Overrides map[string]Override // by wire name
	Qualified bool                // programs see mcp__server__tool instead of the bare name
	Lax       bool                // arguments are sent as they are: no coercion, no validation
	Shared    bool                // Close leaves the server open
}

// Override is what the configuration says of one tool, over what its server says.
type Override struct {
	W, D     *int                 // grade; nil: as hinted. An axis set by itself leaves the other
	Examples []toolsource.Example // shown with the tool
	Docs     string               // path or URL
	Limits   toolsource.Limits    // zero fields: the server's
	Replay   *bool                // nil: the server's
}

// Source is an MCP server's tools.
type Source struct {
	server *mcpclient.Server
	opt    Options
}

// New makes a source of a server. It does no I/O.
func New(server *mcpclient.Server, opts *Options) *Source {
	s := &Source{server: server}
	if opts != nil {
		s.opt = *opts
	}
	return s
}

// Name is stable and unique within a Toolbox.
func (s *Source) Name() string { return s.opt.Name }

// Available reports whether the server may answer.
func (s *Source) Available() bool { return true }

// Discover lists the tools.
func (s *Source) Discover(ctx context.Context) ([]toolsource.ToolSpec, error) { return nil, nil }

// Resolve gives a tool's callable.
func (s *Source) Resolve(spec toolsource.ToolSpec) (toolsource.Callable, error) { return nil, nil }

// Status is how the server is.
func (s *Source) Status() toolsource.SourceStatus { return s.server.Status() }

// Close closes the server.
func (s *Source) Close() error { return nil }
