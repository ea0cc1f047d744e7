package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolsource/toolsource/grade"
)

// Tool is one tool as its server lists it. Tools share memory and are read-only.
type Tool struct {
	Name         string // on the wire; never empty
	Title        string
	Description  string
	InputSchema  json.RawMessage // byte for byte; nil: none, or not an object
	OutputSchema json.RawMessage // likewise
	Hints        *grade.Hints    // nil: no annotations
	Meta         map[string]any  // every other member under its own name, _meta included
}

// Listing is what a server lists, in its order.
type Listing struct {
	Tools     []Tool
	Problems  []error // *ToolProblem each
	Truncated bool    // a cap on tools or pages cut it

	Resources, Prompts bool // the server declares that it has resources, prompts

	fresh time.Duration // how long the server says that it stays so; 0: it does not say
}

// ToolProblem is something wrong with one tool of a listing, or with the listing around it. It costs
// nothing beyond what it says.
type ToolProblem struct {
	Server  string
	Tool    string // "" where the tool has no name, or for the listing itself
	Index   int    // place in the listing, from 1; 0: the listing itself
	LeftOut bool   // the tool cannot be used; else what is wrong was put right
	Reason  string
	Remedy  string
}

// Error is one line: server, tool, what is wrong and what to do about it.
func (e *ToolProblem) Error() string {
	s := fmt.Sprintf("mcpclient: server %q: ", e.Server)
	switch {
	case e.Tool != "":
		s += fmt.Sprintf("tool %q", e.Tool)
	case e.Index > 0:
		s += fmt.Sprintf("tool number %d", e.Index)
	default:
		s += "listing"
	}
	if e.LeftOut {
		s += " left out"
	}
	s += ": " + e.Reason
	if e.Remedy != "" {
		s += " (" + e.Remedy + ")"
	}
	return s
}

const authorRemedy = "tell the server's author; its other tools work"

// pager asks for one page of a listing: the raw result of a tools/list.
type pager func(ctx context.Context, cursor string) (json.RawMessage, error)

// listReader puts a listing together from its pages.
type listReader struct {
	server   string
	maxTools int
	maxPages int

	listing Listing
	names   map[string]bool
	index   int // of the tool being read, from 1, over all pages
}

// readAll follows the pages to their end, to a cursor that comes again, or to a cap.
func (r *listReader) readAll(ctx context.Context, page pager) (Listing, error) {
	r.names = map[string]bool{}
	seen := map[string]bool{"": true}
	cursor := ""
	for n := 1; ; n++ {
		raw, err := page(ctx, cursor)
		if err != nil {
			return Listing{}, err
		}
		next, repeats, err := r.readPage(raw)
		if err != nil {
			return Listing{}, err
		}
		if seen[next] {
			if next != "" { // what came twice comes from the loop, and is no fault of the tools
				r.problem("", 0, false, fmt.Sprintf("cursor did not advance: %q came again after %d pages", clip(jsonText(next)), n), "tell the server's author")
				break
			}
			r.listing.Problems = append(r.listing.Problems, repeats...)
			break
		}
		r.listing.Problems = append(r.listing.Problems, repeats...)
		seen[next], cursor = true, next
		if len(r.listing.Tools) > r.maxTools || n == r.maxPages {
			r.listing.Truncated = true
			break
		}
	}
	if len(r.listing.Tools) > r.maxTools {
		r.listing.Tools = slices.Clip(r.listing.Tools[:r.maxTools])
		r.listing.Truncated = true
	}
	if r.listing.Truncated {
		r.problem("", 0, false, fmt.Sprintf("cut after %d tools: the limits are %d tools and %d pages", len(r.listing.Tools), r.maxTools, r.maxPages), "raise max_tools or max_pages")
	}
	return r.listing, nil
}

func (r *listReader) problem(tool string, index int, leftOut bool, reason, remedy string) {
	r.listing.Problems = append(r.listing.Problems, r.newProblem(tool, index, leftOut, reason, remedy))
}

func (r *listReader) newProblem(tool string, index int, leftOut bool, reason, remedy string) *ToolProblem {
	return &ToolProblem{Server: r.server, Tool: tool, Index: index, LeftOut: leftOut, Reason: reason, Remedy: remedy}
}

// readPage reads one raw result of tools/list: its tools, its next cursor ("": none), and the problems of
// tools that an earlier place has already.
func (r *listReader) readPage(raw json.RawMessage) (next string, repeats []error, err error) {
	t, err := parseJSON(raw)
	if err != nil {
		return "", nil, fmt.Errorf("server %q: the result of tools/list does not parse: %w", r.server, err)
	}
	if err := wantObject(t); err != nil {
		return "", nil, fmt.Errorf("server %q: the result of tools/list %w", r.server, err)
	}
	m := t.members(nil)
	tools := m.get("tools")
	switch {
	case !tools.present():
		r.problem("", 0, false, "tools is missing or null; taken as no tools", "tell the server's author")
	case tools.kind() != '[':
		return "", nil, fmt.Errorf("server %q: tools of tools/list is %s, want a list", r.server, clip(tools))
	}
	tools.elements(func(item jsonText) {
		r.index++
		t, ok := r.readTool(item)
		switch {
		case !ok:
		case r.names[t.Name]:
			repeats = append(repeats, r.newProblem(t.Name, r.index, true, "an earlier tool has the same name", authorRemedy))
		default:
			r.names[t.Name] = true
			r.listing.Tools = append(r.listing.Tools, t)
		}
	})
	if ms, err := strconv.ParseInt(string(m.get("ttlMs")), 10, 64); err == nil && ms > 0 && r.listing.fresh == 0 {
		r.listing.fresh = time.Duration(min(ms, relistLongest.Milliseconds())) * time.Millisecond
	}
	return r.readCursor(m.get("nextCursor")), repeats, nil
}

func (r *listReader) readCursor(t jsonText) string {
	if !t.present() {
		return ""
	}
	s, ok := t.str()
	if !ok {
		r.problem("", 0, false, "nextCursor is no string; taken as the end", "tell the server's author")
	}
	return s
}

// readTool reads one entry. Only an entry without a usable name is left out.
func (r *listReader) readTool(entry jsonText) (t Tool, ok bool) {
	if err := wantObject(entry); err != nil {
		r.problem("", r.index, true, "the entry "+err.Error(), authorRemedy)
		return t, false
	}
	var room [12]member
	m := entry.members(room[:0])
	var f fields
	t.Name = strings.Clone(f.need(m, "name")) // what is kept of a listing does not keep all of its text
	if f.err == nil && t.Name == "" {
		f.fail("has an empty name")
	}
	if f.err != nil {
		r.problem("", r.index, true, f.err.Error(), authorRemedy)
		return t, false
	}
	odd := func(reason string) { r.problem(t.Name, r.index, false, reason, authorRemedy) }
	text := func(key string) string {
		var f fields
		s := f.text(m, key)
		if f.err != nil {
			odd(key + " is no string; left empty")
		}
		return strings.Clone(s)
	}
	schema := func(key string) json.RawMessage {
		switch v := m.get(key); {
		case !v.present():
		case v.kind() != '{':
			odd(key + " is no object; taken as none")
		default:
			return json.RawMessage(v)
		}
		return nil
	}
	t.Title, t.Description = text("title"), text("description")
	t.InputSchema, t.OutputSchema = schema("inputSchema"), schema("outputSchema")
	var title string
	var rest map[string]any
	t.Hints, title, rest = readHints(m.get("annotations"), odd)
	if t.Title == "" {
		t.Title = strings.Clone(title)
	}
	t.Meta = otherMembers(m, rest)
	return t, true
}

// otherMembers keeps what is not read into a field of Tool.
func otherMembers(m members, annotations map[string]any) map[string]any {
	var meta map[string]any
	keep := func(name string, v any) {
		if meta == nil {
			meta = map[string]any{}
		}
		meta[name] = v
	}
	for _, e := range m {
		switch e.name {
		case "name", "title", "description", "inputSchema", "outputSchema", "annotations":
		default:
			keep(strings.Clone(e.name), jsonText(strings.Clone(string(e.value))).value())
		}
	}
	if len(annotations) > 0 {
		keep("annotations", annotations)
	}
	return meta
}

// readHints reads a tool's annotations: hints are true, false or absent, and a hint of the wrong type is
// absent and reported. rest holds the members that are no hint.
func readHints(t jsonText, odd func(string)) (h *grade.Hints, title string, rest map[string]any) {
	if !t.present() {
		return nil, "", nil
	}
	if t.kind() != '{' {
		odd("annotations is no object; taken as none")
		return nil, "", nil
	}
	var room [8]member
	m := t.members(room[:0])
	h = &grade.Hints{}
	hint := func(key string) *bool {
		switch m.get(key) {
		case "", "null":
			return nil
		case "true":
			return flag(true)
		case "false":
			return flag(false)
		}
		odd(key + " is no boolean; taken as absent")
		return nil
	}
	h.ReadOnly, h.Destructive = hint("readOnlyHint"), hint("destructiveHint")
	h.Idempotent, h.OpenWorld = hint("idempotentHint"), hint("openWorldHint")
	if h.ReadOnly != nil && *h.ReadOnly && h.Destructive != nil && *h.Destructive {
		odd("the hints say read-only and destructive at once; taken as destructive")
	}
	for _, e := range m {
		switch e.name {
		case "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint":
		case "title":
			var f fields
			if title = f.text(m, e.name); f.err != nil {
				odd("the title of annotations is no string; left empty")
			}
		default:
			if rest == nil {
				rest = map[string]any{}
			}
			rest[strings.Clone(e.name)] = jsonText(strings.Clone(string(e.value))).value()
		}
	}
	return h, title, rest
}

// isEnvelope reports whether structured content by this output schema is an object with the one member
// result, which is how servers wrap a value that is no object.
func isEnvelope(schema json.RawMessage) bool {
	if len(schema) == 0 || string(schema) == "null" {
		return true
	}
	t, err := parseJSON(schema)
	if err != nil || t.kind() != '{' {
		return false
	}
	props := t.members(nil).get("properties").members(nil)
	for _, p := range props {
		if p.name != "result" {
			return false
		}
	}
	return len(props) > 0
}

// equalListings reports whether two listings have the same tools, in order and to the byte.
func equalListings(a, b Listing) bool {
	return a.Resources == b.Resources && a.Prompts == b.Prompts && slices.EqualFunc(a.Tools, b.Tools, func(a, b Tool) bool {
		return a.Name == b.Name && a.Title == b.Title && a.Description == b.Description &&
			bytes.Equal(a.InputSchema, b.InputSchema) && bytes.Equal(a.OutputSchema, b.OutputSchema) &&
			sameJSON(a.Hints, b.Hints) && sameJSON(a.Meta, b.Meta)
	})
}

func flag(b bool) *bool { return &b }

func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
