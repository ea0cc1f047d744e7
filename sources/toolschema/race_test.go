//go:build race

package toolschema

const raceEnabled = true
