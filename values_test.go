package toolsource

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
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

// A value that holds itself, or that a channel keeps JSON from writing, is text and ends nothing.
func TestValueOfWhatJSONCannotSay(t *testing.T) {
	loop := map[string]any{"c": make(chan int)}
	loop["self"] = loop
	type node struct {
		Next *node
		C    chan int
	}
	ring := &node{C: make(chan int)}
	ring.Next = ring
	for _, v := range []any{loop, ring} {
		if s, ok := Value(v).Value.(string); !ok || s != fmt.Sprintf("%T", v) {
			t.Errorf("%T: %.60v", v, Value(v).Value)
		}
	}
	if got := Value([]any{1, func() {}}).Value; !strings.HasPrefix(got.(string), "[1 0x") {
		t.Error(got)
	}
}
