package hostconfig

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/toolsource/toolsource/internal/hostdoc"
	"github.com/toolsource/toolsource/internal/tomldoc"
)

// Parse reads the text of a file; name is its path, for messages and for finding out the format. The error
// is a *Problem, for a file that is not of its syntax, too large or no text, for a format that is not known,
// and for a named format that the file has no servers of. An empty file, and one without servers, is a note.
func Parse(name string, data []byte, opts *Options) (*File, error) {
	r := &reader{file: &File{Name: name, Sum: fmt.Sprintf("%x", sha256.Sum256(data))}}
	if opts != nil {
		r.opts = *opts
	}
	var d *dialect
	if f := r.opts.Format; f != "" {
		if d = named(f); d == nil {
			return nil, &Problem{File: name, Message: "unknown format", Hint: "want " + formatNames(), Severity: tomldoc.SeverityError}
		}
	}
	doc, err := r.document(d, data)
	if err != nil {
		return nil, err
	}
	if d == nil {
		d = detect(name, doc)
	}
	r.file.Format = d.Name
	if err := r.all(d, doc); err != nil {
		return nil, err
	}
	r.warnings(doc)
	r.file.Entries = r.entries
	return r.file, nil
}

// Read reads a file. A file that is missing, a folder or too large is a *Problem, as with Parse.
func Read(path string, opts *Options) (*File, error) {
	problem := func(err error, msg, hint string) error {
		return (&Problem{File: path, Message: msg, Hint: hint, Severity: tomldoc.SeverityError}).Because(err)
	}
	st, err := os.Stat(path) // before it is opened: that of a pipe waits for a writer
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, problem(err, "no such file", "check the path")
	case err != nil:
		return nil, problem(err, "cannot be read: "+cause(err), "")
	case st.IsDir():
		return nil, problem(nil, "is a folder, not a file", "name the file in it")
	case !st.Mode().IsRegular():
		return nil, problem(nil, "is not a regular file", "name a file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, problem(err, "cannot be read: "+cause(err), "")
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, hostdoc.MaxFile+1))
	if err != nil {
		return nil, problem(err, "cannot be read: "+cause(err), "")
	}
	return Parse(path, data, opts)
}

// cause is an error without the path that is named already.
func cause(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// reader is a file while it is read.
type reader struct {
	opts    Options
	file    *File
	dialect *dialect
	entries []Entry
	near    map[string]string // guesses for unknown keys
	told    map[int]bool      // lines of repeated keys that were reported
}

func (r *reader) note(n Note) {
	n.File = r.file.Name
	r.file.Report = append(r.file.Report, n)
}

// repeated reports keys that are there twice, each place once.
func (r *reader) repeated(n *hostdoc.Node, tell func(lost hostdoc.Member, wins int)) {
	repeated(n, func(lost hostdoc.Member, wins int) {
		if r.told == nil {
			r.told = map[int]bool{}
		}
		r.told[lost.Line], r.told[wins] = true, true
		tell(lost, wins)
	})
}

// warnings takes over what the reader of the syntax found odd.
func (r *reader) warnings(doc *hostdoc.Doc) {
	for _, p := range doc.Notes {
		if p.Key != "" && r.told[p.Line] {
			continue
		}
		action := Ignored
		if p.Key == "" || doc.Taken[p] {
			action = Taken
		}
		r.note(Note{Field: p.Key, Action: action, Reason: p.Message, Remedy: p.Hint, Line: p.Line})
	}
}

// document reads the syntax: that of the name, else that of the content.
func (r *reader) document(d *dialect, data []byte) (*hostdoc.Doc, error) {
	var first error
	var text *hostdoc.Doc
	for _, syntax := range syntaxes(d, r.file.Name, data) {
		doc, err := hostdoc.Parse(r.file.Name, syntax, data)
		switch {
		case err == nil && (doc.Root.Kind != hostdoc.String || text != nil):
			return doc, nil
		case err == nil:
			text = doc // nearly any text is a text of YAML
		case first == nil || syntax == hostdoc.JSON && bytes.HasPrefix(data, []byte(`"`)): // it says it best
			first = err
		}
	}
	if text != nil {
		return text, nil
	}
	return nil, first
}

// all reads the servers of a file and what stands beside them.
func (r *reader) all(d *dialect, doc *hostdoc.Doc) error {
	root := doc.Root
	if root.Kind == hostdoc.Null {
		r.note(Note{Action: Ignored, Reason: "is empty; there are no servers"})
		return nil
	}
	r.dialect = d
	above, servers, field := find(root, d)
	projects := d.Name == "claude-code" && root.Get("projects") != nil
	switch {
	case servers == nil && projects:
	case servers == nil && d.isOne(root):
		if e, ok := r.read(d, stem(r.file.Name), root.Line, root); ok {
			r.entries = append(r.entries, e)
		}
	case servers == nil && len(root.Members) == 0 && root.Kind == hostdoc.Map:
		r.note(Note{Action: Ignored, Reason: "is empty; there are no servers"})
	case servers == nil:
		return r.without(d, root)
	case servers.Kind == hostdoc.Null:
		r.note(Note{Field: field, Action: Ignored, Reason: "is null; there are no servers", Line: servers.Line})
	case servers.Kind == hostdoc.List && d.list != nil:
		d.list(r, servers)
	case servers.Kind != hostdoc.Map:
		r.note(Note{Field: field, Action: Refused, Reason: "want a map of servers, not " + a(servers.Kind), Line: servers.Line})
	default:
		r.servers(servers)
	}
	if d.file != nil {
		d.file(r, root, above)
	}
	r.shareInputs()
	r.strays(root, servers, "", 0)
	return nil
}

// isOne says whether a file is one server.
func (d *dialect) isOne(root *hostdoc.Node) bool {
	return d.single && (root.Get("command") != nil || root.Get("url") != nil)
}

// shareInputs tells the entries what may be asked for.
func (r *reader) shareInputs() {
	if len(r.file.Inputs) == 0 {
		return
	}
	inputs := make(map[string]Input, len(r.file.Inputs))
	for _, in := range r.file.Inputs {
		inputs[in.ID] = in
	}
	for _, e := range r.entries {
		e.vars.inputs = inputs
	}
}

// without reports a file that has no servers of its format.
func (r *reader) without(d *dialect, root *hostdoc.Node) error {
	want := make([]string, 0, len(d.roots))
	for _, keys := range d.roots {
		if len(keys) > 0 {
			want = append(want, quoted(strings.Join(keys, ".")))
		}
	}
	reason, hint := "has no map of servers", "want "+strings.Join(want, " or ")
	if root.Kind != hostdoc.Map {
		reason = "holds " + a(root.Kind) + " where a map is wanted"
	} else if near := nearRoot(root); near != "" {
		hint = near + "; " + hint
	} else if isServer(root) {
		hint = `it is one server by itself: write { "mcpServers": { "NAME": ... } } around it`
	}
	if r.opts.Format != "" {
		return &Problem{File: r.file.Name, Line: root.Line, Message: reason, Hint: hint, Severity: tomldoc.SeverityError}
	}
	r.note(Note{Action: Ignored, Reason: reason, Remedy: hint, Line: root.Line})
	r.strays(root, nil, "", 0)
	return nil
}

// nearRoot names the key that may be meant to hold the servers.
func nearRoot(root *hostdoc.Node) string {
	var known []string
	for _, d := range dialects {
		for _, keys := range d.roots {
			if len(keys) == 1 {
				known = append(known, keys[0])
			}
		}
	}
	for i, m := range root.Members {
		if i == 100 {
			break
		}
		if near := tomldoc.Nearest(m.Name, known); near != "" && near != m.Name && m.Value.Kind == hostdoc.Map {
			return fmt.Sprintf("did you mean %q on line %d to be %q?", m.Name, m.Line, near)
		}
	}
	return ""
}

// servers reads a map of servers.
func (r *reader) servers(n *hostdoc.Node) {
	r.repeated(n, func(lost hostdoc.Member, wins int) {
		r.note(Note{Server: lost.Name, Action: Ignored, Line: lost.Line, Reason: "is declared again on line " + itoa(wins) + ", which counts", Remedy: "rename or remove one of them"})
	})
	for _, m := range n.Last() {
		if r.dialect.other != nil && r.dialect.other(m) {
			continue
		}
		if e, ok := r.read(r.dialect, m.Name, m.Line, m.Value); ok {
			r.entries = append(r.entries, e)
		}
	}
}

// find is the node that holds the servers of a dialect, the map that it stands in, and its path.
func find(root *hostdoc.Node, d *dialect) (above, servers *hostdoc.Node, field string) {
	for _, keys := range d.roots {
		if above, servers, field := at(root, keys); servers != nil {
			return above, servers, field
		}
	}
	return root, nil, ""
}

// at is the node at a path of keys, nil if there is none, with the node above it and its path.
func at(root *hostdoc.Node, keys []string) (above, n *hostdoc.Node, field string) {
	above, n = root, root
	for _, key := range keys {
		above, n = n, n.Get(key)
	}
	return above, n, strings.Join(keys, ".")
}
