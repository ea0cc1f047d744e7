package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type sum struct {
	A int64 `json:"a" jsonschema:"first number"`
	B int64 `json:"b" jsonschema:"second number"`
}

type total struct {
	Result int64 `json:"result"`
}

// serve is the MCP server of the quickstart, on standard input and output.
func serve(ctx context.Context) error {
	no, yes := false, true
	s := mcp.NewServer(&mcp.Implementation{Name: "quickstart", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{
		Name: "add", Description: "Add two numbers",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no},
	}, func(_ context.Context, _ *mcp.CallToolRequest, in sum) (*mcp.CallToolResult, total, error) {
		return nil, total{in.A + in.B}, nil
	})
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
