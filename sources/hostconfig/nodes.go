package hostconfig

import (
	"strconv"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/hostdoc"
)

// repeated finds the members of a map that do not count, since their key is there again, each with the line
// of the one that does.
func repeated(n *hostdoc.Node, tell func(lost hostdoc.Member, wins int)) {
	last := make(map[string]int, len(n.Members))
	for i, m := range n.Members {
		last[m.Name] = i
	}
	if len(last) == len(n.Members) {
		return
	}
	for i, m := range n.Members {
		if j := last[m.Name]; j != i {
			tell(m, n.Members[j].Line)
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
