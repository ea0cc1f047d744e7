// Package toolsource turns tools into ordinary synchronous Go functions, wherever they come from: a
// configuration file, MCP servers, or the host program.
//
// A [ToolSource] owns tools end to end: it names them and it runs them. A [Toolbox] merges sources by
// precedence into one flat set of names. A program asks the Toolbox for a name and gets a [Callable],
// which blocks until the tool is done and returns a [Result]. A call always returns: by the caller's
// deadline or the tool's time limit, whichever is earlier, whatever the peer does.
//
//	tb := toolsource.NewToolbox(nil)
//	defer tb.Close()
//	err := tb.Add(ctx, toolsource.Layer{Source: src, Precedence: toolsource.PrecedenceUser})
//	res, err := tb.Call(ctx, "read_file", map[string]any{"path": "go.mod"})
//
// The package imports the standard library and [github.com/toolsource/toolsource/grade] only; programs
// that import nothing else link no MCP SDK. It has no global state, starts nothing by itself, writes to
// no standard stream, handles no signal and never changes the working directory.
//
// # Sources
//
// The four methods of ToolSource are the minimum. What more a source can do it says by implementing one
// of the interfaces below. Each has a package function that looks for it on a source and then down the
// chain of Unwrap, and holds the fallback; use that function, never a type assertion.
// Package sources/sourcetest checks any source against this contract.
//
//	Watcher       it changes by itself      -- listed again after each change; without it, only on Refresh
//	UserSource    it has private tools      -- ForUser asks it for a user's source; without it, everybody shares
//	Gate          tools come and go         -- asked once per selection and again at each call; without it, always offered
//	StatusSource  it knows how it is        -- shown by Sources; without it, the Toolbox's own view
//	Bounded       its callables end         -- called on the caller's goroutine; without it, on one of their own
//	SelfLimited   they keep their limits    -- given no time limit around; without it, the ceiling
//	SelfGated     they ask their gate       -- not asked before a call; without it, asked
//	Claimer       it knows names early      -- owns them before its first listing; without it, none
//	io.Closer     it holds something        -- closed by Remove and Close within a bound; without it, dropped
//
// # Precedence
//
// The layer with the higher [Precedence] keeps a name, then the higher Order, then the later layer.
// Tools given to Register outrank every layer. Ownership depends on configuration and on each source's
// last good listing, never on who answered first; losers are kept and come back when the winner leaves.
//
// # Errors
//
// Errors are [*CallError], [*ToolError] and [*SourceError]; the Err values of this package are sentinels
// for errors.Is. [ModelMessage] renders any of them for a model.
//
// # Concurrency
//
// Everything exported is safe for concurrent use. Reads go through one immutable snapshot and take no lock.
package toolsource

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolsource/toolsource/grade"
)

// A ToolSource owns a set of tools: it names them and it runs them.
//
// All methods may be called at once from several goroutines. Package sources/sourcetest tells whether an
// implementation keeps this contract; the package comment lists what a source may add to it.
type ToolSource interface {
	// Name is stable and unique within a Toolbox.
	Name() string
	// Available reports whether the source can contribute tools now. It does no I/O and does not block.
	Available() bool
	// Discover lists every tool the source owns, in a stable order. The caller owns the slice; the specs
	// share memory and are read-only. It returns soon after ctx ends.
	Discover(ctx context.Context) ([]ToolSpec, error)
	// Resolve gives the callable for a spec that Discover returned. It does no I/O and does not block.
	Resolve(spec ToolSpec) (Callable, error)
}

// A Callable runs a tool and blocks until it is done. It is safe for concurrent use. The caller keeps
// args; the callable does not change it. A Callable that a Toolbox hands out returns by the earlier of
// ctx's deadline and the tool's time limit, and its error is a *CallError or a *ToolError.
type Callable func(ctx context.Context, args map[string]any) (Result, error)

// ToolSpec describes a tool. Specs handed out share memory and are read-only; Clone gives one of your own.
type ToolSpec struct {
	Name         string          // what programs call: an identifier of at most 64 bytes
	Title        string          // for people
	Description  string          // one or more lines, as the source wrote them
	Args         []ArgSpec       // in declared order, which is positional order
	Returns      string          // for reading: "str", "list[str]", "dict{a, b}", "Any"
	Grade        grade.Grade     // effective; the zero Grade counts as the most dangerous
	Examples     []Example       // how it is used
	Docs         string          // path or URL, never loaded here
	InputSchema  json.RawMessage // JSON Schema as the source gave it, byte for byte; nil: none
	OutputSchema json.RawMessage // likewise
	Limits       Limits          // time limits of its calls; zero fields: the Toolbox's
	Origin       Origin          // where it comes from
	Meta         map[string]any  // whatever else its source says
}

// ArgSpec describes one argument.
type ArgSpec struct {
	Name, Type, Description string // Type: str int float bool dict list Any
	Required                bool
	Default                 json.RawMessage   // nil: none
	Enum                    []json.RawMessage // nil: any value
}

// Example shows a use of a tool: what one wanted, and the code for it.
type Example struct {
	Intent string   `json:"intent"`
	Code   string   `json:"code"`
	Tags   []string `json:"tags,omitempty"`
}

// Origin says where a tool comes from and what was claimed about it there.
type Origin struct {
	Kind          string       // "config", "mcp", "virtual", "func" (Register), or a source's own word
	Source        string       // name of the source that owns the tool
	Server        string       // id of the MCP server; "" for other kinds
	WireName      string       // the name its owner knows it by; "": the spec's Name
	QualifiedName string       // "mcp__server__tool" for MCP tools, else ""
	File          string       // file that declares it or its server; "" if none does
	Line          int          // line in File, from 1; 0: unknown
	Trust         Trust        // of the source
	Hints         *grade.Hints // as claimed, nil: none
	Claimed       grade.Grade  // from Hints; Unknown where nothing was claimed
	Provisional   bool         // a higher layer that has not listed yet may still take the name
}

// Trust says how far a source's own claims about its tools are believed.
type Trust uint8

// TrustDefault is the zero value.
const (
	TrustDefault   Trust = iota // its hints grade its tools
	TrustFull                   // likewise, and an idempotent hint allows a replay
	TrustUntrusted              // its hints cannot lower a grade
)

// ParseTrust reads "full", "default" and "" as they say. Any other word is untrusted, and ok is false.
func ParseTrust(s string) (t Trust, ok bool) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "", "default":
		return TrustDefault, true
	case "full":
		return TrustFull, true
	case "untrusted":
		return TrustUntrusted, true
	}
	return TrustUntrusted, false
}

func (t Trust) String() string {
	switch t {
	case TrustDefault:
		return "default"
	case TrustFull:
		return "full"
	}
	return "untrusted"
}

// MarshalText writes String.
func (t Trust) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads as ParseTrust does; an unknown word is an error and leaves t untrusted.
func (t *Trust) UnmarshalText(b []byte) error {
	v, ok := ParseTrust(string(b))
	*t = v
	if !ok {
		return fmt.Errorf("toolsource: unknown trust %q, want full, default or untrusted", b)
	}
	return nil
}

// Tool is a spec and its callable from one snapshot. The callable stays bound to the source and the wire
// name it was resolved from: when that tool is gone it fails with ErrUnavailable and never runs another.
type Tool struct {
	Spec ToolSpec
	Call Callable
}

// wireName is the name by which the tool's owner knows it.
func (s *ToolSpec) wireName() string {
	if s.Origin.WireName != "" {
		return s.Origin.WireName
	}
	return s.Name
}

// Clone copies the spec and all that it points to, so that the copy may be changed.
func (s ToolSpec) Clone() ToolSpec {
	s.Args = slices.Clone(s.Args)
	for i, a := range s.Args {
		s.Args[i].Default = slices.Clone(a.Default)
		s.Args[i].Enum = slices.Clone(a.Enum)
		for j, e := range s.Args[i].Enum {
			s.Args[i].Enum[j] = slices.Clone(e)
		}
	}
	s.Examples = slices.Clone(s.Examples)
	for i, e := range s.Examples {
		s.Examples[i].Tags = slices.Clone(e.Tags)
	}
	s.InputSchema = slices.Clone(s.InputSchema)
	s.OutputSchema = slices.Clone(s.OutputSchema)
	if h := s.Origin.Hints; h != nil {
		s.Origin.Hints = &grade.Hints{
			ReadOnly: clonePtr(h.ReadOnly), Destructive: clonePtr(h.Destructive),
			Idempotent: clonePtr(h.Idempotent), OpenWorld: clonePtr(h.OpenWorld),
		}
	}
	if s.Meta != nil {
		s.Meta = cloneValue(s.Meta).(map[string]any)
	}
	return s
}

func clonePtr[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// cloneValue copies the maps, slices and blobs of a value; other things are kept as they are.
func cloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := maps.Clone(v)
		for k, e := range m {
			m[k] = cloneValue(e)
		}
		return m
	case []any:
		s := slices.Clone(v)
		for i, e := range s {
			s[i] = cloneValue(e)
		}
		return s
	case Blob:
		v.Data = slices.Clone(v.Data)
		return v
	case json.RawMessage:
		return slices.Clone(v)
	}
	return v
}
