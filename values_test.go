package toolsource

import (
	"encoding/json"
	"math"
	"testing"
)

// Numbers keep their digits, however they are written.
func TestArgumentsNumbers(t *testing.T) {
	for in, want := range map[string]any{
		"9007199254740993.0":             int64(9007199254740993),
		"-9007199254740993.0":            int64(-9007199254740993),
		"9.007199254740993e15":           int64(9007199254740993),
		"90071992547409930E-1":           int64(9007199254740993),
		"0.09007199254740993e+17":        int64(9007199254740993),
		"18446744073709551617.0":         json.Number("18446744073709551617"),
		"9007199254740992.0":             9007199254740992.0,
		"9007199254740993.5":             9007199254740993.5,
		"1.0":                            1.0,
		"1e23":                           1e23,
		"1.2345678901234567e30":          1.2345678901234567e30,
		"0.1234567890123456789":          0.1234567890123456789,
		"-0.0":                           math.Copysign(0, -1),
		"123456789012345678901234567e-9": 123456789012345678.901234567,
	} {
		got, err := Arguments(map[string]any{"n": json.Number(in)})
		if err != nil || got["n"] != want {
			t.Errorf("%s: %T %v, %v", in, got["n"], got["n"], err)
		}
	}
}
