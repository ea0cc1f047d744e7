//go:build !unix

package configsource

const nonblock = 0
