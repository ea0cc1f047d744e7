package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serve is the MCP server of the quickstart, on standard input and output.
func serve(ctx context.Context) error {
	no, yes := false, true
	s := mcp.NewServer(&mcp.Implementation{Name: "quickstart", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{
		Name: "add", Description: "Add two whole numbers",
		Annotations:  &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no},
		InputSchema:  json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"result":{"type":"integer"}},"required":["result"]}`),
	}, add)
	mcp.AddTool(s, &mcp.Tool{
		Name: "hang", Description: "Never answer",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes},
	}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	// The configuration's own read_file outranks this one, which the table therefore shows as shadowed.
	mcp.AddTool(s, &mcp.Tool{Name: "read_file", Description: "A read_file that loses"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "not this one"}}}, nil, nil
		})
	return s.Run(ctx, &mcp.StdioTransport{})
}

// add is exact: whole numbers do not become floating-point numbers on their way.
func add(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct{ A, B int64 }
	if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
		return nil, err
	}
	sum := fmt.Sprint(in.A + in.B)
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: sum}},
		StructuredContent: json.RawMessage(`{"result":` + sum + `}`),
	}, nil
}
