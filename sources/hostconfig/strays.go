package hostconfig

import (
	"slices"
	"strings"

	"github.com/toolsource/toolsource/internal/hostdoc"
)

// strayDepth is how deep servers are looked for where the format has none.
const strayDepth = 3

// strays reports servers that stand where the format has none, such as those of another program in the same
// file. read is the node whose servers were read, nil if none.
func (r *reader) strays(n, read *hostdoc.Node, path string, depth int) {
	if n == read || depth == strayDepth {
		return
	}
	for _, m := range n.Last() {
		at := m.Name
		if path != "" {
			at = path + "." + m.Name
		}
		switch {
		case m.Value == read || m.Name == "projects" && r.dialect.Name == "claude-code":
		case holdsServers(m.Name) && looksServers(m.Value):
			r.note(Note{Field: at, Action: Ignored, Line: m.Line, Reason: "holds servers that are not read: " + r.dialect.Program + " has none there", Remedy: "move them to " + r.dialect.place() + ", or name the format that has them there"})
		default:
			r.strays(m.Value, read, at, depth+1)
		}
	}
}

// place is where a format keeps its servers.
func (d *dialect) place() string {
	if len(d.roots[0]) == 0 {
		return "the outermost map"
	}
	return quoted(strings.Join(d.roots[0], "."))
}

// holdsServers says whether a key is one that a program keeps servers below.
func holdsServers(key string) bool {
	word := plainWord(key)
	return strings.HasSuffix(word, "mcpservers") || slices.Contains([]string{"servers", "contextservers", "mcp", "extensions"}, word)
}

// looksServers says whether a map or a list holds what looks like a server.
func looksServers(n *hostdoc.Node) bool {
	return slices.ContainsFunc(n.Members, func(m hostdoc.Member) bool { return isServer(m.Value) }) || slices.ContainsFunc(n.Items, isServer)
}

func isServer(n *hostdoc.Node) bool {
	return slices.ContainsFunc([]string{"command", "cmd", "url", "serverUrl", "httpUrl", "uri"}, func(key string) bool { return n.Get(key) != nil })
}
