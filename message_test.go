package toolsource_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	ts "github.com/toolsource/toolsource"
)

var allKinds = []ts.Kind{
	ts.KindTool, ts.KindTimeout, ts.KindCancelled, ts.KindReentrant, ts.KindUnavailable, ts.KindSessionLost,
	ts.KindOutcomeUnknown, ts.KindNeedsAuth, ts.KindInsufficientScope, ts.KindForbidden, ts.KindDenied,
	ts.KindBadArguments, ts.KindUnknownTool, ts.KindProtocol, ts.KindClosed,
}

// TestModelMessage compares the message of every kind with testdata/model_messages.txt.
func TestModelMessage(t *testing.T) {
	var b strings.Builder
	for _, k := range allKinds {
		e := &ts.CallError{Tool: "send_mail", Source: "mcp:mail", Phase: "call", Kind: k, Remedy: "see the log of mcp:mail", Err: errors.New("detail of the cause")}
		switch k {
		case ts.KindTimeout, ts.KindOutcomeUnknown, ts.KindSessionLost:
			e.MayHaveRun = true
		case ts.KindUnavailable:
			e.RetryAfter = 42500 * time.Millisecond
		}
		fmt.Fprintf(&b, "%s: %s\n", k, ts.ModelMessage(e))
	}
	extra := []struct {
		name string
		err  error
	}{
		{"tool error", &ts.ToolError{Tool: "send_mail", Result: ts.Result{Content: []ts.Content{{Type: ts.ContentText, Text: "mailbox full"}}}}},
		{"tool error without text", &ts.ToolError{Tool: "send_mail"}},
		{"time-out before it started", &ts.CallError{Tool: "send_mail", Kind: ts.KindTimeout}},
		{"session lost before it started", &ts.CallError{Tool: "send_mail", Kind: ts.KindSessionLost}},
		{"bare sentinel", fmt.Errorf("refresh: %w", ts.ErrClosed)},
		{"source error", &ts.SourceError{Source: "mail", Op: "discover", Err: ts.ErrUnavailable}},
		{"Go error", errors.New("some failure")},
	}
	for _, e := range extra {
		fmt.Fprintf(&b, "%s: %s\n", e.name, ts.ModelMessage(e.err))
	}
	golden(t, "testdata/model_messages.txt", b.String())
	wantText(t, "of nil", ts.ModelMessage(nil), "")
}

// golden compares with a file; UPDATE=1 in the environment writes it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; review it and run the test with UPDATE=1\ngot:\n%s", file, got)
	}
}

func TestKinds(t *testing.T) {
	sentinels := map[ts.Kind]error{
		ts.KindTimeout: ts.ErrTimeout, ts.KindCancelled: context.Canceled, ts.KindReentrant: ts.ErrReentrant,
		ts.KindUnavailable: ts.ErrUnavailable, ts.KindSessionLost: ts.ErrSessionLost, ts.KindOutcomeUnknown: ts.ErrOutcomeUnknown,
		ts.KindNeedsAuth: ts.ErrNeedsAuth, ts.KindInsufficientScope: ts.ErrInsufficientScope, ts.KindForbidden: ts.ErrForbidden,
		ts.KindDenied: ts.ErrDenied, ts.KindBadArguments: ts.ErrBadArguments, ts.KindUnknownTool: ts.ErrUnknownTool,
		ts.KindProtocol: ts.ErrProtocol, ts.KindClosed: ts.ErrClosed,
	}
	for _, k := range allKinds {
		e := error(&ts.CallError{Kind: k})
		for other, s := range sentinels {
			if got, want := errors.Is(e, s), k == other; got != want {
				t.Errorf("kind %s: errors.Is %v is %v", k, s, got)
			}
		}
		if ts.KindOf(fmt.Errorf("x: %w", e)) != k {
			t.Errorf("KindOf %s", k)
		}
		if s := sentinels[k]; s != nil && ts.KindOf(fmt.Errorf("x: %w", s)) != k {
			t.Errorf("KindOf the sentinel of %s is %s", k, ts.KindOf(s))
		}
	}
	if !errors.Is(ts.ErrTimeout, context.DeadlineExceeded) || !errors.Is(&ts.CallError{Kind: ts.KindTimeout}, context.DeadlineExceeded) {
		t.Error("a time-out matches context.DeadlineExceeded")
	}
	if errors.Is(&ts.CallError{Kind: ts.KindCancelled}, context.DeadlineExceeded) {
		t.Error("a cancelled call is no time-out")
	}
	e := &ts.CallError{Kind: ts.KindOutcomeUnknown, Err: ts.ErrSessionLost}
	if !errors.Is(e, ts.ErrSessionLost) || ts.KindOf(e) != ts.KindOutcomeUnknown {
		t.Error("the cause stays in the chain")
	}
}

func TestErrorsAreOneLine(t *testing.T) {
	e := &ts.CallError{Tool: "a\nb", Source: "s", Kind: ts.KindProtocol, Err: errors.New("line\r\nline\u2028line"), Remedy: "x\ty"}
	if strings.ContainsAny(e.Error(), "\n\r\t\u2028") {
		t.Errorf("%q", e.Error())
	}
}

func TestSecretsDoNotShow(t *testing.T) {
	const hidden = "hunter2"
	s := ts.Secret(hidden)
	type holder struct {
		Token ts.Secret
		Env   map[string]ts.Secret
		P     *ts.Secret
	}
	h := holder{s, map[string]ts.Secret{"K": s}, &s}
	var logged logs
	logged.logger().Info("x", "secret", s, "holder", h, "any", slog.AnyValue(s))
	j, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := json.Marshal(map[string]any{"a": []ts.Secret{s}})
	text, _ := s.MarshalText()
	shown := []string{
		s.String(), fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q %x %X %d %T", s, s, s, s, s, s, s, s, 0), fmt.Sprintf("%v %+v %#v %s", h, h, h, h),
		fmt.Sprintf("%x", h), string(j), string(m), string(text), logged.String(), fmt.Errorf("e: %v", s).Error(),
		fmt.Sprint(ts.Value(s).Value), fmt.Sprint(ts.Value(h).Value), fmt.Sprint(map[ts.Secret]int{s: 1}),
	}
	for _, out := range shown {
		if strings.Contains(out, hidden) || strings.Contains(strings.ToLower(out), fmt.Sprintf("%x", hidden)) {
			t.Errorf("it shows in %q", out)
		}
	}
	if s.Reveal() != hidden || ts.Secret("").String() != "" {
		t.Error("Reveal gives it; the empty one shows as empty")
	}
}

func TestResultText(t *testing.T) {
	size := int64(3)
	text := ts.Content{Type: ts.ContentText, Text: "a"}
	image := ts.Content{Type: ts.ContentImage, Data: []byte{1, 2}, MIMEType: "image/png"}
	res := ts.Content{Type: ts.ContentResource, URI: "file:///a", Text: "b"}
	bin := ts.Content{Type: ts.ContentResource, URI: "file:///b", Data: []byte{0}, MIMEType: "application/octet-stream"}
	link := ts.Content{Type: ts.ContentResourceLink, URI: "demo://1", Name: "one", Size: &size, Title: "t", Description: "d", MIMEType: "m", Annotations: json.RawMessage(`{"p":1}`), Meta: map[string]any{"k": 1}}
	raw := ts.Content{Type: "hologram", Raw: json.RawMessage(`{"type":"hologram","x":1}`)}
	tests := []struct {
		r    ts.Result
		text string
		json string
	}{
		{ts.Result{Content: []ts.Content{text, image, res}, Value: 1}, "a\nb", `[{"text":"a","type":"text"},{"data":"AQI=","mimeType":"image/png","type":"image"},{"resource":{"text":"b","uri":"file:///a"},"type":"resource"}]`},
		{ts.Result{Content: []ts.Content{bin, link, raw}}, "", `[{"resource":{"blob":"AA==","mimeType":"application/octet-stream","uri":"file:///b"},"type":"resource"},{"_meta":{"k":1},"annotations":{"p":1},"description":"d","mimeType":"m","name":"one","size":3,"title":"t","type":"resource_link","uri":"demo://1"},{"type":"hologram","x":1}]`},
		{ts.Value("plain"), "plain", `[{"text":"plain","type":"text"}]`},
		{ts.Value(map[string]any{"a": "<b>"}), `{"a":"<b>"}`, `[{"text":"{\"a\":\"\u003cb\u003e\"}","type":"text"}]`},
		{ts.Value(nil), "", `null`},
		{ts.Value(ts.Blob{Data: []byte{1}, MIMEType: "x/y"}), `{"mimeType":"x/y","data":"AQ=="}`, `[{"resource":{"blob":"AQ==","mimeType":"x/y","uri":""},"type":"resource"}]`},
	}
	for _, tt := range tests {
		wantText(t, "text", tt.r.Text(), tt.text)
		b, err := json.Marshal(tt.r.Blocks())
		if err != nil {
			t.Fatal(err)
		}
		wantText(t, "blocks", string(b), tt.json)
	}
}

func TestTrust(t *testing.T) {
	for word, want := range map[string]ts.Trust{"": ts.TrustDefault, "default": ts.TrustDefault, " Full ": ts.TrustFull, "untrusted": ts.TrustUntrusted, "yes": ts.TrustUntrusted} {
		got, ok := ts.ParseTrust(word)
		if got != want || ok != (word != "yes") {
			t.Errorf("%q gave %v, %v", word, got, ok)
		}
	}
	var tr ts.Trust
	if err := tr.UnmarshalText([]byte("root")); err == nil || tr != ts.TrustUntrusted {
		t.Error("an unknown word is untrusted, and an error")
	}
}
