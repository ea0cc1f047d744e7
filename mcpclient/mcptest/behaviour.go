// Package mcptest is an MCP server that misbehaves on request, so that programs can prove that they
// survive it. It speaks the protocol by hand and needs no SDK.
//
// As a child process it is the test binary itself, started again:
//
//	func TestMain(m *testing.M) {
//		mcptest.Main() // serves and exits where the binary was started by Command
//		os.Exit(m.Run())
//	}
//
//	func TestX(t *testing.T) {
//		command, args, env := mcptest.Command(t, mcptest.Behaviour{SilentInit: true})
//		srv, err := mcpclient.New(mcpclient.ServerConfig{ID: "x", Command: command, Args: args, Env: env}, nil)
//		...
//	}
//
// Over HTTP it is the handler that Handler makes, over the older HTTP transport that of SSEHandler, and over
// any pair of streams it is Serve. Start serves a Behaviour on any transport, over HTTP in memory too, without
// a socket. How it behaves is data, see Behaviour; what it does during a single call it does in one of its
// tools, see Tools. Faults is a catalogue of all the ways in which servers were seen to misbehave: a program
// that runs its own client through it knows what it survives:
//
//	for _, f := range mcptest.Faults() {
//		if f.Excuse(mcptest.HTTP, mcptest.Deadline) != "" {
//			continue // it cannot be there; the reason is one of Reasons
//		}
//		at, err := mcptest.Start(mcptest.HTTP, f.Behaviour)
//		... connect to at.URL, call f.ToolName() with f.Args and a deadline, and see when it comes back ...
//		at.Close()
//	}
//
// Over Memory all of it also runs in virtual time, inside a bubble of testing/synctest.
package mcptest

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/toolsource/toolsource"
)

// Behaviour says how a server behaves. The zero value behaves well.
type Behaviour struct {
	Name    string // of itself; "": mcptest
	Version string // protocol revision that it answers to initialize; "": the one it was asked for
	Modern  bool   // speaks revision 2026-07-28 and no older one: no initialize, no ping, no session
	Only    string // the one protocol revision that it takes in initialize; it refuses others by an error
	NoTools bool   // declares no tools, and refuses tools/list

	// What follows is written byte for byte, and may be malformed.
	Pages   map[string]string // results of tools/list by cursor; nil: the tools of Tools
	Results map[string]string // results of tools/call by tool, before those of Tools
	Errors  map[string]string // JSON-RPC errors of tools/call by tool, likewise

	Capabilities string            // what it declares: a JSON object; "": tools, with list changes
	Answers      map[string]string // results by method, or by method, space and cursor, uri or name; before all else
	Refusals     map[string]string // JSON-RPC errors, likewise

	Stdout     []string      // written before anything is read, each as it is
	Stderr     string        // written at the start
	Exit       *int          // exits at the start with this code, after Stderr
	SilentInit bool          // reads, and never answers initialize
	ExitOnInit bool          // answers initialize and exits
	NeverRead  bool          // answers initialize and the first tools/list, and then reads no more
	DeafInit   bool          // reads nothing at all
	Flood      int           // bytes written to standard error, without a line's end, before each answer
	InitDelay  time.Duration // before the answer to initialize
	ListDelay  time.Duration // before each answer to tools/list
	IgnoreEOF  bool          // lives on when its input ends
	IgnoreTerm bool          // lives on when it is told to terminate
	Trailing   string        // after each message, before the line's end

	Grandchild           bool // starts a process of its own, which only a kill ends
	GrandchildHoldsPipes bool // which has its standard output and error

	Journal string // file that gets a line for each request received, across restarts

	// Over HTTP only.
	SSE             bool   // answers requests by a stream of events
	Stream          bool   // has a standing stream for GET, which carries list changes
	Authorization   string // wanted in every request; else 401
	CallStatus      int    // answers tools/call by this status; 0: as usual
	CallBody        string // with it
	CallContentType string // with it
	LoseAfter       int    // the session is unknown at this call (404), and known again afterwards; 0: never

	HTTP     []HTTPFault // over HTTP and SSE: answers in place of the proper ones; the first that fits counts
	Endpoint string      // over SSE: what the first event names; "": the proper place; NoEndpoint: there is no such event
	Listen   string      // over HTTP and SSE: Refuse or BlackHole, and nothing is served

	StdoutForever bool              // writes noise to standard output without end, before it reads anything
	EndlessPages  bool              // each page of tools/list names another one
	SilentList    bool              // never answers tools/list
	Discover      string            // what it does about server/discover: Silent, Exit; "": refuses it, as servers of the older revisions do
	Reply         string            // what is wrong with its replies to tools/call, see the constants Reply...
	Asks          string            // when it sends each kind of request to the client, see tool asked: AsksEarly, AsksIdle; "": never
	CallDelay     time.Duration     // before each answer to tools/call
	DieAt         int               // dies at this call, without an answer: the process exits, over HTTP the session is lost; 0: never
	Renamed       map[string]string // tools that have another name
	ListStorm     time.Duration     // says so often that the list changed, from the first listing on; 0: never

	// Lives are the behaviours of its lives, one after another; the last one stays. A process has a new life
	// whenever it starts and counts them in LivesFile, which then is needed; over HTTP each initialize begins
	// one, which ends the session before it.
	Lives     []Behaviour
	LivesFile string

	sleeper bool
}

// MarshalJSON is here for the field that no other package sets.
func (b Behaviour) MarshalJSON() ([]byte, error) {
	type plain Behaviour
	return json.Marshal(struct {
		plain
		Sleeper bool `json:",omitempty"`
	}{plain(b), b.sleeper})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (b *Behaviour) UnmarshalJSON(raw []byte) error {
	type plain Behaviour
	in := struct {
		*plain
		Sleeper bool
	}{plain: (*plain)(b)}
	err := json.Unmarshal(raw, &in)
	b.sleeper = in.Sleeper
	return err
}

// The words of Behaviour.Discover, Listen, Endpoint and Asks.
const (
	Silent     = "silent"    // never answers
	Exit       = "exit"      // the process exits
	Refuse     = "refuse"    // nothing listens
	BlackHole  = "blackhole" // connections are accepted, nothing is read or written
	NoEndpoint = "none"      // the event never comes
	AsksEarly  = "early"     // before it answers initialize
	AsksIdle   = "idle"      // soon after a listing
)

const envName = "MCPTEST_BEHAVIOUR"

// Command gives the command line and the environment of a child process that behaves so. The test's
// TestMain has to call Main.
func Command(t testing.TB, b Behaviour) (command string, args []string, env map[string]toolsource.Secret) {
	t.Helper()
	p, err := Start(Stdio, b)
	if err != nil {
		t.Fatal(err)
	}
	return p.Command, p.Args, p.Env
}

// Main serves on the standard streams and exits, where the process was started by Command; elsewhere it
// returns at once.
func Main() {
	raw, ok := os.LookupEnv(envName)
	if !ok {
		return
	}
	var b Behaviour
	if err := json.Unmarshal([]byte(raw), &b); err != nil {
		_, _ = os.Stderr.WriteString("mcptest: " + err.Error() + "\n")
		os.Exit(2)
	}
	os.Exit(run(b))
}
