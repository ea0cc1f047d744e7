// Command quickstart runs toolsource's main job: it opens a configuration with config, MCP and virtual tools,
// prints what there is, and calls tools of all three kinds as plain functions. One of them calls two others,
// and one hangs and comes back at its deadline.
//
//	go run ./examples/quickstart                 its own configuration
//	go run ./examples/quickstart --config FILE   yours: the same table, and calls of tools that only read
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/grade"
	"github.com/toolsource/toolsource/sources"
)

//go:embed toolsource.toml
var ownConfig []byte

func main() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		_ = serve(context.Background()) // it ends when standard input does
		return
	}
	config := flag.String("config", "", "a toolsource TOML `file` of yours")
	flag.Parse()
	if err := run(context.Background(), *config, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, config string, out io.Writer) error {
	script := readOnly
	if config == "" {
		dir, err := os.MkdirTemp("", "quickstart")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if config, err = ownWorkspace(dir); err != nil {
			return err
		}
		script = ownScript
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}

	// The host's side: Go functions for the provider "go", and an answer for virtual tools.
	var set *sources.Set
	cfg, err := sources.Load(config, &sources.Options{
		Funcs: map[string]toolsource.Callable{"word_count": wordCount},
		Virtual: func(_ context.Context, name string) (toolsource.Callable, bool) {
			if name != "digest" {
				return nil, false
			}
			return func(ctx context.Context, args map[string]any) (toolsource.Result, error) {
				return digest(ctx, set.Toolbox, args)
			}, true
		},
		LookupEnv: func(name string) (string, bool) {
			if name == "QUICKSTART" {
				return self, true
			}
			return os.LookupEnv(name)
		},
	})
	if err != nil {
		return err
	}
	set, err = cfg.Open(ctx)
	if err != nil {
		return err
	}
	defer set.Close()
	for _, p := range cfg.Problems {
		fmt.Fprintln(out, "problem:", p)
	}
	printTable(out, set.Toolbox)
	return script(ctx, out, set.Toolbox)
}

// ownWorkspace writes the quickstart's own configuration and one file to read.
func ownWorkspace(dir string) (config string, err error) {
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("a call always ends\na close always ends\n"), 0o644); err != nil {
		return "", err
	}
	config = filepath.Join(dir, "toolsource.toml")
	return config, os.WriteFile(config, ownConfig, 0o644)
}

func wordCount(_ context.Context, args map[string]any) (toolsource.Result, error) {
	text, _ := args["text"].(string)
	return toolsource.Value(len(strings.Fields(text))), nil
}

// digest is a tool that calls two others, of whatever kind they are.
func digest(ctx context.Context, tb *toolsource.Toolbox, args map[string]any) (toolsource.Result, error) {
	file, err := tb.Call(ctx, "read_file", args)
	if err != nil {
		return toolsource.Result{}, err
	}
	words, err := tb.Call(ctx, "word_count", map[string]any{"text": file.Text()})
	if err != nil {
		return toolsource.Result{}, err
	}
	return toolsource.Value(fmt.Sprintf("%v has %v words", args["path"], words.Value)), nil
}

func printTable(out io.Writer, tb *toolsource.Toolbox) {
	lost := map[string][]string{}
	for _, s := range tb.Shadowed() {
		for _, l := range s.Losers {
			lost[s.Name] = append(lost[s.Name], l.Source)
		}
	}
	rows := [][]string{{"TOOL", "SOURCE", "GRADE", "SHADOWS"}}
	for _, s := range tb.Tools() {
		rows = append(rows, []string{s.Signature(), s.Origin.Source, s.Grade.String(), strings.Join(lost[s.Name], ", ")})
	}
	var width [3]int
	for _, r := range rows {
		for i := range width {
			width[i] = max(width[i], len(r[i]))
		}
	}
	for _, r := range rows {
		line := fmt.Sprintf("%-*s  %-*s  %-*s  %s", width[0], r[0], width[1], r[1], width[2], r[2], r[3])
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
	for _, s := range tb.Sources() {
		if s.Err != nil {
			fmt.Fprintf(out, "%s is %s: %v\n", s.Source, s.State, s.Err)
		}
	}
}

// ownScript calls tools of all three kinds.
func ownScript(ctx context.Context, out io.Writer, tb *toolsource.Toolbox) error {
	for _, c := range []struct {
		why, tool string
		args      map[string]any
	}{
		{"shipped default", "read_file", map[string]any{"path": "notes.txt"}},
		{"config, a Go function", "word_count", map[string]any{"text": "one two three"}},
		{"config, a command", "go_version", nil},
		{"MCP, exact to the last digit", "add", map[string]any{"a": int64(9007199254740992), "b": 1}},
		{"virtual, calls two others", "digest", map[string]any{"path": "notes.txt"}},
	} {
		res, err := tb.Call(ctx, c.tool, c.args)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n%s: %s\n  %s\n", c.tool, c.why, strings.ReplaceAll(strings.TrimSpace(fmt.Sprint(res.Value)), "\n", "\n  "))
	}

	// A tool that never answers: the caller has its deadline all the same.
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := tb.Call(short, "hang", nil)
	if err == nil {
		return fmt.Errorf("hang answered")
	}
	fmt.Fprintf(out, "\nhang: came back after %v\n  for you:     %v\n  for a model: %s\n", time.Since(begun).Round(100*time.Millisecond), err, toolsource.ModelMessage(err))
	return nil
}

// readOnly calls the tools of somebody's own configuration that need no arguments and only read.
func readOnly(ctx context.Context, out io.Writer, tb *toolsource.Toolbox) error {
	for _, s := range tb.Tools() {
		if _, err := s.Bind(nil, nil); err != nil || !s.Grade.AtMost(grade.W1D1) {
			continue
		}
		short, cancel := context.WithTimeout(ctx, 5*time.Second)
		res, err := tb.Call(short, s.Name, nil)
		cancel()
		if err != nil {
			fmt.Fprintf(out, "\n%s\n  %s\n", s.Name, toolsource.ModelMessage(err))
			continue
		}
		fmt.Fprintf(out, "\n%s\n  %.500s\n", s.Name, strings.TrimSpace(res.Text()))
	}
	return nil
}
