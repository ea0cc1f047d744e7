package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/sources"
	"github.com/toolsource/toolsource/sources/hostconfig"
)

const defaultConfig = "toolsource.toml"

// fileError is a file that cannot be read: wrong use of the command.
type fileError struct{ error }

func (fileError) Is(target error) bool { return target == errUsage }
func (e fileError) Unwrap() error      { return e.error }

// file is the configuration's.
func (c *command) file() string {
	if c.config == "" {
		return defaultConfig
	}
	return c.config
}

func (c *command) store() *sources.TrustStore { return sources.NewTrustStore(c.trustStore) }

// unset is a variable of the environment that is not set though a host file wants it.
type unset struct{ variable, reference string }

// options are what the program answers where a configuration asks.
func (c *command) options() *sources.Options {
	return &sources.Options{
		TrustHostFile: func(f sources.HostFile) bool { return c.trustAll || c.store().Trusts(f) },
		Input: func(id string) (toolsource.Secret, bool) {
			return c.variable(inputVariable(id), "${input:"+id+"}")
		},
		Secret: func(name string) (toolsource.Secret, bool) {
			return c.variable(name, "${{ secrets."+name+" }}")
		},
	}
}

func (c *command) variable(name, reference string) (toolsource.Secret, bool) {
	v, ok := os.LookupEnv(name)
	if u := (unset{name, reference}); !ok && !slices.Contains(c.unset, u) {
		c.unset = append(c.unset, u)
	}
	return toolsource.Secret(v), ok
}

// inputVariable is where the value of an ${input:ID} is taken from.
func inputVariable(id string) string {
	return "INPUT_" + strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(id))
}

// load reads the configuration and starts nothing.
func (c *command) load() (*sources.Config, error) {
	cfg, err := sources.Load(c.file(), c.options())
	if err == nil {
		return cfg, nil
	}
	if c.config == "" {
		err = fmt.Errorf("%w (name your file with --config)", err)
	}
	return nil, fileError{err}
}

// open opens the configuration, within --timeout if there is one. What is wrong in it, and what awaits
// consent, goes to standard error, one line each; only a file that cannot be read and a required server that
// is missing are errors.
func (c *command) open(ctx context.Context) (*sources.Set, error) {
	cfg, err := c.load()
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.limited(ctx)
	defer cancel()
	set, err := cfg.Open(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range set.Problems {
		c.complain(strings.TrimPrefix(p.Error(), "toolsource: "))
	}
	for _, r := range cfg.Reports {
		if r.Action == hostconfig.Refused && lost(cfg, r) {
			c.complain(r.String())
		}
	}
	for _, s := range cfg.Servers {
		if s.Off == badEntry && s.Entry != nil {
			for _, u := range c.unset {
				c.complain(fmt.Sprintf("%s is not set: %s of a host file is taken from it", u.variable, u.reference))
			}
			break
		}
	}
	c.tellConsent(cfg)
	return set, nil
}

// tellConsent says what awaits consent, and why where there was one.
func (c *command) tellConsent(cfg *sources.Config) {
	changed := map[string]string{}
	for _, h := range cfg.HostFiles {
		switch was, err := c.changed(h); {
		case err != nil:
			c.complain(err.Error())
		case was:
			changed[h.Path] = "; the file was " + changedSince
		}
	}
	for _, s := range cfg.Servers {
		if s.Off == awaiting {
			c.complain(fmt.Sprintf("server %q of %s:%d awaits consent to %s%s (agree with: %s)", s.Config.ID, s.Config.File, s.Config.Line, would(s), changed[s.Config.File], c.agree(s.Config.File)))
		}
	}
}

// lost reports whether what is refused is a whole server, or file, and not only a field.
func lost(cfg *sources.Config, r sources.Report) bool {
	return r.Server == "" || r.Field == "" || !slices.ContainsFunc(cfg.Servers, func(s sources.Server) bool {
		return s.Config.ID == r.Server && s.Config.File == r.File
	})
}

// limited is ctx with the limit of --timeout.
func (c *command) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, c.timeout)
}

// agree is the command that agrees to a host file.
func (c *command) agree(file string) string {
	words := []string{"toolbox", "trust"}
	if c.config != "" {
		words = append(words, "--config", c.config)
	}
	if c.trustStore != "" {
		words = append(words, "--trust-store", c.trustStore)
	}
	words = append(words, file)
	for i, w := range words {
		words[i] = shellWord(w)
	}
	return strings.Join(words, " ")
}

// shellWord is a word as a person types it.
func shellWord(w string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(`-_./:\~+=@`, r)
	}
	if w != "" && !strings.ContainsFunc(w, func(r rune) bool { return !plain(r) }) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
