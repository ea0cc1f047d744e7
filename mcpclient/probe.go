package mcpclient

import (
	"context"
	"errors"
	"time"

	"github.com/toolsource/toolsource"
)

// ProbeResult is what one attempt to reach a server found.
type ProbeResult struct {
	Listing Listing
	// Status is the server's before it was closed: its revision, transport, name and standard error, and
	// after a failure the state that it was left in.
	Status  toolsource.SourceStatus
	Connect time.Duration // from the start to the listing, or to the failure
}

// Probe connects to a server once, lists its tools, closes it and leaves nothing: no session, process,
// goroutine or entry of Options.Cache, which is not asked either. It is for seeing whether a configuration
// works. A failure is not tried again; the error is that of List, or all that is wrong with the
// configuration, and Status says what else is known. Probe returns by ctx's end or the configuration's
// Connect, and by its CloseBound after that; what had not ended by then is in the error.
func Probe(ctx context.Context, cfg ServerConfig, opts *Options) (ProbeResult, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.Cache = nil
	s, err := New(cfg, &o)
	if err != nil {
		return ProbeResult{}, err
	}
	begin := time.Now()
	var r ProbeResult
	r.Listing, err = s.list(ctx)
	r.Connect = time.Since(begin)
	r.Status = s.Status()
	return r, errors.Join(err, s.Close())
}
