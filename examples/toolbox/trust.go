package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolsource/toolsource/sources"
)

// hostFile is a host file as trust --json prints it.
type hostFile struct {
	Path    string       `json:"path"`
	Format  string       `json:"format"`
	Sum     string       `json:"sum"`
	Trusted bool         `json:"trusted"`
	Changed bool         `json:"changed"` // since it was agreed to
	Servers []hostServer `json:"servers"`
}

// hostServer is what a host file starts: launch is shown as the file has it, since that is what is agreed to.
type hostServer struct {
	ID        string   `json:"id"`
	Transport string   `json:"transport"`
	Launch    string   `json:"launch"`
	Env       []string `json:"env"` // names
	EnvFile   string   `json:"env_file"`
	Cwd       string   `json:"cwd"`
	Headers   []string `json:"headers"` // names
	Enabled   bool     `json:"enabled"`
	Line      int      `json:"line"`
}

func (c *command) trust(context.Context) error {
	if c.forget {
		return c.forgetFiles()
	}
	cfg, err := c.load()
	if err != nil {
		return err
	}
	for _, p := range cfg.Problems {
		if p.File != cfg.File { // a host file that cannot be read has nothing to agree to
			c.complain(p.Error())
		}
	}
	files := cfg.HostFiles
	if len(c.args) > 0 {
		if files, err = c.agreeTo(cfg); err != nil {
			return err
		}
	}
	shown := []hostFile{}
	for _, h := range files {
		f := hostFileOf(h)
		if f.Changed, err = c.changed(h); err != nil {
			c.complain(err.Error())
		}
		shown = append(shown, f)
	}
	if c.json {
		return c.print(shown)
	}
	return c.showTrust(shown)
}

const changedSince = "changed since it was agreed to"

// changed reports whether a file that is not trusted was, as it was then. The error is of a store that cannot
// be read.
func (c *command) changed(h sources.HostFile) (bool, error) {
	if h.Trusted {
		return false, nil
	}
	a, err := c.store().Agreement(h)
	return a == sources.AgreedToAnother, err
}

// agreeTo agrees to the files that are named, all of them or none.
func (c *command) agreeTo(cfg *sources.Config) ([]sources.HostFile, error) {
	var files []sources.HostFile
	for _, name := range c.args {
		h, ok := named(cfg, name)
		if !ok {
			return nil, fileError{fmt.Errorf("%s is no host file that %s names and that can be read (%s)", name, cfg.File, knownFiles(cfg))}
		}
		files = append(files, h)
	}
	store := c.store()
	for i := range files {
		if err := store.Trust(files[i]); err != nil {
			return nil, err
		}
		files[i].Trusted = true
	}
	return files, nil
}

// named finds a host file of the configuration, by whatever path leads to it.
func named(cfg *sources.Config, name string) (sources.HostFile, bool) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return sources.HostFile{}, false
	}
	given, err := os.Stat(abs)
	for _, h := range cfg.HostFiles {
		if h.Path == abs {
			return h, true
		}
		if st, serr := os.Stat(h.Path); err == nil && serr == nil && os.SameFile(given, st) {
			return h, true
		}
	}
	return sources.HostFile{}, false
}

func knownFiles(cfg *sources.Config) string {
	var paths []string
	for _, h := range cfg.HostFiles {
		paths = append(paths, h.Path)
	}
	if len(paths) == 0 {
		return "it names none: see [mcp].host_configs"
	}
	return "it names " + strings.Join(paths, ", ")
}

// forgetFiles needs no configuration: the file, or its place there, may be gone.
func (c *command) forgetFiles() error {
	if len(c.args) == 0 {
		return fmt.Errorf("%w: trust --forget wants the files to forget", errUsage)
	}
	forgotten := []map[string]any{}
	for _, name := range c.args {
		path, err := filepath.Abs(name)
		if err == nil {
			err = c.store().Forget(path)
		}
		if err != nil {
			return err
		}
		forgotten = append(forgotten, map[string]any{"path": path, "trusted": false})
		if !c.json {
			if _, err := fmt.Fprintln(c.out, clean(path)+" is not trusted any more."); err != nil {
				return err
			}
		}
	}
	if c.json {
		return c.print(forgotten)
	}
	return nil
}

func hostFileOf(h sources.HostFile) hostFile {
	f := hostFile{Path: h.Path, Format: h.Format, Sum: h.Sum, Trusted: h.Trusted, Servers: []hostServer{}}
	for _, e := range h.Entries {
		f.Servers = append(f.Servers, hostServer{
			ID: e.ID, Transport: e.Transport, Launch: sources.Server{Entry: &e}.Launch(), Env: list(slices.Sorted(maps.Keys(e.Env))),
			EnvFile: e.EnvFile, Cwd: e.Cwd, Headers: list(slices.Sorted(maps.Keys(e.Headers))), Enabled: e.Enabled, Line: e.Line,
		})
	}
	return f
}

func (c *command) showTrust(files []hostFile) error {
	var b strings.Builder
	if len(files) == 0 {
		b.WriteString(c.screen.indented("", 0, c.file()+` names no other program's file that can be read: see host_configs of its table [mcp].`))
	}
	for i, h := range files {
		if i > 0 {
			b.WriteString("\n")
		}
		verdict, style := "not trusted; it would start", yellow
		switch {
		case h.Trusted:
			verdict, style = "trusted; it may start", green
		case h.Changed:
			verdict = changedSince + "; it would start"
		}
		b.WriteString(c.screen.indented("", 2, h.Path+" ("+h.Format+")"))
		b.WriteString("  " + c.screen.paint(style, verdict) + "\n")
		c.showServers(&b, h)
		if !h.Trusted {
			b.WriteString("  agree with: " + clean(c.agree(h.Path)) + "\n")
		}
	}
	_, err := io.WriteString(c.out, b.String())
	return err
}

// showServers tells all that is agreed to but for the values of variables and headers.
func (c *command) showServers(b *strings.Builder, h hostFile) {
	if len(h.Servers) == 0 {
		b.WriteString("    nothing\n")
	}
	for _, s := range h.Servers {
		text := s.ID + ": " + s.Launch
		if !s.Enabled {
			text = s.ID + " (disabled): " + s.Launch
		}
		b.WriteString(c.screen.indented("    ", 6, text))
		for _, more := range []struct {
			what  string
			names []string
		}{{"env", s.Env}, {"env file", one(s.EnvFile)}, {"in", one(s.Cwd)}, {"headers", s.Headers}} {
			if len(more.names) > 0 {
				b.WriteString(c.screen.indented("      ", 8, more.what+" "+strings.Join(more.names, ", ")))
			}
		}
	}
}

func one(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
