//lint:file-ignore SA1019 servers still ask for these

package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource"
)

// addSurvey gives a server of the SDK a tool that asks for all there is, a resource and a prompt.
func addSurvey(srv *mcp.Server) {
	srv.AddTool(&mcp.Tool{Name: "survey", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.Params.InputResponses == nil {
			ask := mcp.InputRequestMap{
				"who":   &mcp.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","default":7}}}`)},
				"where": &mcp.ListRootsParams{},
				"what":  &mcp.CreateMessageParams{MaxTokens: 10, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "hi"}}}},
			}
			return &mcp.CallToolResult{InputRequests: ask, RequestState: "s"}, nil
		}
		out, err := json.Marshal(r.Params.InputResponses)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Params.RequestState}}, StructuredContent: json.RawMessage(out)}, err
	})
	srv.AddResource(&mcp.Resource{URI: "file:///a", Name: "a"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "file:///a", Text: "hello"}}}, nil
	})
	srv.AddPrompt(&mcp.Prompt{Name: "p"}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: fmt.Sprint(r.Params.Arguments)}}}}, nil
	})
}

// The SDK's own server understands what we answer, in both ways of asking.
func TestTheSDKsServerIsAnswered(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, era := range []string{Era20260728, Era20251125} {
		s, err := New(ServerConfig{ID: "sdk", Command: self, Env: map[string]toolsource.Secret{"TEST_SDK_SERVER": "survey", "GORACE": "atexit_sleep_ms=0"}, Era: era}, &Options{Handlers: &Handlers{
			Roots: func(context.Context, string) ([]Root, error) { return []Root{{URI: "file:///r"}}, nil },
			Elicit: func(context.Context, *ElicitRequest) (*ElicitResult, error) {
				return &ElicitResult{ElicitAccept, map[string]any{"name": "n"}}, nil
			},
			Sample: func(context.Context, *SampleRequest) (*SampleResult, error) {
				return &SampleResult{Content: []SampleBlock{SampleText("x")}, Model: "m"}, nil
			},
		}})
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.Call(t.Context(), "survey", nil, CallOptions{})
		if err != nil {
			t.Fatal(era, err)
		}
		want := map[string]any{
			"who":   map[string]any{"action": "accept", "content": map[string]any{"name": "n", "age": int64(7)}},
			"where": map[string]any{"roots": []any{map[string]any{"uri": "file:///r"}}},
			"what":  map[string]any{"role": "assistant", "model": "m", "stopReason": "endTurn", "content": map[string]any{"type": "text", "text": "x"}},
		}
		if diff := cmp.Diff(want, res.Value); diff != "" || s.Status().Era != era {
			t.Errorf("%s: %s", s.Status().Era, diff)
		}
		got, err := s.ReadResource(t.Context(), "file:///a", CallOptions{})
		if err != nil || got.Value != "hello" {
			t.Errorf("%s: %v, %v", era, got.Value, err)
		}
		p, err := s.GetPrompt(t.Context(), "p", map[string]string{"k": "v"}, CallOptions{})
		if err != nil || p.Messages[0].Content.Text != "map[k:v]" {
			t.Errorf("%s: %+v, %v", era, p, err)
		}
		_, err = s.ReadResource(t.Context(), "file:///none", CallOptions{})
		if toolsource.KindOf(err) != toolsource.KindBadArguments {
			t.Errorf("%s: %v", era, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
