package mcpsource

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/sources/toolschema"
)

// OutputCheck says what becomes of a result that does not fit its tool's output schema.
type OutputCheck int

// The checks. An answer that says that the tool failed is never checked (MCP 2025-11-25, tools).
const (
	OutputLenient   OutputCheck = iota // it is given as it is; Status names the first of each tool since the last listing
	OutputStrict                       // the call fails with an error of the kind protocol; it has run
	OutputUnchecked                    // nobody looks
)

// checked wraps a callable so that its results are held against the output schema.
func (s *Source) checked(call toolsource.Callable, spec toolsource.ToolSpec, strict bool) toolsource.Callable {
	schema := sync.OnceValue(func() *output { return newOutput(spec.OutputSchema) })
	return func(ctx context.Context, args map[string]any) (toolsource.Result, error) {
		res, err := call(ctx, args)
		if err != nil {
			return res, err
		}
		misfit := schema().fits(res.Value)
		switch {
		case misfit == nil:
		case strict:
			return toolsource.Result{}, &toolsource.CallError{
				Tool: spec.Name, Source: s.name, Phase: "result", Kind: toolsource.KindProtocol, MayHaveRun: true, Err: misfit,
				Remedy: "tell the server's author, or have its results checked leniently",
			}
		default:
			s.noteMisfit(spec.Origin.WireName, misfit)
		}
		return res, nil
	}
}

func (s *Source) noteMisfit(wire string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.misfits == nil {
		s.misfits = map[string]error{}
	}
	if s.misfits[wire] == nil {
		s.misfits[wire] = &mcpclient.ToolProblem{Server: s.server.ID(), Tool: wire, Reason: err.Error()}
	}
}

// output is an output schema.
type output struct {
	binder   *toolschema.Binder
	envelope bool // it may be {"result": x}, of which programs see x
}

func newOutput(schema json.RawMessage) *output {
	members, _ := toolschema.Args(schema)
	return &output{
		binder:   toolschema.NewBinder(schema),
		envelope: slices.ContainsFunc(members, func(a toolsource.ArgSpec) bool { return a.Name == "result" }),
	}
}

// fits holds a value against the schema. The error is none of arguments: a call that has run must not look
// like one that was refused.
func (o *output) fits(v any) error {
	m, structured := v.(map[string]any)
	err := errors.New("its output schema promises structured content, and the result has none")
	if structured {
		if _, err = o.binder.Bind(m); err != nil {
			reason := strings.TrimPrefix(err.Error(), toolsource.ErrBadArguments.Error()+": ")
			err = errors.New("the result does not fit its output schema: " + reason)
		}
	}
	if err != nil && o.envelope {
		if _, wrapped := o.binder.Bind(map[string]any{"result": v}); wrapped == nil {
			return nil
		}
	}
	return err
}
