package mcptest

import (
	"slices"
)

// Fault is one way in which servers misbehave, and how to see it.
type Fault struct {
	Name      string         // unique in the catalogue
	Why       string         // where it was seen, in a sentence
	Behaviour Behaviour      // of the server
	Tool      string         // to call; "": echo
	Args      map[string]any // to call it with
	Dialling  bool           // it befalls the connecting: no call gets as far as the tool
	Ends      Ends           // what becomes of a call that nobody gives up
	Heavy     bool           // it moves megabytes
	On        []string       // transports where it can be
	Elsewhere Reason         // why it cannot be on the others
}

// Ends says what becomes of a call by itself, within a second or so.
type Ends string

// How a call ends.
const (
	Answered Ends = "answered" // by the tool's answer
	Refused  Ends = "refused"  // by an error
	Unending Ends = "unending" // not at all
	Either   Ends = "either"   // by an answer or an error, or when the client's own limit says so
)

// Act is what a client does to a server that misbehaves.
type Act string

// The acts.
const (
	Deadline   Act = "deadline"    // calls with a deadline of 300 ms
	Cancel     Act = "cancel"      // calls, and cancels after 100 ms
	CloseCall  Act = "close call"  // calls, and closes after 100 ms
	CloseDials Act = "close dials" // closes while it still connects
)

// Acts are all of them.
func Acts() []Act { return []Act{Deadline, Cancel, CloseCall, CloseDials} }

// Reason says why there is no such cell in the matrix of faults, transports and acts.
type Reason string

// The reasons.
const (
	NoProcess Reason = "this transport has no process of the client's own, nor standard streams"
	NoHTTP    Reason = "this transport has no HTTP answers"
	NoPost    Reason = "here replies do not come as answers to POST"
	NoEvents  Reason = "only the older HTTP transport has an endpoint event and one stream for all"
	NoModern  Reason = "the older HTTP transport carries no revision 2026-07-28"
	NoCall    Reason = "no call gets past the connecting, so closing during a call is closing while it connects"
)

// Reasons are all of them.
func Reasons() []Reason { return []Reason{NoProcess, NoHTTP, NoPost, NoEvents, NoModern, NoCall} }

// Excuse is why a cell cannot be; "" if it can.
func (f *Fault) Excuse(transport string, act Act) Reason {
	switch {
	case !slices.Contains(f.On, transport):
		return f.Elsewhere
	case f.Dialling && act == CloseCall:
		return NoCall
	}
	return ""
}

// ToolName is the tool to call.
func (f *Fault) ToolName() string {
	if f.Tool == "" {
		return "echo"
	}
	return f.Tool
}

// Faults is the catalogue: every hazard that was seen with MCP servers and with the SDK, and those of public
// bug reports. (letter) in Why names the group of experiments with the SDK, a number the case.
func Faults() []Fault {
	var all []Fault
	add := func(faults []Fault, elsewhere Reason, on ...string) {
		for _, f := range faults {
			if f.On == nil {
				f.On, f.Elsewhere = on, elsewhere
			}
			all = append(all, f)
		}
	}
	add(anywhere(), "", Transports()...)
	add(modern(), NoModern, Memory, Stdio, HTTP)
	add(inProcesses(), NoProcess, Stdio)
	add(overHTTP(), NoHTTP, Memory, HTTP, SSE)
	add(inAnswers(), NoPost, Memory, HTTP)
	add(ofStatus(), NoPost, Memory, HTTP)
	add(overSSE(), NoEvents, SSE)
	return all
}
