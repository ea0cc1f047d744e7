//go:build !race

package hostconfig

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// Ten times the servers take at most fifteen times as long, in every shape of file.
func TestTimeGrowsWithTheServers(t *testing.T) {
	shapes := []struct {
		name, file, head, tail, between string
		server                          func(i int) string
	}{
		{"json", "mcp.json", `{"mcpServers":{`, `}}`, ",", func(i int) string {
			return fmt.Sprintf("\n\"s%d\":{\"command\":\"npx\",\"args\":[\"-y\",\"x%d\"],\"env\":{\"A\":\"${env:X}\",\"N\":%d},\"zzz\":1}", i, i, i)
		}},
		{"each id twice", "mcp.json", `{"mcpServers":{`, `}}`, ",", func(i int) string {
			return fmt.Sprintf("\n\"s%d\":{\"command\":\"c%d\",\"args\":[\"a\"],\"args\":[\"b\"]}", i/2, i)
		}},
		{"toml", "config.toml", "", "", "\n", func(i int) string {
			return fmt.Sprintf("[mcp_servers.s%d]\nurl = 'http://h/%d'\nbearer_token_env_var = 'X'\n", i, i)
		}},
		{"yaml list of one name", "x.yaml", "mcpServers:\n", "", "\n", func(i int) string { return fmt.Sprintf("- name: s\n  command: c%d", i) }},
		{"opencode with tools", "opencode.json", `{"mcp":{`, `}}`, ",", func(i int) string {
			return fmt.Sprintf("\n\"s%d\":{\"type\":\"local\",\"command\":[\"x\"]}", i)
		}},
	}
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			text := func(n int) []byte {
				servers, tools := make([]string, n), make([]string, n)
				for i := range servers {
					servers[i] = s.server(i)
					tools[i] = fmt.Sprintf("\"s%d_drop\":false", i)
				}
				tail := s.tail
				if s.file == "opencode.json" {
					tail = `},"tools":{` + strings.Join(tools, ",") + `}}`
				}
				return []byte(s.head + strings.Join(servers, s.between) + tail)
			}
			small, large := text(1000), text(10000)
			defer debug.SetGCPercent(debug.SetGCPercent(-1)) // what it costs depends on what else is held
			took := func(data []byte, times int) float64 {
				runtime.GC() // what others left is not this one's
				start := cpuTime()
				for range times {
					f, err := Parse(s.file, data, nil)
					if err != nil {
						t.Fatal(err)
					}
					merged, _ := Merge([]*File{f, f})
					WriteTOML(merged)
				}
				return float64(cpuTime()-start) / float64(times)
			}
			a, b := math.Inf(1), math.Inf(1)
			for range 5 { // in turns, in time of the processor; the least, since other work only adds to it
				a, b = min(a, took(small, 10)), min(b, took(large, 1))
			}
			t.Logf("ten times the servers take %.1f times as long", b/a)
			if b/a > 15 {
				t.Errorf("ten times the servers take %.1f times as long", b/a)
			}
		})
	}
}
