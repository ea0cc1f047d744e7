//go:build unix && !race

package sources

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The time to load grows with the servers and not with their square, also where each of them is wrong and
// where the configuration has many of its own. Ten times as many take ten to fourteen times as long, the
// garbage collector's work included; a square would be a hundred.
func TestTimeToLoadGrowsWithTheServers(t *testing.T) {
	cpu := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	o := &Options{TrustHostFile: trustAll, LookupEnv: func(name string) (string, bool) {
		return "the value of " + name, strings.HasPrefix(name, "SET")
	}}
	for _, args := range []string{`"${SET%d}"`, `"${SET%[1]d}","${UNSET%[1]d}"`} {
		took := func(n int) time.Duration {
			f := newFolder(t)
			var hosted, own strings.Builder
			for i := range n {
				fmt.Fprintf(&hosted, "\"s%d\":{\"command\":\"x\",\"args\":[%s]},\n", i, fmt.Sprintf(args, i))
				if i%5 == 0 {
					fmt.Fprintf(&own, "[mcp_servers.o%d]\ncommand = 'x'\n", i)
				}
			}
			f.write("mcp.json", `{"mcpServers":{`+hosted.String()+`}}`)
			best := time.Hour
			for range 3 {
				begun := cpu()
				if c := f.load("[mcp]\nhost_configs = ['mcp.json']\n"+own.String(), o); len(c.Servers) != n+n/5 {
					t.Fatal(len(c.Servers), problems(c)[:3])
				}
				best = min(best, cpu()-begun)
			}
			return best
		}
		if small, large := took(1000), took(10000); large > 30*small {
			t.Errorf("%s: %v became %v", args, small, large)
		}
	}
}
