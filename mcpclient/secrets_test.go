package mcpclient

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

// Values that stand in the command line or the address do not show if Secrets names them.
func TestSecretsOfTheCommandLine(t *testing.T) {
	const secret = "s3cr3t-Value"
	secrets := []toolsource.Secret{secret}
	hidden := func(why string, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if strings.Contains(text, secret) || !strings.Contains(text, "***") {
				t.Errorf("%s: %s", why, text)
			}
		}
	}
	_, err := New(ServerConfig{ID: "srv", Transport: secret, Command: "x", Secrets: secrets}, nil)
	var ce *ConfigError
	if !errors.As(err, &ce) {
		t.Fatal(err)
	}
	hidden("configuration", err.Error(), ce.Err.Error())

	one := 1
	for why, change := range map[string]func(*ServerConfig){
		"command":           func(c *ServerConfig) { c.Command = "/no/such/" + secret },
		"folder":            func(c *ServerConfig) { c.Dir = "/no/such/" + secret },
		"tail of its error": func(*ServerConfig) {},
	} {
		var log logBuffer
		s := newServerWith(t, mcptest.Behaviour{Exit: &one, Stderr: "usage: --key " + secret + "\n"}, &Options{Logger: testLogger(&log)},
			func(c *ServerConfig) { c.Secrets, c.Args = secrets, append(c.Args, secret); change(c) })
		_, err := s.List(t.Context())
		waitFor(t, func() bool { return s.Status().Err != nil })
		st := s.Status()
		hidden(why, err.Error(), st.Err.Error(), toolsource.ModelMessage(err))
		_ = s.Close()
		if text := st.Stderr + log.String() + sprint(s) + sprint(s.Config()); strings.Contains(text, secret) {
			t.Errorf("%s: %s", why, text)
		}
	}

	web := newHTTPServer(t, http.NotFoundHandler(), func(c *ServerConfig) { c.URL += "/" + secret + "/mcp"; c.Secrets = secrets })
	if err := web.Start(t.Context()); err == nil || strings.Contains(err.Error()+sprint(web), secret) {
		t.Errorf("address: %v", err)
	}

	s := newServer(t, mcptest.Behaviour{Name: secret}, func(c *ServerConfig) { c.Secrets = secrets })
	_, err = s.Call(t.Context(), "fail", map[string]any{"text": "rejected " + secret}, CallOptions{})
	_, err2 := s.Call(t.Context(), "rpc_error", map[string]any{"message": "rejected " + secret}, CallOptions{})
	hidden("answers", err.Error(), err2.Error(), s.Status().ServerInfo)
	cfg := s.Config()
	cfg.Secrets = append(cfg.Secrets, "another one")
	if err := s.Update(cfg); err != nil || s.redact.text("another one "+secret) != "*** ***" {
		t.Errorf("after an update: %v", err)
	}
	if _, err := s.Call(t.Context(), "echo", nil, CallOptions{}); err != nil || s.Status().Epoch != 1 {
		t.Errorf("further secrets cost the session: %v, %+v", err, s.Status())
	}
}

// What looks like a credential does not show, whether it is ours or not.
func TestCredentialsDoNotShow(t *testing.T) {
	const token = "ghp_abc123def456"
	one := 1
	s := newServer(t, mcptest.Behaviour{Exit: &one, Stderr: "401 for " + token + "\n"})
	if err := s.Start(t.Context()); err == nil || strings.Contains(err.Error(), token) || !strings.Contains(err.Error(), "401 for ***") {
		t.Error(err)
	}
	s = newServer(t, mcptest.Behaviour{})
	for tool, args := range map[string]map[string]any{
		"fail":      {"text": "GET https://u:pw@h/?token=" + token},
		"rpc_error": {"message": `{"token": "` + token + `"}`, "data": map[string]any{"password": token}},
	} {
		_, err := s.Call(t.Context(), tool, args, CallOptions{})
		var rpc *RPCError
		text := err.Error() + toolsource.ModelMessage(err)
		if errors.As(err, &rpc) {
			text += string(rpc.Data)
		}
		if strings.Contains(text, token) || strings.Contains(text, "pw") || !strings.Contains(text, "***") {
			t.Errorf("%s: %s", tool, text)
		}
	}
	res, err := s.Call(t.Context(), "echo", map[string]any{"text": "token=" + token}, CallOptions{})
	if err != nil || res.Value != "token="+token {
		t.Errorf("a result is data: %v, %v", res.Value, err)
	}
}

func TestRedactedJSONStaysJSON(t *testing.T) {
	var r redactor
	r.configure(&ServerConfig{ID: "s", Command: "x", Secrets: []toolsource.Secret{"1234567"}})
	for in, want := range map[string]string{
		`{"a":"1234567"}`: `{"a":"***"}`,
		`{"a":1234567}`:   `"***"`,
		`{"token":"x"}`:   `{"token":"***"}`,
	} {
		if got := r.json([]byte(in)); string(got) != want {
			t.Errorf("%s: %s", in, got)
		}
	}
	if r.json(nil) != nil {
		t.Error("of nothing there is something")
	}
}

// A challenge is part of the protocol, and none of its own words look like a credential.
func TestChallengeStaysWhole(t *testing.T) {
	const challenge = `Bearer realm="x", resource_metadata="https://h/.well-known/x", scope="a b", hint=%s, error="invalid_token"`
	web := newHTTPServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", strings.Replace(challenge, "%s", r.Header.Get("X-Key"), 1))
		w.WriteHeader(http.StatusUnauthorized)
	}), func(c *ServerConfig) { c.Headers = map[string]toolsource.Secret{"X-Key": "s3cr3t-Value"} })
	err := web.Start(t.Context())
	var st *StatusError
	if !errors.As(err, &st) || st.WWWAuthenticate != strings.Replace(challenge, "%s", "***", 1) {
		t.Errorf("%v: %q", err, st.WWWAuthenticate)
	}
}

// Problems of a listing quote the server.
func TestSecretsInProblems(t *testing.T) {
	const secret = "s3cr3t-Value"
	page := `{"tools":[{"name":"a"}],"nextCursor":"` + secret + `"}`
	s := newServer(t, mcptest.Behaviour{Pages: map[string]string{"": page, secret: page}}, func(c *ServerConfig) { c.Secrets = []toolsource.Secret{secret} })
	l, err := s.List(t.Context())
	if err != nil || len(l.Problems) == 0 {
		t.Fatalf("%v, %v", l.Problems, err)
	}
	text := errors.Join(l.Problems...).Error() + errors.Join(s.Status().Problems...).Error()
	if strings.Contains(text, secret) || !strings.Contains(text, "***") {
		t.Error(text)
	}
}

// What a command line, an address or a header holds is read from the fields, and never printed with the whole.
func TestConfigIsPrintedWithoutValues(t *testing.T) {
	const secret = "s3cr3t-Value"
	c := ServerConfig{
		ID: "x", Command: "c", Args: []string{"--key", secret}, Headers: map[string]toolsource.Secret{"A": secret},
		Env: map[string]toolsource.Secret{"K": secret}, URL: "https://u:" + secret + "@h.test/" + secret, Secrets: []toolsource.Secret{secret},
	}
	for _, v := range []any{c, &c, []ServerConfig{c}, struct{ C ServerConfig }{c}} {
		if got := sprint(v); strings.Contains(got, secret) {
			t.Errorf("%T shows it: %s", v, got)
		}
	}
	if text, err := json.Marshal(c); err != nil || !strings.Contains(string(text), `"id":"x"`) {
		t.Errorf("%s, %v", text, err)
	}
}
