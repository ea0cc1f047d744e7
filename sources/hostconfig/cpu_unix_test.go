//go:build unix && !race

package hostconfig

import (
	"syscall"
	"time"
)

// cpuTime is what the process has used so far. Unlike the clock it does not run while others have the
// processor.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
