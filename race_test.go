//go:build race

package toolsource_test

const raceEnabled = true
