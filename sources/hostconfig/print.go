package hostconfig

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
)

// String is the note on one line: file:line: server "id": field: action: reason (remedy).
func (n Note) String() string {
	var b strings.Builder
	if n.File != "" {
		b.WriteString(n.File)
		if n.Line > 0 {
			fmt.Fprintf(&b, ":%d", n.Line)
		}
		b.WriteString(": ")
	}
	if n.Server != "" {
		fmt.Fprintf(&b, "server %q: ", n.Server)
	}
	if n.Field != "" {
		b.WriteString(n.Field + ": ")
	}
	b.WriteString(n.Action + ": " + n.Reason)
	if n.Remedy != "" {
		b.WriteString(" (" + n.Remedy + ")")
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// String is the entry's id, transport and place. Its command, arguments, address, environment and headers
// may hold secrets: read them from the fields.
func (e Entry) String() string {
	b := strings.Builder{}
	fmt.Fprintf(&b, "server %q", e.ID)
	if e.Transport != "" {
		b.WriteString(" (" + e.Transport + ")")
	}
	if e.File != "" {
		fmt.Fprintf(&b, " of %s:%d", e.File, e.Line)
	}
	if !e.Enabled {
		b.WriteString(", disabled")
	}
	return b.String()
}

// GoString is String.
func (e Entry) GoString() string { return e.String() }

// LogValue is String.
func (e Entry) LogValue() slog.Value { return slog.StringValue(e.String()) }

// MarshalJSON writes what String gives, as an object. It cannot be read back.
func (e Entry) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID        string `json:"id"`
		Transport string `json:"transport,omitempty"`
		File      string `json:"file,omitempty"`
		Line      int    `json:"line,omitempty"`
		Enabled   bool   `json:"enabled"`
	}{e.ID, e.Transport, e.File, e.Line, e.Enabled})
}

// String is the file's name, its format and how many entries it has, which may hold secrets.
func (f File) String() string {
	return fmt.Sprintf("%s (%s, %d servers, %d notes)", f.Name, f.Format, len(f.Entries), len(f.Report))
}

// GoString is String.
func (f File) GoString() string { return f.String() }

// LogValue is String.
func (f File) LogValue() slog.Value { return slog.StringValue(f.String()) }
