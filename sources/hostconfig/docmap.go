package hostconfig

import (
	"strconv"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/hostdoc"
)

// docMap is a map of a file, with its members found by name.
type docMap struct {
	node  *hostdoc.Node
	index map[string]int // of the last member of a name
}

func mapOf(n *hostdoc.Node) *docMap {
	m := &docMap{node: n, index: make(map[string]int, len(n.Members))}
	for i, mem := range n.Members {
		m.index[mem.Name] = i
	}
	return m
}

// get is the value of a key, the last if it is there twice; nil if it is not there.
func (m *docMap) get(name string) *hostdoc.Node {
	if m == nil {
		return nil
	}
	if i, ok := m.index[name]; ok {
		return m.node.Members[i].Value
	}
	return nil
}

// last are the members that count: of those with one name the last.
func (m *docMap) last() []hostdoc.Member {
	if len(m.index) == len(m.node.Members) {
		return m.node.Members
	}
	out := make([]hostdoc.Member, 0, len(m.index))
	for i, mem := range m.node.Members {
		if m.index[mem.Name] == i {
			out = append(out, mem)
		}
	}
	return out
}

// repeated are the members that do not count, each with the line of the one that does.
func (m *docMap) repeated(tell func(lost hostdoc.Member, wins int)) {
	if len(m.index) == len(m.node.Members) {
		return
	}
	for i, mem := range m.node.Members {
		if j := m.index[mem.Name]; j != i {
			tell(mem, m.node.Members[j].Line)
		}
	}
}

// textOf is the value of a string, else "".
func textOf(n *hostdoc.Node) string {
	if n != nil && n.Kind == hostdoc.String {
		return n.Text
	}
	return ""
}

// a is a kind with its article.
func a(k hostdoc.Kind) string {
	if k == hostdoc.Null {
		return "null"
	}
	return "a " + string(k)
}

func itoa(n int) string { return strconv.Itoa(n) }

func quoted(s string) string { return strconv.Quote(s) }

func secret(s string) toolsource.Secret { return toolsource.Secret(s) }
