package wire

import (
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// era2026 is the first revision without sessions: each request says in its _meta and in its headers what
// was agreed on once before.
const era2026 = "2026-07-28"

const (
	metaRevision = "io.modelcontextprotocol/protocolVersion"

	headerMethod = "Mcp-Method"
	headerName   = "Mcp-Name"
)

// mirror is what the headers of a request repeat of its body. Zero: the revision knows no such headers.
type mirror struct {
	revision string
	method   string
	name     string // encoded; "": none
	params   *HeaderParams
	args     []byte // that params look into
}

// mirror reads a request before its arguments are put in. Its revision is the one that it says itself, so
// that the two cannot differ; a notification says none and has the one that was agreed on.
func (c *httpConn) mirror(req *jsonrpc.Request, slot *Slot) mirror {
	agreed := c.agreed()
	if agreed != "" && agreed < era2026 {
		return mirror{}
	}
	env, err := scanParams(req.Params)
	if err != nil {
		env = envelope{} // the SDK's own text: it does not happen
	}
	m := mirror{method: req.Method}
	if m.revision, _ = stringOf(spanOr(env.revision, req.Params)); m.revision == "" && !req.IsCall() {
		m.revision = agreed
	}
	if m.revision < era2026 {
		return mirror{}
	}
	switch req.Method {
	case methodCallTool, "prompts/get":
		name, _ := stringOf(spanOr(env.name, req.Params))
		m.name = headerText(name)
	case "resources/read":
		uri, _ := stringOf(spanOr(env.uri, req.Params))
		m.name = headerText(uri)
	}
	if slot != nil && req.Method == methodCallTool {
		m.params, m.args = slot.HeaderParams, slot.Args
		if m.args == nil {
			m.args = spanOr(env.arguments, req.Params)
		}
	}
	return m
}

func (m *mirror) set(h http.Header) {
	if m.revision == "" {
		return
	}
	h[headerVersion] = []string{m.revision}
	h[headerMethod] = []string{m.method}
	if m.name != "" {
		h[headerName] = []string{m.name}
	}
	m.params.set(h, m.args)
}

// agreed is the revision of the session; "": not known yet.
func (b *httpBase) agreed() string {
	b.smu.Lock()
	defer b.smu.Unlock()
	return b.version
}
