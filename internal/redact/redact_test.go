package redact

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, tt := range []struct{ why, in, want string }{
		{"as it is", "token hunter2!", "token ***!"},
		{"twice", "hunter2hunter2 hunter2", "*** ***"},
		{"as a query writes it", "?k=a%26b%2F+c&x", "?k=***&x"},
		{"as a path writes it", "/a&b%2F%20c/", "/***/"},
		{"as JSON writes it", `{"k":"a\u0026b/ c"}`, `{"k":"***"}`},
		{"as JSON writes a line break", `"one\ntwo"`, `"***"`},
		{"as %q writes a control character", `"\x01bell"`, `"***"`},
		{"of two that overlap nothing is left", "12345678", "***"},
		{"a longer one before its beginning", "hunter2-and-more", "***"},
		{"a short one is no secret", "abc", "abc"},
		{"an everyday word is no secret", "It is True.", "It is True."},
	} {
		s := New("hunter2", "hunter2-and-more", "a&b/ c", "one\ntwo", "\x01bell", "123456", "345678", "abc", "True", "")
		if got := s.Text(tt.in); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.why, got, tt.want)
		}
	}
	var none *Set
	for _, s := range []*Set{none, {}, New()} {
		if s.Text("text") != "text" || s.Longest() != 0 || s.Tail("text", 2) != "xt" {
			t.Error("an empty set changes a text")
		}
	}
}

func TestMasked(t *testing.T) {
	s := Masked(map[string]string{"hunter2": "${A}", "tr0ub4dor": "${B}", "on": "${C}"})
	if got := s.Text("on hunter2 and tr0ub4dor"); got != "on ${A} and ${B}" {
		t.Error(got)
	}
}

// TestTailShowsNoPart: wherever the cut goes, neither end of a secret shows.
func TestTailShowsNoPart(t *testing.T) {
	const secret, most = "SECRET-VALUE-123", 40
	s := New(secret, "x&y&z&")
	for _, word := range []string{secret, "x&y&z&", "x%26y%26z%26"} {
		for behind := range 80 {
			whole := strings.Repeat("<", 200) + word + word + strings.Repeat(">", behind)
			kept := whole[len(whole)-most-s.Longest():]
			got := s.Tail(kept, most)
			if rest := strings.Trim(got, "<>*"); rest != "" {
				t.Errorf("%d behind %s: %q", behind, word, got)
			}
			if len(got) > most+len(mask) || behind < most && !strings.HasPrefix(strings.TrimLeft(got, "<"), mask) {
				t.Errorf("%d behind %s: %q", behind, word, got)
			}
		}
	}
}

func TestTailBeginsWithACharacter(t *testing.T) {
	text := strings.Repeat("äö€😀", 10)
	for most := range len(text) + 2 {
		got := New("secret").Tail(text, most)
		if !utf8.ValidString(got) || len(got) > most || len(got) < min(most, len(text))-utf8.UTFMax+1 || !strings.HasSuffix(text, got) {
			t.Errorf("%d: %q", most, got)
		}
	}
	if got := New("secret").Tail("\x80\x80\x80\x80\x80\x80\x80\x80", 6); len(got) < 3 {
		t.Errorf("of what is no text: %q", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add("hunter2", "x hunter2 y", 5)
	f.Add("a\"b\\c", `"a\"b\\c"`, 3)
	f.Fuzz(func(t *testing.T, secret, text string, most int) {
		s := New(secret)
		if got := s.Text(text); Counts(secret) && strings.Count(secret, "*") == 0 && strings.Contains(got, secret) {
			t.Errorf("%q shows in %q", secret, got)
		}
		if most >= 0 && most < 1<<20 {
			if got := s.Tail(text, most); len(got) > most+len(mask) {
				t.Errorf("%d bytes", len(got))
			}
		}
	})
}
