//go:build unix && !linux

package procgroup

func onMainThread() bool { return false }
