//go:build !unix

package configsource

func alive(int) bool { return false }
