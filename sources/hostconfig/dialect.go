package hostconfig

import (
	"maps"
	"slices"
	"strings"

	"github.com/toolsource/toolsource/internal/hostdoc"
	"github.com/toolsource/toolsource/internal/hostvars"
)

// dialect is how one program writes servers down. Everything that differs between programs is here or in
// the functions that its keys name.
type dialect struct {
	Format
	aliases []string
	roots   [][]string        // where the servers stand, as paths of keys; the first that is there counts
	keys    keys              // what a server may say
	bare    string            // transport of an address without a type; "": the type is needed
	vars    hostvars.Notation // how variables are written; None: there are none
	expands fields            // where they are

	single   bool // a file may be one server, named after it
	localEnv bool // the variables of a server with an address are for its own values

	list   func(r *reader, n *hostdoc.Node)        // reads servers that stand in a list
	other  func(m hostdoc.Member) bool             // a member of the map that is no server
	shape  func(s *server) bool                    // looks at a server before its keys are read; false: no server of ours
	finish func(s *server)                         // looks at what was read
	file   func(r *reader, root, at *hostdoc.Node) // reads what stands beside the servers; at is the map that holds them
}

// keys are the keys that a program knows, each with the function that reads it; nil: it says nothing here.
type keys map[string]func(*server, val)

// plus adds keys to a copy.
func (k keys) plus(more ...keys) keys {
	out := maps.Clone(k)
	for _, m := range more {
		maps.Copy(out, m)
	}
	return out
}

// fields of an entry, as a set.
type fields uint8

const (
	inCommand fields = 1 << iota
	inArgs
	inEnv
	inURL
	inHeaders
	inPlaces // working directory and file of variables
	inAll    = inCommand | inArgs | inEnv | inURL | inHeaders | inPlaces
)

// common are the keys that nearly all programs share, since most took over the first one's file.
var common = keys{
	"command": readCommand, "args": readArgs, "env": readEnv,
	"url": address(""), "headers": readHeaders,
	"type": readType, "transport": readType, "transportType": readType,
	"name": readName, "description": quiet, "title": quiet, "displayName": quiet, "icon": quiet, "$schema": quiet,
}

// Reasons why something is left out.
const (
	noOAuth   = "signing in is not taken over"
	noSandbox = "the server runs without it"
	noUse     = "has no use here"
)

var (
	oauth   = ignored(noOAuth, "give the client an OAuth handler")
	sandbox = ignored(noSandbox, "trust the server, or sandbox the command itself")
	unused  = ignored(noUse, "")
)

// dialects in the order in which they are listed.
var dialects = slices.Concat(claudeFormats, editorFormats, extensionFormats, terminalFormats, yamlFormats, plainFormats)

// Format is a format that is known.
type Format struct {
	Name    string   // for Options.Format
	Program string   // whose files they are
	Paths   []string // where they usually are, for people
	Source  string   // address of the page or the code that the keys come from
}

// Formats lists the formats that Parse knows.
func Formats() []Format {
	out := make([]Format, len(dialects))
	for i, d := range dialects {
		out[i] = d.Format
		out[i].Paths = slices.Clone(d.Paths)
	}
	return out
}

// named is the dialect of a name or an alias; case and separators do not count.
func named(name string) *dialect {
	want := plainWord(name)
	for _, d := range dialects {
		if plainWord(d.Name) == want || slices.ContainsFunc(d.aliases, func(a string) bool { return plainWord(a) == want }) {
			return d
		}
	}
	return nil
}

func formatNames() string {
	var names []string
	for _, d := range dialects {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}

var wordJoiners = strings.NewReplacer("-", "", "_", "", " ", "", ".", "")

func plainWord(s string) string { return wordJoiners.Replace(strings.ToLower(s)) }

// Notations that several programs share.
const (
	none       hostvars.Notation = 0
	claudeVars                   = hostvars.Braces | hostvars.BracesDefault
	cursorVars                   = hostvars.BracesEnv | hostvars.BracesContext
	shellVars                    = hostvars.Dollar | hostvars.Braces | hostvars.BracesDefault
)
