package configsource

import (
	_ "embed"
	"fmt"
	"os"
)

//go:embed defaults.toml
var defaultsTOML []byte

// Defaults gives the tools that ship with the library: read, find, write and edit files of the workspace,
// and of nothing else. They are declared in a TOML file of this package like any others. The source is
// named "default" unless opts say otherwise; opts.Workspace is not used. It fails if the workspace is not
// a folder that can be opened. Close gives it back.
func Defaults(workspace string, opts *Options) (*Source, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.Name == "" {
		o.Name = "default"
	}
	o.Workspace = workspace
	if st, err := os.Stat(workspace); err != nil {
		return nil, fmt.Errorf("configsource: workspace: %w", err)
	} else if !st.IsDir() {
		return nil, fmt.Errorf("configsource: workspace %s is not a folder", workspace)
	}
	defs, err := DefaultDefinitions()
	if err != nil {
		return nil, err
	}
	s := New(defs, &o)
	if _, err := s.space.open(); err != nil {
		return nil, fmt.Errorf("configsource: %w", err)
	}
	return s, nil
}

// DefaultDefinitions are the definitions behind Defaults, for a host that wants some of them, or others
// like them.
func DefaultDefinitions() ([]Definition, error) {
	defs, problems, err := Parse("", defaultsTOML)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, problems[0]
	}
	return defs, nil
}
