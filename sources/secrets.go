package sources

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"

	"github.com/toolsource/toolsource/internal/redact"
	"github.com/toolsource/toolsource/internal/specdoc"
	"github.com/toolsource/toolsource/mcpclient"
)

// variables remembers what variables gave a file its values: each may be a secret, wherever it stands.
type variables struct {
	lookup specdoc.Lookup
	names  map[string]string // by value: ${NAME}
}

func (v *variables) find(name string) (string, bool) {
	value, ok := v.lookup(name)
	if ok && redact.Counts(value) {
		v.names[value] = "${" + name + "}"
	}
	return value, ok
}

var quotedText = regexp.MustCompile(`"[^"]{3,}"`)

// hide has problems name the variable where they would show what it holds, or in quotes a part of it.
func (v *variables) hide(problems []*Problem) {
	if len(problems) == 0 {
		return
	}
	set := redact.Masked(v.names)
	part := func(quoted string) string {
		inner := strings.ToLower(quoted[1 : len(quoted)-1])
		for value, name := range v.names {
			if strings.Contains(strings.ToLower(value), inner) {
				return name
			}
		}
		return quoted
	}
	for _, p := range problems {
		for _, text := range []*string{&p.Message, &p.Hint} {
			*text = quotedText.ReplaceAllStringFunc(set.Text(*text), part)
		}
	}
}

// Format writes the file's name and what it declares by number: the entries may hold secrets.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// String is what Format writes.
func (c Config) String() string {
	return fmt.Sprintf("config %s (%d tools, %d virtual tools, %d servers, %d profiles, %d problems)",
		c.File, len(c.tools), len(c.virtual), len(c.Servers), len(c.Profiles), len(c.Problems))
}

// Format writes the server's id, transport and place. Its command, arguments, address, environment and
// headers may hold secrets: read them from the fields.
func (s Server) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// String is what Format writes.
func (s Server) String() string {
	b := strings.Builder{}
	fmt.Fprintf(&b, "server %q", s.Config.ID)
	if t := s.transport(); t != "" {
		b.WriteString(" (" + t + ")")
	}
	if s.Config.File != "" {
		fmt.Fprintf(&b, " of %s:%d", s.Config.File, s.Config.Line)
	}
	if s.Off != "" {
		b.WriteString(", " + s.Off)
	}
	return b.String()
}

// LogValue is String.
func (s Server) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON writes what Format writes, as an object. It cannot be read back.
func (s Server) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID        string `json:"id"`
		Transport string `json:"transport,omitempty"`
		File      string `json:"file,omitempty"`
		Line      int    `json:"line,omitempty"`
		Off       string `json:"off,omitempty"`
	}{s.Config.ID, s.transport(), s.Config.File, s.Config.Line, s.Off})
}

func (s Server) transport() string {
	switch c := s.Config; {
	case c.Transport != "":
		return c.Transport
	case c.Command != "":
		return mcpclient.TransportStdio
	case c.URL != "":
		return mcpclient.TransportHTTP
	}
	return ""
}
