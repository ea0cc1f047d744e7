// Package matrix holds the tests that put every fault of mcptest's catalogue on every transport, and random
// schedules of faults on whole servers. They are apart from those of package mcpclient, since they mostly
// wait, and need nothing of it that is not exported.
package matrix
