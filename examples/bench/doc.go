// Package bench measures what a tool call, a listing and an idle session weigh, beside the raw MCP SDK and
// beside mark3labs/mcp-go: all three in one run, in turns, against a server that costs next to nothing.
//
// It is a module of its own, so that what it compares with stays out of the library's go.mod. It has tests
// only; README.md says how to run them.
package bench
