package hostconfig

import "github.com/toolsource/toolsource"

// variables is how the values of an entry are to be read.
type variables struct{}

// Resolve gives the entry with its variables expanded.
func (e Entry) Resolve(opts *Options) (Entry, []toolsource.Secret, error) { panic("being written") }

// Parse reads a file.
func Parse(name string, data []byte, opts *Options) (*File, error) { panic("being written") }

// Read reads a file.
func Read(path string, opts *Options) (*File, error) { panic("being written") }

// Format is a format that is known.
type Format struct {
	Name    string   // for Options.Format
	Program string   // whose files they are
	Paths   []string // where they usually are
	Source  string   // page that documents it
}

// Formats lists the formats.
func Formats() []Format { panic("being written") }

// Merge joins files.
func Merge(files []*File) ([]Entry, []Note) { panic("being written") }

// WriteTOML writes entries in this module's own format.
func WriteTOML(entries []Entry) ([]byte, []Note) { panic("being written") }
