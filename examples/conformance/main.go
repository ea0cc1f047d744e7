// Command conformance is the client under test of the protocol's conformance suite: mcpclient, and for what
// it does with a tool's schema mcpsource. The suite starts it once for each scenario, with the address of
// the scenario's server as its argument and the rest in its environment:
//
//	MCP_CONFORMANCE_SCENARIO   what to do
//	MCP_CONFORMANCE_CONTEXT    what to do it with: JSON, of some scenarios only
//
// It exits with 1 if anything went otherwise than the scenario's script has it, and says what on standard
// error. With CONFORMANCE_WIRE=1 in the environment all requests and answers stand there too; they then go
// over a transport of ours instead of mcpclient's own.
//
// The tests of this folder run both versions of the suite that testdata/conformance pins, against every
// client scenario, and print what came of each:
//
//	npm install --prefix testdata/conformance
//	go test -count=1 -v ./examples/conformance
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/toolsource/toolsource/mcpclient"
)

// limit is the longest time that a scenario takes. The suite gives a client 30 s.
const limit = 20 * time.Second

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// run plays one scenario.
func run(ctx context.Context, args []string, env func(string) string, log io.Writer) error {
	name := env("MCP_CONFORMANCE_SCENARIO")
	play := scenarios[name]
	switch {
	case len(args) != 1:
		return errors.New("usage: conformance URL, with MCP_CONFORMANCE_SCENARIO in the environment")
	case play == nil:
		return fmt.Errorf("no scenario %q", name)
	}
	opts := &mcpclient.Options{ClientName: "toolsource-conformance", ClientVersion: "1.0.0", Handlers: acceptAll}
	if env("CONFORMANCE_WIRE") != "" {
		opts.HTTPTransport = &wireLog{to: log}
	}
	srv, err := mcpclient.New(mcpclient.ServerConfig{ID: "suite", URL: args[0]}, opts)
	if err != nil {
		return err
	}
	err = play(ctx, srv, json.RawMessage(env("MCP_CONFORMANCE_CONTEXT")))
	return errors.Join(err, srv.Close())
}
