package sources

import (
	"github.com/toolsource/toolsource/internal/tomldoc"
	"github.com/toolsource/toolsource/mcpclient"
)

// asks reads the table asks: which of the host's handlers a server may use, and how much.
func (r *serverReader) asks() *mcpclient.AskConfig {
	t := r.Table("asks")
	if t == nil {
		return nil
	}
	word := func(key string) *bool {
		if !t.Has(key) {
			return nil
		}
		v := t.Bool(key, false)
		return &v
	}
	a := &mcpclient.AskConfig{
		Sampling: word("sampling"), Elicitation: word("elicitation"), Roots: word("roots"), Logging: word("logging"),
	}
	l := &a.Limits
	count(t, "per_minute", &l.PerMinute)
	count(t, "at_once", &l.AtOnce)
	count(t, "max_tokens", &l.MaxTokens)
	count(t, "max_message", &l.MaxMessage)
	if n := t.Int("tool_rounds", 0, 1<<31-1); n != nil {
		if l.ToolRounds = int(*n); *n == 0 {
			l.ToolRounds = -1 // none
		}
	}
	l.Sampling, l.Elicitation, l.Roots = t.Duration("sampling_timeout"), t.Duration("elicitation_timeout"), t.Duration("roots_timeout")
	t.Finish()
	return a
}

// count reads a number of one or more.
func count(t *tomldoc.Reader, key string, to *int) {
	if n := t.Int(key, 1, 1<<31-1); n != nil {
		*to = int(*n)
	}
}
