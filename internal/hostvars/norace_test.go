//go:build !race

package hostvars

const raceEnabled = false
