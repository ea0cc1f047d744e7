package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/sources/mcpsource"
)

// scenarios are the scripts, by the suite's names. What a script returns is what went wrong on our side; the
// suite judges what it saw of it.
var scenarios = map[string]func(ctx context.Context, srv *mcpclient.Server, given json.RawMessage) error{
	"initialize":                          list,
	"request-metadata":                    list,
	"tools_call":                          addNumbers,
	"sse-retry":                           reconnect,
	"http-standard-headers":               standardHeaders,
	"http-custom-headers":                 givenCalls,
	"elicitation-sep1034-client-defaults": elicitDefaults,
	"sep-2322-client-request-state":       rounds,
	"http-invalid-tool-headers":           callListed,
	"json-schema-ref-no-deref":            remoteRef,
	"json-schema-2020-12-preservation":    echoSchema,
}

func list(ctx context.Context, srv *mcpclient.Server, _ json.RawMessage) error {
	_, err := srv.List(ctx)
	return err
}

func addNumbers(ctx context.Context, srv *mcpclient.Server, _ json.RawMessage) error {
	return expect(ctx, srv, "add_numbers", map[string]any{"a": 5, "b": 3}, "The sum of 5 and 3 is 8")
}

// reconnect calls a tool whose stream of events ends without the answer: it comes on the one that is
// resumed, after the time that the server asked for.
func reconnect(ctx context.Context, srv *mcpclient.Server, _ json.RawMessage) error {
	return expect(ctx, srv, "test_reconnection", nil, "Reconnection test completed successfully")
}

// standardHeaders makes every kind of request that names something, which headers repeat.
func standardHeaders(ctx context.Context, srv *mcpclient.Server, _ json.RawMessage) error {
	for _, tool := range []string{"test_headers", "my-hyphenated-tool"} {
		if err := expect(ctx, srv, tool, nil, "Headers test completed"); err != nil {
			return err
		}
	}
	resources, err := srv.Resources(ctx, mcpclient.CallOptions{})
	if err != nil {
		return err
	}
	for _, r := range resources.Resources {
		if _, err := srv.ReadResource(ctx, r.URI, mcpclient.CallOptions{}); err != nil {
			return err
		}
	}
	prompts, err := srv.Prompts(ctx, mcpclient.CallOptions{})
	if err != nil {
		return err
	}
	for _, p := range prompts.Prompts {
		if _, err := srv.GetPrompt(ctx, p.Name, nil, mcpclient.CallOptions{}); err != nil {
			return err
		}
	}
	if len(resources.Resources) == 0 || len(prompts.Prompts) == 0 {
		return fmt.Errorf("%d resources and %d prompts are listed", len(resources.Resources), len(prompts.Prompts))
	}
	return nil
}

// acceptAll is the host of all scenarios: whatever form it is shown, it accepts it as it is.
var acceptAll = &mcpclient.Handlers{
	Elicit: func(context.Context, *mcpclient.ElicitRequest) (*mcpclient.ElicitResult, error) {
		return &mcpclient.ElicitResult{Action: mcpclient.ElicitAccept}, nil
	},
}

// elicitDefaults calls a tool that asks for values, all of which have defaults.
func elicitDefaults(ctx context.Context, srv *mcpclient.Server, _ json.RawMessage) error {
	_, err := srv.Call(ctx, "test_client_elicitation_defaults", nil, mcpclient.CallOptions{})
	return err
}

// rounds calls tools that ask for input before they answer, and some that do not.
func rounds(ctx context.Context, srv *mcpclient.Server, _ json.RawMessage) error {
	for _, t := range []struct{ tool, text string }{
		{"test_mrtr_echo_state", "echo-state-ok"},
		{"test_mrtr_no_state", "no-state-ok"},
		{"test_mrtr_unrelated", "unrelated-ok"},
		{"test_mrtr_no_result_type", "no-result-type-test-ok"},
	} {
		if err := expect(ctx, srv, t.tool, nil, t.text); err != nil {
			return err
		}
	}
	return nil
}

// givenCalls makes the calls that the suite says, whose arguments the tools want in headers too. The tools
// are listed first, since that is how one learns which.
func givenCalls(ctx context.Context, srv *mcpclient.Server, given json.RawMessage) error {
	var todo struct {
		ToolCalls []struct {
			Name      string
			Arguments map[string]any
		}
	}
	if err := json.Unmarshal(given, &todo); err != nil {
		return fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
	}
	if len(todo.ToolCalls) == 0 {
		return errors.New("MCP_CONFORMANCE_CONTEXT: no calls")
	}
	for _, c := range todo.ToolCalls {
		if err := expect(ctx, srv, c.Name, c.Arguments, "Custom headers test completed"); err != nil {
			return err
		}
	}
	return nil
}

// callListed calls every tool that is listed. All of the server's tools but one say wrongly which arguments
// are to be sent in headers: they must not be among them, but reported.
func callListed(ctx context.Context, srv *mcpclient.Server, _ json.RawMessage) error {
	listing, err := srv.List(ctx)
	if err != nil {
		return err
	}
	for _, t := range listing.Tools {
		if err := expect(ctx, srv, t.Name, map[string]any{"region": "eu"}, "Tool call received"); err != nil {
			return err
		}
	}
	left := 0
	for _, p := range listing.Problems {
		var tool *mcpclient.ToolProblem
		if errors.As(p, &tool) && tool.LeftOut && strings.HasPrefix(tool.Tool, "invalid_") {
			left++
		}
	}
	if len(listing.Tools) != 1 || left != 11 {
		return fmt.Errorf("%d tools are listed and %d left out, want 1 and 11: %w", len(listing.Tools), left, errors.Join(listing.Problems...))
	}
	return nil
}

// remoteRef does all that a host does with a tool whose schema refers to an address on the network: nothing
// of it may ask there. The server has no tools/call.
func remoteRef(ctx context.Context, srv *mcpclient.Server, _ json.RawMessage) error {
	src := mcpsource.New(srv, &mcpsource.Options{Shared: true})
	specs, err := src.Discover(ctx)
	if err != nil {
		return errors.Join(err, src.Close())
	}
	if len(specs) != 1 || specs[0].Name != "lookup_user" {
		err = fmt.Errorf("the tools are %v, not lookup_user", specs)
	} else if call, rerr := src.Resolve(specs[0]); rerr != nil {
		err = rerr
	} else if _, cerr := call(ctx, map[string]any{"id": "a-1", "profile": map[string]any{"displayName": "A"}}); !isRPC(cerr, -32601) {
		err = fmt.Errorf("the call is not refused as an unknown method: %v", cerr)
	}
	return errors.Join(err, src.Close())
}

func isRPC(err error, code int64) bool {
	var rpc *mcpclient.RPCError
	return errors.As(err, &rpc) && rpc.Code == code
}

// echoSchema sends the schema of one tool to another.
func echoSchema(ctx context.Context, srv *mcpclient.Server, _ json.RawMessage) error {
	listing, err := srv.List(ctx)
	if err != nil {
		return err
	}
	for _, t := range listing.Tools {
		if t.Name == "json_schema_2020_12_tool" {
			return expect(ctx, srv, "json_schema_echo", map[string]any{"schema": t.InputSchema}, "echoed")
		}
	}
	return errors.New("json_schema_2020_12_tool is not listed")
}

// expect calls a tool, which answers with one text.
func expect(ctx context.Context, srv *mcpclient.Server, tool string, args map[string]any, text string) error {
	res, err := srv.Call(ctx, tool, args, mcpclient.CallOptions{})
	if err != nil {
		return err
	}
	if res.Text() != text {
		return fmt.Errorf("%s gave %q, want %q", tool, res.Text(), text)
	}
	return nil
}
