//go:build !race

package hostdoc

const raceEnabled = false
