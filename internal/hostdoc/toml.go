package hostdoc

import (
	"errors"

	"github.com/toolsource/toolsource/internal/tomldoc"
)

// toml reads TOML. A repeated key is an error there.
func (d *reading) toml(text string) *tomldoc.Problem {
	t, err := tomldoc.Parse(d.file, []byte(text))
	if err != nil {
		var p *tomldoc.Problem
		if errors.As(err, &p) {
			return p
		}
		return d.fail(0, 0, "", "is not TOML")
	}
	if t.Empty {
		d.doc.Empty = true
		return nil
	}
	left := MaxValues
	if d.doc.Root = tomlNode(t.Value(), &left); left < 0 {
		return d.fail(0, 0, "", "%s", tooMany())
	}
	return nil
}

func tomlNode(v *tomldoc.Value, left *int) *Node {
	n := &Node{Line: v.At.Line, Col: v.At.Col, Path: v.Key}
	if *left--; *left < 0 {
		return n
	}
	switch x := v.Data.(type) {
	case *tomldoc.Table:
		n.Kind = Map
		for _, name := range x.Names {
			m := x.Get(name)
			n.Members = append(n.Members, Member{Name: name, Line: m.Line, Col: m.Col, Value: tomlNode(m, left)})
		}
	case []*tomldoc.Value:
		n.Kind = List
		for _, e := range x {
			n.Items = append(n.Items, tomlNode(e, left))
		}
	case string:
		n.Kind, n.Text = String, x
	case bool:
		n.Kind, n.Text = Bool, v.Text
	case int64, float64:
		n.Kind, n.Text = Number, v.Text
	default:
		n.Kind, n.Text = String, v.Text
	}
	return n
}
