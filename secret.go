package toolsource

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "***"

// Secret is a string that does not show: every way of printing, logging or encoding it gives ***, and ""
// where it is empty, so that its absence can be seen. Convert a string to make one. A struct that keeps
// a Secret in an unexported field needs a Format method of its own, since fmt cannot call this one there.
type Secret string

// Reveal gives the string itself.
func (s Secret) Reveal() string { return string(s) }

// String is ***.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString is ***.
func (s Secret) GoString() string { return s.String() }

// Format writes *** for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue is ***.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON writes "***".
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// MarshalText writes ***.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
