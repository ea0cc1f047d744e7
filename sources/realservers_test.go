package sources_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
	"github.com/toolsource/toolsource/sources"
)

// realServers are the servers of testdata/servers/package.json: the program of each, and its tools' grades
// as their annotations have them. Tools that are not named have no annotations, or the worst.
var realServers = []struct {
	id, bin string
	tools   int
	grades  map[string]grade.Grade
}{
	{"everything", "mcp-server-everything", 13, map[string]grade.Grade{
		"echo": grade.W1D0, "get_sum": grade.W1D0, "get_env": grade.W1D0, "get_tiny_image": grade.W1D0, "get_structured_content": grade.W1D0,
		"trigger_long_running_operation": grade.W1D0, "get_annotated_message": grade.W1D0, "get_resource_links": grade.W1D0,
		"get_resource_reference": grade.W1D0, "gzip_file_as_resource": grade.W3D2,
	}},
	{"filesystem", "mcp-server-filesystem", 14, map[string]grade.Grade{
		"read_file": grade.W1D0, "read_text_file": grade.W1D0, "read_media_file": grade.W1D0, "read_multiple_files": grade.W1D0,
		"list_directory": grade.W1D0, "list_directory_with_sizes": grade.W1D0, "directory_tree": grade.W1D0, "search_files": grade.W1D0,
		"get_file_info": grade.W1D0, "list_allowed_directories": grade.W1D0, "create_directory": grade.W3D2,
	}},
	{"memory", "mcp-server-memory", 9, map[string]grade.Grade{"read_graph": grade.W1D0, "search_nodes": grade.W1D0, "open_nodes": grade.W1D0}},
	{"thinking", "mcp-server-sequential-thinking", 1, map[string]grade.Grade{"sequentialthinking": grade.W1D0}},
	{"hello", "mcp-hello-world", 3, nil},
	{"calc", "calc-mcp", 21, nil},
}

// realBin is where the servers' programs are. Without Node, or without the packages, the test is skipped
// with the reason, unless TOOLSOURCE_REAL_SERVERS is "required".
func realBin(t *testing.T) string {
	t.Helper()
	bin, err := filepath.Abs("../testdata/servers/node_modules/.bin")
	if err != nil {
		t.Fatal(err)
	}
	missing := ""
	if _, err := exec.LookPath("node"); err != nil {
		missing = "there is no Node"
	} else if _, err := os.Stat(bin); err != nil {
		missing = "run npm install in testdata/servers"
	}
	if missing != "" {
		if os.Getenv("TOOLSOURCE_REAL_SERVERS") == "required" {
			t.Fatal(missing)
		}
		t.Skip("real servers: " + missing)
	}
	return bin
}

// openReal opens all six servers in one configuration.
func openReal(t *testing.T) (set *sources.Set, dir string) {
	t.Helper()
	bin := realBin(t)
	dir = t.TempDir()
	var b strings.Builder
	for _, s := range realServers {
		fmt.Fprintf(&b, "[mcp_servers.%s]\ncommand = %q\nnames = \"qualified\"\n", s.id, filepath.Join(bin, s.bin))
		switch s.id {
		case "filesystem":
			fmt.Fprintf(&b, "args = [%q]\n", dir)
		case "memory":
			fmt.Fprintf(&b, "env = { MEMORY_FILE_PATH = %q }\n", filepath.Join(dir, "memory.json"))
		}
	}
	file := filepath.Join(dir, "toolsource.toml")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hello.txt"), []byte("hello, file"), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := sources.Open(context.Background(), file, &sources.Options{Workspace: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	if len(set.Problems) > 0 {
		t.Fatalf("problems: %v", set.Problems)
	}
	return set, dir
}

func TestRealServers(t *testing.T) {
	set, dir := openReal(t)
	count := map[string]int{}
	for _, s := range set.Tools() {
		count[s.Origin.Server]++
		if s.Origin.Kind != "mcp" {
			continue
		}
		want := grade.Max
		for _, rs := range realServers {
			if g, ok := rs.grades[strings.TrimPrefix(s.Name, "mcp__"+rs.id+"__")]; ok && rs.id == s.Origin.Server {
				want = g
			}
		}
		if s.Grade != want {
			t.Errorf("%s: grade %v, want %v of its annotations", s.Name, s.Grade, want)
		}
	}
	for _, rs := range realServers {
		if count[rs.id] != rs.tools {
			t.Errorf("%s has %d tools, want %d", rs.id, count[rs.id], rs.tools)
		}
	}
	for _, st := range set.Sources() {
		if st.State != toolsource.StateReady || len(st.Problems) > 0 {
			t.Errorf("%s is %s: %v %v", st.Source, st.State, st.Err, st.Problems)
		}
	}

	calls := []struct {
		tool string
		args string
		want string // text, or JSON of the value
	}{
		{"mcp__everything__echo", `{"message":"hi"}`, "Echo: hi"},
		{"mcp__everything__get_sum", `{"a":2,"b":3}`, "The sum of 2 and 3 is 5."},
		{"mcp__everything__get_structured_content", `{"location":"New York"}`, `{"conditions":"Cloudy","humidity":82,"temperature":33}`},
		{"mcp__filesystem__read_text_file", `{"path":"` + dir + `/hello.txt"}`, `{"content":"hello, file"}`},
		{"mcp__memory__create_entities", `{"entities":[{"name":"n","entityType":"t","observations":["o"]}]}`, `{"entities":[{"entityType":"t","name":"n","observations":["o"]}]}`},
		{"mcp__memory__read_graph", `{}`, `{"entities":[{"entityType":"t","name":"n","observations":["o"]}],"relations":[]}`},
		{"mcp__thinking__sequentialthinking", `{"thought":"x","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`, `{"branches":[],"nextThoughtNeeded":false,"thoughtHistoryLength":1,"thoughtNumber":1,"totalThoughts":1}`},
		{"mcp__hello__add", `{"a":2,"b":3}`, "The sum is: 5"},
		{"mcp__calc__math", `{"action":"eval","expression":"6*7"}`, "42"},
	}
	for _, c := range calls {
		var args map[string]any
		if err := json.Unmarshal([]byte(c.args), &args); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		res, err := set.Call(ctx, c.tool, args)
		cancel()
		if err != nil {
			t.Errorf("%s: %v", c.tool, err)
			continue
		}
		got, ok := res.Value.(string)
		if !ok {
			b, _ := json.Marshal(res.Value)
			got = string(b)
		}
		if got != c.want {
			t.Errorf("%s gave %s, want %s", c.tool, got, c.want)
		}
	}

	res, err := set.Call(context.Background(), "mcp__everything__get_tiny_image", nil)
	if err != nil {
		t.Fatal(err)
	}
	images := 0
	for _, b := range res.Content {
		if b.Type == toolsource.ContentImage && b.MIMEType == "image/png" && len(b.Data) > 1000 {
			images++
		}
	}
	if images != 1 || len(res.Content) != 3 {
		t.Errorf("get_tiny_image gave %d blocks, %d images", len(res.Content), images)
	}

	_, err = set.Call(context.Background(), "mcp__filesystem__read_text_file", map[string]any{"path": "/etc/passwd"})
	if toolsource.KindOf(err) != toolsource.KindTool || !strings.Contains(err.Error(), "denied") {
		t.Errorf("a file outside its folders: %v", err)
	}
	_, err = set.Call(context.Background(), "mcp__calc__math", map[string]any{"action": "dance"})
	if toolsource.KindOf(err) != toolsource.KindBadArguments {
		t.Errorf("a word that is not in the enum: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err = set.Call(ctx, "mcp__everything__trigger_long_running_operation", map[string]any{"duration": 30, "steps": 3})
	if toolsource.KindOf(err) != toolsource.KindTimeout || time.Since(begun) > 350*time.Millisecond {
		t.Errorf("a slow tool: %v after %v", err, time.Since(begun))
	}
}
