// Package hostconfig reads the files in which other programs write down their MCP servers, each by that
// program's own rules, and gives neutral entries and a report.
//
//	f, err := hostconfig.Read(".vscode/mcp.json", nil)
//	for _, e := range f.Entries {
//		e, secrets, err := e.Resolve(&hostconfig.Options{Workspace: dir}) // variables, once
//	}
//
// [Parse] does no I/O and starts nothing. Its error is a [*Problem] for a file that cannot be read at all;
// everything else is a [Note] in the report, with its place, and costs a field or a server, never a
// neighbour. Entries hold values as the file wrote them: an entry is resolved on its own, so that a
// variable that is not set costs only its server. [Merge] joins the entries of several files, and
// [WriteTOML] writes entries in this module's own format.
//
// What holds for every format:
//   - A server's id is the key as it is written; ids that differ by case, spaces or separators are distinct.
//     A key that is there twice is reported with both lines, and the last one counts.
//   - A limit of time is read in the unit that the program documents. One that is 0, negative, text or
//     absurd is reported as refused and the default applies: that never costs the server.
//   - Numbers and booleans where text is wanted become their text and are reported; null counts as absent.
//     Any other wrong type costs the field, or the server where it cannot be reached without it, or where
//     the field narrows what may be called: a list of tools that cannot be read never means all of them.
//   - A server that is disabled is kept and marked. disabled and enabled mean so in every format; one that
//     cannot be read switches the server off. Its variables need not be set: do not resolve it. So is one
//     that a list beside the servers switches off, in the programs that have such a list.
//   - Servers that stand where the format has none are reported, not read.
//   - Approvals, and whatever else a program trusts, are data: they raise no trust.
//   - A command is one path or name and is never split; one that seems to hold a whole line is refused.
//   - A leading ~ of a command, a working directory or a file of variables is the home directory, when the
//     entry is resolved. Nothing else is: not in an argument, not %NAME%, not a backslash.
//   - A relative working directory or file of variables lies in the workspace, not beside the file.
//
// Neither a message nor a note holds a value of the file that may be a secret. Nothing here keeps state;
// what is returned may be read by several goroutines.
package hostconfig

import (
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/tomldoc"
)

// Problem is what is wrong with a file as a whole: file, line, column, what, and a hint.
type Problem = tomldoc.Problem

// The transports of an Entry.
const (
	TransportStdio = "stdio"
	TransportHTTP  = "http" // streamable HTTP
	TransportSSE   = "sse"
	TransportAuto  = "auto" // streamable HTTP, else sse
)

// What a Note says was done.
const (
	Taken     = "taken"     // a server, or a field of the file that means something
	Rewritten = "rewritten" // taken, but not as the file has it
	Ignored   = "ignored"   // left out: unknown, without use here, or void
	Refused   = "refused"   // left out because it is wrong: the server where Field is "", else what the reason says
)

// Options are what reading and resolving may ask of their caller. The zero value and nil work.
type Options struct {
	Format    string // one of Formats, or an alias of it; "": found out from the name and the content
	Workspace string // folder that ${workspaceFolder} and relative paths mean; "": they are not resolved
	Home      string // "": the user's home directory
	OS        string // as runtime.GOOS: only on windows ~\ is the home directory, too; "": this one

	LookupEnv func(name string) (string, bool)            // nil: os.LookupEnv
	Input     func(id string) (toolsource.Secret, bool)   // asks for an ${input:ID}; nil: there are none
	Secret    func(name string) (toolsource.Secret, bool) // finds a ${{ secrets.NAME }}; nil: there are none
	ReadFile  func(path string) ([]byte, error)           // files of variables and ${file:PATH}; nil: at most 1 MiB of a regular file
}

// File is what a file says.
type File struct {
	Name    string // as it was given
	Format  string // one of Formats
	Entries []Entry
	Report  []Note
	Inputs  []Input // what Options.Input may be asked for
	Sum     string  // SHA-256 of the content, in hex
}

// Note is one line of a report.
type Note struct {
	File   string
	Server string // id of the entry; "": the file as a whole
	Field  string // path below the server, as headers.Authorization or args[2]; "": the server
	Action string // Taken, Rewritten, Ignored, Refused
	Reason string
	Remedy string // "": nothing need be done
	Line   int    // from 1; 0: unknown
}

// Input is a value that a file wants to be asked for.
type Input struct {
	ID, Type, Description string
	Default               toolsource.Secret // used where Options.Input has none; see HasDefault
	HasDefault            bool
	Password              bool
	Options               []string // of a choice
	Line                  int
}

// Entry is a server as a file declares it.
type Entry struct {
	ID     string // the key as written; unique in a File
	Name   string // for people; "" where the file has none of its own
	File   string
	Line   int
	Format string

	Transport string // TransportStdio, TransportHTTP, TransportSSE, TransportAuto
	Command   string
	Args      []string
	Env       map[string]toolsource.Secret
	EnvFile   string // file of variables below Env, which wins; "" once resolved
	Cwd       string
	URL       string
	Headers   map[string]toolsource.Secret

	ConnectTimeout time.Duration // 0: none given
	CallTimeout    time.Duration // 0: none given
	Enabled        bool
	Required       bool     // the program fails without it
	Allow          []string // wire names or patterns with *; nil: no list, every tool; empty: no tool
	Deny           []string // likewise; wins over Allow
	Approvals      Approvals

	vars *variables // how values are to be read; nil: as they are
}

// Approvals are what a file says may run without asking, and other words of trust. They are for showing.
type Approvals struct {
	Tools []string          // run without asking; "*" is every tool
	Modes map[string]string // by tool: the program's own word for how it asks; "*" is every tool
	Trust string            // the program's own word for the whole server
}

// IsZero reports whether the file says nothing.
func (a Approvals) IsZero() bool { return len(a.Tools) == 0 && len(a.Modes) == 0 && a.Trust == "" }
