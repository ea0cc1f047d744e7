package procgroup

import (
	"os"
	"syscall"
)

func onMainThread() bool { return syscall.Gettid() == os.Getpid() }
