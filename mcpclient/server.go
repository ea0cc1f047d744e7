// Package mcpclient connects to MCP servers.
package mcpclient

import (
	"context"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
)

// Server is one MCP server.
type Server struct {
	cfg ServerConfig
	opt Options
}

// New makes a server from its configuration. It does no I/O.
func New(cfg ServerConfig, opts *Options) (*Server, error) {
	cfg, err := cfg.resolved()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg}
	if opts != nil {
		s.opt = *opts
	}
	return s, nil
}

// CallOptions are what a caller knows about a tool. The zero value works: it is the most careful one.
type CallOptions struct {
	Tool       string            // name for errors; "": the wire name
	Limits     toolsource.Limits // zero fields: the tool's or the server's
	Grade      grade.Grade       // effective; decides whether a lost call may be sent again
	Idempotent bool              // the tool claims it; counts for a fully trusted server only
	Replay     *bool             // nil: the tool's or the server's
}

// Config is the configuration with its defaults.
func (s *Server) Config() ServerConfig { return s.cfg }

// Start connects.
func (s *Server) Start(ctx context.Context) error { return nil }

// List lists the tools.
func (s *Server) List(ctx context.Context) (Listing, error) { return Listing{}, nil }

// Call runs a tool.
func (s *Server) Call(ctx context.Context, wireName string, args map[string]any, o CallOptions) (toolsource.Result, error) {
	return toolsource.Result{}, nil
}

// Status is how the server is.
func (s *Server) Status() toolsource.SourceStatus { return toolsource.SourceStatus{} }

// Watch tells of changes.
func (s *Server) Watch(changed func()) (stop func()) { return func() {} }

// Close ends it.
func (s *Server) Close() error { return nil }
