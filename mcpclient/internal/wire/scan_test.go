//go:build unix

package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolsource/toolsource"
)

var scanSeeds = []string{
	`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"x"}]}}`,
	`{"id":"1","error":{"code":-32003,"message":"\ud83d\ude00 \u0000"},"jsonrpc":"2.0"}`,
	`{"result":{"inputRequests":{"a":1},"inputRequests":null},"res\u0075lt":{"inputRequests":[]}}`,
	` {"id" : 1.0e2 , "method":"a\"b","params":[]} `, `{}`, `[]`, `null`, `{"a":1,}`, `{"a" 1}`, `{"a":01}`, `{"a":-}`, `{"a":1.}`, `{"a":1e}`,
	"{\"a\":\"\x01\"}", `{"a":"\x"}`, `{"a":"\u12g4"}`, "{\"a\":\"\xff\xfe\"}", `{"a":tru}`, `{"a":nul}`, `{"id":1}{"id":2}`, `{"id":1`, `{"a":"long enough for eight bytes at a time \\ and more"}`,
	`{"result":5}`, `{"result":{"x":{"inputRequests":1}}}`, `{"id":1,"id":2}`, `{"":1}`,
}

// checkScan compares one scan with encoding/json.
func checkScan(t *testing.T, text []byte) {
	env, err := scan(text)
	var want map[string]json.RawMessage
	jerr := json.Unmarshal(text, &want)
	if jerr == nil && want == nil {
		jerr = errNotObject // null
	}
	if err == errDepth {
		return
	}
	if (err == nil) != (jerr == nil) {
		t.Fatalf("%q: scan says %v, encoding/json %v", text, err, jerr)
	}
	if err != nil {
		return
	}
	for name, got := range map[string]span{"jsonrpc": env.version, "id": env.id, "method": env.method, "params": env.params, "result": env.result, "error": env.err} {
		raw, there := want[name]
		if there != !got.absent() || there && !bytes.Equal(got.of(text), raw) {
			t.Fatalf("%q: %s is %q, want %q", text, name, spanOr(got, text), raw)
		}
	}
	var result map[string]json.RawMessage
	_ = json.Unmarshal(want["result"], &result)
	raw, there := result["inputRequests"]
	if there != !env.inputRequests.absent() || there && !bytes.Equal(env.inputRequests.of(text), raw) {
		t.Fatalf("%q: inputRequests is %q, want %q", text, spanOr(env.inputRequests, text), raw)
	}
	if s, ok := stringOf(spanOr(env.method, text)); ok {
		var m string
		if json.Unmarshal(want["method"], &m) == nil && strings.ToValidUTF8(s, "\uFFFD") != strings.ToValidUTF8(m, "\uFFFD") && !strings.Contains(m, "\uFFFD") {
			t.Fatalf("%q: method %q, want %q", text, s, m)
		}
	}
}

func TestScan(t *testing.T) {
	for _, s := range scanSeeds {
		checkScan(t, []byte(s))
	}
	deep := strings.Repeat(`[`, maxDepth+5) + strings.Repeat(`]`, maxDepth+5)
	if _, err := scan([]byte(`{"a":` + deep + `}`)); err != errDepth {
		t.Errorf("too deep: %v", err)
	}
	if _, err := scan([]byte(`{"a":` + strings.Repeat(`{"a":`, 1<<20))); err != errDepth {
		t.Errorf("endlessly deep: %v", err)
	}
	if env, err := scan([]byte(`{"jsonrpc":"2.0","id":42,"result":{"content":[{"te`)); err == nil || env.id.absent() {
		t.Errorf("the head of a cut line names no id: %v", err)
	}
}

func TestScanAllocatesNothing(t *testing.T) {
	text := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a\nb"}],"isError":false}}`)
	if n := testing.AllocsPerRun(100, func() {
		env, err := scan(text)
		if _, ok := integer(env.id.of(text)); err != nil || !ok {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range scanSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) < 64<<10 {
			checkScan(t, text)
		}
	})
}

func FuzzElements(f *testing.F) {
	for _, s := range []string{`[]`, `[1,{"a":[2]}]`, ` [ "a" , null ] `, `[1,]`, `[1] 2`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got []string
		err := elements(text, func(e []byte) { got = append(got, string(e)) })
		var want []json.RawMessage
		jerr := json.Unmarshal(text, &want)
		if err == errDepth || jerr == nil && want == nil {
			return
		}
		if (err == nil) != (jerr == nil) || err == nil && len(got) != len(want) {
			t.Fatalf("%q: %q %v, want %q %v", text, got, err, want, jerr)
		}
		for i := range got {
			if err == nil && got[i] != string(want[i]) {
				t.Fatalf("%q: element %d is %q, want %q", text, i, got[i], want[i])
			}
		}
	})
}

// FuzzReceive feeds anything to the core: no panic, and at most the one call is answered.
func FuzzReceive(f *testing.F) {
	for _, s := range append(scanSeeds, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":"x"}}`, `{"jsonrpc":"2.0","id":1,"error":"x"}`) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := newCore(Options{Progress: func(string, toolsource.Progress) {}, Redact: strings.ToUpper})
		s := &Slot{}
		to := &call{num: 1, method: methodCallTool, slot: s}
		s.begin(1)
		c.calls.add(to)
		msg, answered, err := c.receive(text, nil, false)
		if answered != nil && (answered != to || msg == nil || c.calls.len() != 0) || answered == nil && c.calls.len() != 1 {
			t.Fatalf("%q: %v %v", text, msg, answered)
		}
		if msg == nil && err == nil && !bytes.Contains(text, []byte("progress")) {
			t.Fatalf("%q vanished", text)
		}
		if s.Raw != nil && !json.Valid(s.Raw) {
			t.Fatalf("%q gave %q", text, s.Raw)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	for name, text := range map[string]string{
		"small":   `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"thirty bytes"}]}}`,
		"text":    `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 1<<20) + `"}]}}`,
		"escaped": `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat(`a line\n`, 1<<17) + `"}]}}`,
		"objects": `{"jsonrpc":"2.0","id":1,"result":{"content":[` + strings.Repeat(`{"a":1,"b":"c"},`, 1<<16) + `{}]}}`,
	} {
		b.Run(name+"/json.Valid", func(b *testing.B) {
			text := []byte(text)
			for b.Loop() {
				json.Valid(text)
			}
		})
		b.Run(name, func(b *testing.B) {
			text := []byte(text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := scan(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
