package hostdoc

import (
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/toolsource/toolsource/internal/tomldoc"
	"go.yaml.in/yaml/v3"
)

// yaml reads the first document of a YAML text. The reader bounds the nesting of what it reads, far above
// MaxDepth but far below what a stack holds.
func (d *reading) yaml(text string) *tomldoc.Problem {
	if strings.HasPrefix(text, "%YAML 1.") {
		text = "#" + text[1:] // the reader refuses 1.2
	}
	dec := yaml.NewDecoder(strings.NewReader(text))
	var root yaml.Node
	err := decodeYAML(dec, &root)
	if errors.Is(err, io.EOF) {
		d.doc.Empty = true
		return nil
	}
	if err != nil {
		return d.yamlFault(text, err)
	}
	var second yaml.Node
	if err := decodeYAML(dec, &second); !errors.Is(err, io.EOF) {
		d.note(0, 0, "", "remove what follows after the --- line", "holds several documents; the first counts")
	}
	b := &yamlBuilder{reading: d, lines: yamlLines(text), inside: map[*yaml.Node]bool{}}
	b.lastLine, b.lastCol = tomldoc.LineCol(text, len(text))
	top := &root
	if root.Kind == yaml.DocumentNode && len(root.Content) > 0 {
		top = root.Content[0]
	}
	if top.Kind == yaml.ScalarNode && top.Value == "" && top.Style == 0 {
		d.doc.Empty = true
		return nil
	}
	d.doc.Root = b.node(top, "", 0)
	return b.bad
}

// decodeYAML reads a document; a panic of the reader is an error.
func decodeYAML(dec *yaml.Decoder, n *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the YAML reader failed")
		}
	}()
	return dec.Decode(n)
}

type yamlBuilder struct {
	*reading
	lines             []yamlLine
	lastLine, lastCol int
	inside            map[*yaml.Node]bool // anchors that are being read
	aliases           int                 // how many aliases the builder is within
	values            int
	bad               *tomldoc.Problem
}

// fail keeps the first problem.
func (b *yamlBuilder) fail(n *yaml.Node, hint, message string) {
	if b.bad == nil {
		line, col := b.at(n)
		b.bad = b.reading.fail(line, col, hint, "%s", message)
	}
}

func (b *yamlBuilder) node(y *yaml.Node, path string, depth int) *Node {
	n := &Node{Path: path, Kind: Null}
	n.Line, n.Col = b.at(y)
	if b.count(y); b.bad != nil {
		return n
	}
	y, leave := b.enter(y)
	defer leave()
	switch y.Kind {
	case yaml.MappingNode, yaml.SequenceNode:
		if depth >= MaxDepth {
			b.fail(y, "", tooDeep())
			return n
		}
		if y.Kind == yaml.MappingNode {
			n.Kind, n.Members = Map, b.members(y, path, depth)
			return n
		}
		n.Kind = List
		for i, e := range y.Content {
			n.Items = append(n.Items, b.node(e, tomldoc.Index(path, i), depth+1))
		}
	case yaml.ScalarNode:
		n.Kind, n.Text = scalar(y)
	}
	return n
}

// count bounds the work: whatever an alias may repeat is counted each time.
func (b *yamlBuilder) count(y *yaml.Node) {
	if b.values++; b.values > MaxValues {
		b.fail(y, "", tooMany())
	}
}

// enter follows an alias. The caller calls leave when it has read what the alias stands for.
func (b *yamlBuilder) enter(y *yaml.Node) (_ *yaml.Node, leave func()) {
	alias, aliases := y, 0
	if y.Kind == yaml.AliasNode {
		y, aliases = y.Alias, 1
	}
	if y.Anchor == "" {
		return y, func() {}
	}
	if b.inside[y] {
		b.fail(alias, "", "an anchor holds an alias of itself")
		return &yaml.Node{}, func() {}
	}
	b.inside[y] = true
	b.aliases += aliases
	return y, func() {
		delete(b.inside, y)
		b.aliases -= aliases
	}
}

// warn notes something, but not again for what an alias repeats.
func (b *yamlBuilder) warn(line, col int, path, hint, message string) {
	if b.aliases == 0 {
		b.note(line, col, path, hint, "%s", message)
	}
}

// members are those of a map, with what its merge keys bring at the place of the merge key.
func (b *yamlBuilder) members(y *yaml.Node, path string, depth int) []Member {
	own := map[string]bool{}
	var out []Member
	for i := 0; i+1 < len(y.Content); i += 2 {
		if !isMerge(y.Content[i]) {
			if name, ok := b.key(y.Content[i]); ok {
				own[name] = true
			}
		}
	}
	plain := make([]Member, 0, len(y.Content)/2)
	for i := 0; i+1 < len(y.Content) && b.bad == nil; i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		if isMerge(k) {
			out = append(out, b.merged(v, path, depth, own)...)
			continue
		}
		name, ok := b.key(k)
		m := Member{Name: name}
		m.Line, m.Col = b.at(k)
		if !ok {
			b.count(k)
			b.warn(m.Line, m.Col, path, "write the key as text", "a key is a list or a map; it is left out")
			continue
		}
		m.Value = b.node(v, tomldoc.Join(path, name), depth+1)
		out = append(out, m)
		plain = append(plain, m)
	}
	if b.aliases == 0 {
		b.repeated(plain)
	}
	return out
}

// merged are the members that a merge key brings: those whose names are not taken. It takes them.
func (b *yamlBuilder) merged(v *yaml.Node, path string, depth int, taken map[string]bool) []Member {
	b.count(v)
	if depth >= MaxDepth {
		b.fail(v, "", tooDeep())
		return nil
	}
	from, leave := b.enter(v)
	defer leave()
	if b.bad != nil {
		return nil
	}
	var out []Member
	switch from.Kind {
	case yaml.SequenceNode:
		for _, e := range from.Content {
			out = append(out, b.merged(e, path, depth+1, taken)...)
		}
	case yaml.MappingNode:
		for _, m := range b.members(from, path, depth+1) {
			if !taken[m.Name] {
				out = append(out, m)
			}
		}
		for _, m := range out {
			taken[m.Name] = true
		}
	default:
		line, col := b.at(v)
		b.warn(line, col, path, "write << with an alias of a map, or a list of them", "a merge key has no map; it is left out")
	}
	return out
}

func isMerge(k *yaml.Node) bool {
	return k.Kind == yaml.ScalarNode && k.Value == "<<" && k.ShortTag() == "!!merge"
}

// key is the text of a key.
func (b *yamlBuilder) key(k *yaml.Node) (string, bool) {
	if k.Kind == yaml.AliasNode {
		k = k.Alias
	}
	return k.Value, k.Kind == yaml.ScalarNode
}

var yamlNumber = regexp.MustCompile(`^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)

// scalar is the kind and the text of a scalar, by the core schema of YAML 1.2.
func scalar(y *yaml.Node) (Kind, string) {
	if y.Style&^yaml.TaggedStyle != 0 {
		return String, y.Value
	}
	if y.Style&yaml.TaggedStyle != 0 {
		switch y.Tag {
		case "!!int", "!!float", "!!bool", "!!null":
		default:
			return String, y.Value
		}
	}
	switch y.Value {
	case "", "~", "null", "Null", "NULL":
		return Null, ""
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return Bool, y.Value
	}
	if yamlNumber.MatchString(y.Value) {
		return Number, y.Value
	}
	return String, y.Value
}

// yamlLine is where a line as YAML counts them begins in lines that only \n ends.
type yamlLine struct{ line, before int }

// yamlLines is nil where both count alike.
func yamlLines(text string) []yamlLine {
	if !strings.ContainsAny(text, "\r\u0085\u2028\u2029") {
		return nil
	}
	out := []yamlLine{{1, 0}}
	line, col := 1, 0
	for i, r := range text {
		col++
		if r == '\n' {
			line, col = line+1, 0
		}
		if yamlBreak(text, i, r) {
			out = append(out, yamlLine{line, col})
		}
	}
	return out
}

// yamlBreak reports whether r, which is text[i:], ends a line in YAML.
func yamlBreak(text string, i int, r rune) bool {
	switch r {
	case '\n', '\u0085', '\u2028', '\u2029':
		return true
	case '\r':
		return !strings.HasPrefix(text[i+1:], "\n")
	}
	return false
}

// at is the place of a node.
func (b *yamlBuilder) at(y *yaml.Node) (line, col int) {
	line, col = y.Line, y.Column
	if line <= len(b.lines) {
		l := b.lines[line-1]
		line, col = l.line, l.before+col
	}
	if line > b.lastLine { // the reader adds a line to a text that lacks its last line end
		return b.lastLine, b.lastCol
	}
	return line, col
}
