package main

import (
	"slices"
	"strings"
	"testing"
)

func TestHideArgs(t *testing.T) {
	tests := []struct {
		why      string
		in, want []string
	}{
		{"plain words", []string{"-y", "@scope/server", "/srv/a b"}, []string{"-y", "@scope/server", "/srv/a b"}},
		{"an option and its value", []string{"--api-key", "abc", "--token=abc", "--root", "/x"}, []string{"--api-key", "***", "--token=***", "--root", "/x"}},
		{"a variable is no secret yet", []string{"--token", "${TOKEN}", "--key=$KEY", "--secret={env:S}"}, []string{"--token", "${TOKEN}", "--key=$KEY", "--secret={env:S}"}},
		{"what a variable falls back on is one", []string{"--token", "${TOKEN:-abc}"}, []string{"--token", "${TOKEN:-***}"}},
		{"text around a variable", []string{"--token", "abc${TOKEN}"}, []string{"--token", "***${TOKEN}"}},
		{"the next option is not the value", []string{"--token", "--verbose"}, []string{"--token", "--verbose"}},
		{"a header", []string{"--header", "Authorization: Bearer abc", "Authorization:abc"}, []string{"--header", "Authorization:***", "Authorization:***"}},
		{"looks like a token", []string{"ghp_abcdef", "sk-abcdef", "X=glpat-abc"}, []string{"***", "***", "***"}},
		{"an address", []string{"https://me:pw@h.test/p?a=b&c=${C}"}, []string{"https://***@h.test/p?a=***&c=${C}"}},
		{"an assignment", []string{"DB_PASSWORD=abc", "LEVEL=info"}, []string{"DB_PASSWORD=***", "LEVEL=info"}},
		{"a header of any name", []string{"--header", "X-Team: abc", "-H", "X-Api-Key:${K}", "--header=X-Team: abc"}, []string{"--header", "X-Team:***", "-H", "X-Api-Key:${K}", "--header=X-Team:***"}},
		{"a variable of a container", []string{"run", "-e", "LEVEL=info", "--env", "A=b", "--env=A=b", "-e", "TOKEN"}, []string{"run", "-e", "LEVEL=***", "--env", "A=***", "--env=A=***", "-e", "TOKEN"}},
		{"code is no variable", []string{"-e", "console.log('a=b')"}, []string{"-e", "console.log('a=b')"}},
		{"a text of JSON", []string{"--config", `{"apiKey":"abc"}`, `"{\"token\": \"abc\"}"`, `--config={'secret': 1}`, `{"root":"/x"}`}, []string{"--config", "***", "***", "--config=***", `{"root":"/x"}`}},
		{"a token in an address", []string{"https://h.test/s/1a2b3c4d5e6f7a8b9c0d1e2f/mcp", "--url=https://h.test/?1a2b3c4d5e6f7a8b9c0d1e2f", "https://h.test/mcp#abc", "https://h.test/a-long-name-without-any-number"}, []string{"https://h.test/s/***/mcp", "--url=https://h.test/?***", "https://h.test/mcp#***", "https://h.test/a-long-name-without-any-number"}},
		{"a password with a slash", []string{"postgresql://me:p/w@h.test:5432/db", "https://h.test:8080/@scope/x"}, []string{"postgresql://***@h.test:5432/db", "https://h.test:8080/@scope/x"}},
		{"a long text", []string{strings.Repeat("x", 1000)}, []string{strings.Repeat("x", 99) + "..." + strings.Repeat("x", 98)}},
		{"words that only resemble", []string{"--keyboard", "us", "--tokenizer=x"}, []string{"--keyboard", "us", "--tokenizer=x"}},
	}
	for _, tt := range tests {
		if got := hideArgs(tt.in); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.why, got, tt.want)
		}
	}
}

func TestInputVariable(t *testing.T) {
	for id, want := range map[string]string{"key": "INPUT_KEY", "demo-key.2": "INPUT_DEMO_KEY_2", "\u00fcb er": "INPUT__B_ER", "": "INPUT_"} {
		if got := inputVariable(id); got != want {
			t.Errorf("%q is taken from %s, want %s", id, got, want)
		}
	}
}

func TestShellWord(t *testing.T) {
	for w, want := range map[string]string{"a/b.json": "a/b.json", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "$(x)": "'$(x)'"} {
		if got := shellWord(w); got != want {
			t.Errorf("%q is typed as %s, want %s", w, got, want)
		}
	}
}
