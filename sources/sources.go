// Package sources opens one TOML file as a Toolbox: tools that it declares, the file tools that ship with
// the library, MCP servers, and tools that the host implements, merged by precedence.
//
//	set, err := sources.Open(ctx, "toolsource.toml", nil)
//	if err != nil { ... }
//	defer set.Close()
//	res, err := set.Call(ctx, "read_file", map[string]any{"path": "go.mod"})
//
// The file may hold [[tools]], [[virtual_tools]] or [virtual_tools.NAME], [mcp_servers.NAME], [mcp], whose
// host_configs are other programs' files of servers, and [profiles.NAME]. What is wrong in it is a [Problem]
// with file, line, column, key and hint, and costs only the entry that it stands in. Load fails only for a file that cannot be read, Open only for that and for a
// server marked required; everything started is closed by then. A server that does not answer stays
// attached, is named by the Set's Problems and Sources, and joins when it comes up.
//
// Load starts nothing and connects to nothing. Options.Approve is asked before a server is attached, so
// that opening somebody else's folder does not start what its file names.
package sources

import (
	"context"
	"log/slog"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/tomldoc"
	"github.com/toolsource/toolsource/mcpclient"
	"github.com/toolsource/toolsource/sources/configsource"
	"github.com/toolsource/toolsource/sources/hostconfig"
	"github.com/toolsource/toolsource/sources/mcpsource"
)

// Options of Load and Open. The zero value and nil work.
type Options struct {
	Workspace string                                                             // "": the config file's folder
	Funcs     map[string]toolsource.Callable                                     // what provider "go" may name
	Providers map[string]configsource.Provider                                   // beside go, exec and file
	Virtual   func(ctx context.Context, name string) (toolsource.Callable, bool) // the host's side of [[virtual_tools]]
	Approve   func(s Server) bool                                                // asked before a server is attached; nil: all are

	// TrustHostFile is asked once for each file of [mcp].host_configs, when it is loaded: the servers of one that
	// is not trusted are listed, start nothing, and have none of their variables expanded. nil: none is trusted.
	// TrustStore.Trusts is one that remembers.
	TrustHostFile func(f HostFile) bool
	Input         func(id string) (toolsource.Secret, bool)   // what a host file's ${input:ID} stands for; nil: there are none
	Secret        func(name string) (toolsource.Secret, bool) // what its ${{ secrets.NAME }} stands for; nil: there are none

	LookupEnv  func(string) (string, bool) // nil: os.LookupEnv
	Logger     *slog.Logger                // nil: discard
	MCP        *mcpclient.Options          // what servers have in common; its Workspace, LookupEnv and Logger are filled from here where unset
	Toolbox    *toolsource.Options         // of the Toolbox; its Logger is filled from here where unset
	NoDefaults bool                        // leave out the file tools that ship with the library
}

// Problem is something wrong in a configuration file. It has File, Line and Column (from 1; 0 unknown), Key
// (the path of the key), Message, Hint and Severity; Error is one line with all of them.
type Problem = tomldoc.Problem

// Severity says what a Problem costs.
type Severity = tomldoc.Severity

// The severities: an error leaves the entry out, a warning does not.
const (
	SeverityError   = tomldoc.SeverityError
	SeverityWarning = tomldoc.SeverityWarning
)

// Server is an MCP server as a file declares it.
type Server struct {
	Config mcpclient.ServerConfig // variables expanded; only ID, File and Line where the entry is wrong
	Source mcpsource.Options      // filters, overrides and names
	Off    string                 // why it is not attached: "disabled", "bad entry", "awaiting consent"; "" if it is

	Precedence toolsource.Precedence // its layer's: PrecedenceMCP, or by its host file's place, see toolsource.HostFile
	Order      int
	Entry      *hostconfig.Entry // as another program's file has it, variables unexpanded; nil: the configuration's own
}

// Report is one thing that reading another program's server file came upon: what was taken, rewritten,
// ignored or refused, and why.
type Report = hostconfig.Note

// Config is a file that was read. It is read-only and may be opened several times.
type Config struct {
	File      string             // as given
	Workspace string             // absolute folder of commands and files
	Profiles  map[string]Profile // by name
	Servers   []Server           // in the order of the file, those that are off included
	Problems  []*Problem         // in the order of the file, table kind by table kind
	HostFiles []HostFile         // other programs' files that could be read, in the order of [mcp].host_configs
	Reports   []Report           // what they brought

	given   *Options // as Load was given them
	opts    Options
	tools   []configsource.Definition
	virtual []toolsource.ToolSpec
	hosted  []Server        // those of Servers that come from host files
	cache   mcpclient.Cache // nil: Options.MCP's

	clean map[*Problem]bool // while the file is loaded: those that show no value of a variable as they are
}
