package sources

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/tomldoc"
	"github.com/toolsource/toolsource/sources/configsource"
	"github.com/toolsource/toolsource/sources/toolschema"
	"github.com/toolsource/toolsource/sources/virtualsource"
)

// Load reads a file and starts nothing. The error is a *Problem for a file that is missing, a folder, too
// large, not UTF-8 or not TOML; everything else is in Config.Problems. An empty file is a warning, and the
// shipped defaults are there.
func Load(path string, o *Options) (*Config, error) {
	doc, err := tomldoc.Read(path)
	if err != nil {
		return nil, err
	}
	c := &Config{File: path, Profiles: map[string]Profile{}, given: o, clean: map[*Problem]bool{}}
	if o != nil {
		c.opts = *o
	}
	if c.opts.LookupEnv == nil {
		c.opts.LookupEnv = os.LookupEnv
	}
	if err := c.place(); err != nil {
		return nil, (&Problem{File: path, Message: "its folder has no absolute path", Severity: SeverityError}).Because(err)
	}
	if doc.Empty {
		c.report(&Problem{File: path, Message: "is empty; only the shipped defaults are there", Severity: SeverityWarning})
	}
	vars := variables{lookup: c.opts.LookupEnv, names: map[string]string{}}
	c.opts.LookupEnv = vars.find
	c.read(doc.Root())
	c.dryRun()
	c.opts.LookupEnv = vars.lookup
	vars.hide(slices.DeleteFunc(slices.Clone(c.Problems), func(p *Problem) bool { return c.clean[p] }))
	c.clean = nil
	return c, nil
}

// place finds the workspace.
func (c *Config) place() error {
	dir := c.opts.Workspace
	if dir == "" {
		dir = filepath.Dir(c.File)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	c.Workspace = abs
	st, err := os.Stat(abs)
	switch {
	case err != nil:
		c.report((&Problem{File: c.File, Message: fmt.Sprintf("the workspace %s cannot be used", abs), Hint: "set Options.Workspace to a folder", Severity: SeverityError}).Because(err))
	case !st.IsDir():
		c.report(&Problem{File: c.File, Message: fmt.Sprintf("the workspace %s is not a folder", abs), Hint: "set Options.Workspace to a folder", Severity: SeverityError})
	}
	return nil
}

func (c *Config) report(p *Problem) { c.Problems = append(c.Problems, p) }

func (c *Config) read(root *tomldoc.Reader) {
	c.tools = configsource.Tables(root)
	c.virtual = virtualsource.Tables(root)
	c.readServers(root)
	c.readMCP(root)
	c.tellApart()
	c.readProfiles(root)
	root.Finish()
	c.Problems = append(c.Problems, root.Problems()...)
}

// tellApart lets servers know of others whose ids come to the same word in the names of their tools.
func (c *Config) tellApart() {
	alike := map[string][]string{}
	word := func(id string) string { return toolschema.Qualified(id, []string{"x"})[0] }
	for _, s := range c.Servers {
		w := word(s.Config.ID)
		alike[w] = append(alike[w], s.Config.ID)
	}
	for i := range c.Servers {
		s := &c.Servers[i]
		for _, id := range alike[word(s.Config.ID)] {
			if id != s.Config.ID {
				s.Source.Others = append(s.Source.Others, id)
			}
		}
	}
}

// dryRun makes the sources of declared tools once, for what only they can find wrong.
func (c *Config) dryRun() {
	for _, p := range c.declared() {
		src := p.make()
		for _, err := range src.(interface{ Problems() []error }).Problems() {
			if p, ok := err.(*Problem); ok {
				c.report(p)
			}
		}
		_ = toolsource.CloseSource(src)
	}
}

// named reads the tables below a key, each as an entry of its own, in the order of the file.
func named(root *tomldoc.Reader, key string, entry func(name string, e *tomldoc.Reader)) {
	t := root.Table(key)
	if t == nil {
		return
	}
	for _, name := range t.Names() {
		sub := t.TableOf(t.Get(name))
		if sub == nil {
			continue
		}
		e := sub.Entry()
		entry(name, e)
		root.Adopt(e)
	}
}

// either reads a value that goes by several names; giving more than one is an error.
func either(r *tomldoc.Reader, names ...string) string {
	found := ""
	for _, n := range names {
		switch {
		case !r.Has(n):
		case found != "":
			r.Fail(n, "remove one of them", "means the same as %s", found)
		default:
			found = n
		}
	}
	if found == "" {
		return names[0]
	}
	return found
}

// words lists words for a hint.
func words(list []string) string { return strings.Join(slices.Sorted(slices.Values(list)), ", ") }
