package mcptest

import "strings"

// inProcesses are the faults that only a child can have.
func inProcesses() []Fault {
	zero, one := 0, 1
	return []Fault{
		{Name: "exits 1", Why: "(d), case 60: prints a message and exits at once.", Behaviour: Behaviour{Exit: &one, Stderr: "missing API key\n"}, Dialling: true, Ends: Refused},
		{Name: "exits 0", Why: "Case 60: exits at once, without a word.", Behaviour: Behaviour{Exit: &zero}, Dialling: true, Ends: Refused},
		{Name: "exits on initialize", Why: "Case 60: answers initialize, then dies.", Behaviour: Behaviour{ExitOnInit: true}, Dialling: true, Ends: Refused},
		{Name: "exits on discover", Why: "Dies on server/discover, which older servers do not know.", Behaviour: Behaviour{Discover: Exit}, Ends: Either},
		{Name: "exits in a call", Why: "(c), case 60: dies in mid call.", Tool: "die", Args: map[string]any{"code": 3}, Ends: Refused},
		{Name: "reads nothing", Why: "Never reads: the SDK returned 5 s after its deadline.", Behaviour: Behaviour{DeafInit: true}, Dialling: true, Ends: Unending},
		{Name: "reads nothing, ignores TERM", Why: "The same, and it lives on when told to end.", Behaviour: Behaviour{DeafInit: true, IgnoreTerm: true}, Dialling: true, Ends: Unending},
		{Name: "stops reading", Why: "Reads no more after its first list.", Behaviour: Behaviour{NeverRead: true}, Ends: Unending},
		{Name: "stops reading, 1 MB argument", Why: "A full pipe: the SDK's call ignores its deadline for ever, and Close hangs.", Behaviour: Behaviour{NeverRead: true}, Tool: "args", Args: map[string]any{"text": strings.Repeat("x", 1<<20)}, Ends: Unending, Heavy: true},
		{Name: "stops reading, ignores everything", Why: "(b), (e) The same, by a child that only a kill ends.", Behaviour: Behaviour{NeverRead: true, IgnoreTerm: true, IgnoreEOF: true}, Tool: "args", Args: map[string]any{"text": strings.Repeat("x", 1<<20)}, Ends: Unending, Heavy: true},
		{Name: "banner", Why: "(e), case 57: one line that is no message kills the SDK's session.", Behaviour: Behaviour{Stdout: []string{"Server started\n", "\n", "\x1b[32m[INFO]\x1b[0m ready\r\n", "42\n", "null\n", "[]\n"}}, Ends: Answered},
		{Name: "log lines in a call", Why: "(e), case 57: the same during a call.", Tool: "noise", Ends: Answered},
		{Name: "trailing space", Why: "A space after a message kills the SDK's session.", Behaviour: Behaviour{Trailing: " \t\r"}, Ends: Answered},
		{Name: "banner without an end", Why: "Noise on standard output for ever, before anything is read.", Behaviour: Behaviour{StdoutForever: true}, Dialling: true, Ends: Unending, Heavy: true},
		{Name: "floods stdout", Why: "Noise on standard output in place of a reply.", Tool: "flood_stdout", Ends: Unending, Heavy: true},
		{Name: "floods stderr", Why: "Case 58: nobody drains it, and the child blocks.", Tool: "flood_stderr", Ends: Unending, Heavy: true},
		{Name: "256 KiB on stderr", Why: "Case 58: without a line's end, before each answer.", Behaviour: Behaviour{Flood: 256 << 10}, Ends: Answered},
		{Name: "closes stdout", Why: "(e), case 60: closes its output and lives on; the SDK's call took 4.8 s.", Tool: "close_stdout", Ends: Refused},
		{Name: "closes stdout, ignores everything", Why: "The same by a child that only a kill ends.", Behaviour: Behaviour{IgnoreTerm: true, IgnoreEOF: true}, Tool: "close_stdout", Ends: Refused},
		{Name: "ignores the end of stdin", Why: "Close took TerminateDuration.", Behaviour: Behaviour{IgnoreEOF: true}, Tool: "mute", Ends: Unending},
		{Name: "ignores TERM", Why: "Close took twice as long.", Behaviour: Behaviour{IgnoreEOF: true, IgnoreTerm: true}, Tool: "mute", Ends: Unending},
		{Name: "grandchild", Why: "(e), case 62: wrappers leave their children alive.", Behaviour: Behaviour{Grandchild: true}, Tool: "mute", Ends: Unending},
		{Name: "grandchild holds the pipes", Why: "(e), case 62: the end of the child is not seen in its pipes.", Behaviour: Behaviour{Grandchild: true, GrandchildHoldsPipes: true}, Tool: "mute", Ends: Unending},
		{Name: "grandchild holds the pipes, child exits", Why: "(e), case 62: the child dies in mid call.", Behaviour: Behaviour{Grandchild: true, GrandchildHoldsPipes: true}, Tool: "die", Ends: Either},
		{Name: "grandchild that ignores TERM", Why: "Case 62: and holds the pipes.", Behaviour: Behaviour{Grandchild: true, GrandchildHoldsPipes: true, IgnoreTerm: true, IgnoreEOF: true}, Tool: "mute", Ends: Unending},
		{Name: "grandchild outlives a silent child", Why: "Case 62: the client gives up during the start.", Behaviour: Behaviour{Grandchild: true, GrandchildHoldsPipes: true, SilentInit: true}, Dialling: true, Ends: Unending},
		{Name: "stops itself", Why: "P1: SIGSTOP in mid call.", Tool: "freeze", Ends: Unending},
	}
}
