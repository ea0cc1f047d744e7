package hostconfig

import (
	"github.com/toolsource/toolsource/internal/hostdoc"
)

// geminiLists are the lists of servers that Gemini CLI starts, or does not, in its newer and its older form.
var geminiLists = []struct {
	keys []string
	off  bool // these are not started; else only these are
}{
	{[]string{"mcp", "allowed"}, false}, {[]string{"mcp", "excluded"}, true},
	{[]string{"allowMCPServers"}, false}, {[]string{"excludeMCPServers"}, true},
}

func geminiServers(r *reader, root, _ *hostdoc.Node) {
	for _, l := range geminiLists {
		_, list, field := at(root, l.keys)
		r.switchOff(list, field, l.off)
	}
}

// switchOff disables the servers that a list beside them names or, if off is false, all that it does not. A
// list that cannot be read disables all of them, since it would have left fewer.
func (r *reader) switchOff(list *hostdoc.Node, field string, off bool) {
	if list == nil || list.Kind == hostdoc.Null {
		return
	}
	if list.Kind != hostdoc.List {
		r.note(Note{Field: field, Action: Refused, Line: list.Line, Reason: "want a list of names of servers, not " + a(list.Kind) + "; every server is switched off", Remedy: "write a list"})
		for i := range r.entries {
			r.entries[i].Enabled = false
		}
		return
	}
	lines := make(map[string]int, len(list.Items))
	for i, n := range list.Items {
		if n.Kind != hostdoc.String {
			r.note(Note{Field: field + "[" + itoa(i) + "]", Action: Ignored, Line: n.Line, Reason: "want the name of a server, not " + a(n.Kind)})
			continue
		}
		lines[n.Text] = n.Line
	}
	for i := range r.entries {
		e := &r.entries[i]
		line, listed := lines[e.ID]
		if listed != off || !e.Enabled {
			continue
		}
		reason := "names this server, which is switched off"
		if !listed {
			line, reason = list.Line, "does not name this server, which is switched off"
		}
		e.Enabled = false
		r.note(Note{Server: e.ID, Field: field, Action: Rewritten, Line: line, Reason: reason})
	}
}
