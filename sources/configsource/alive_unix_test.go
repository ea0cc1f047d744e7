//go:build unix

package configsource

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// alive reports whether a process runs; one that has ended and waits to be reaped by init does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(b), ") Z ")
}
