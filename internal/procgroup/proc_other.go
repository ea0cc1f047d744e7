//go:build !linux

package procgroup

import (
	"os"
	"syscall"
)

func dieWithParent(*syscall.SysProcAttr) bool { return false }

func onlyZombies(int) bool { return false }

func holders(*os.File) []int { return nil }
