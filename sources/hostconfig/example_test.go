package hostconfig_test

import (
	"fmt"

	"github.com/toolsource/toolsource/sources/hostconfig"
)

func Example() {
	file, err := hostconfig.Parse(".vscode/mcp.json", []byte(`{
	"servers": {
		// the key comes from the environment
		"search": { "type": "http", "url": "https://example.test/mcp", "headers": { "X-Key": "${env:SEARCH_KEY}" } },
		"notes": { "command": "npx -y notes-server" },
	}
}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range file.Entries {
		_, _, err := e.Resolve(&hostconfig.Options{LookupEnv: func(string) (string, bool) { return "", false }})
		fmt.Println(e)
		fmt.Println(err)
	}
	for _, n := range file.Report {
		fmt.Println(n)
	}
	// Output:
	// server "search" (http) of .vscode/mcp.json:4
	// .vscode/mcp.json:4: headers.X-Key: server "search": environment variable SEARCH_KEY is not set and has no default (set it; the server is off)
	// .vscode/mcp.json:4: server "search": taken: as http
	// .vscode/mcp.json:5: server "notes": command: refused: seems to hold a whole line, and a command is never split; the server is left out (write "npx" as the command and the other 2 words as args)
}
