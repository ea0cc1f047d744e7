package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/toolsource/toolsource/sources/toolschema"
)

// A verb is one command of the program.
type verb struct {
	name    string
	args    string // as the usage line has them
	short   string
	about   string        // more of it, in lines
	rest    func() string // another, of what has to be looked up; nil: none
	most    int           // arguments; -1: any number
	flags   []string
	example string
	run     func(*command, context.Context) error
}

// opens are the flags of every verb that opens a configuration.
var opens = []string{"config", "json", "timeout", "trust-host-files", "trust-store"}

func verbs() []verb {
	return []verb{
		{name: "list", short: "what tools there are, whose, and what is shadowed", flags: opens, run: (*command).list,
			example: "toolbox list --config toolsource.toml"},
		{name: "call", args: "NAME [JSON | @FILE | -]", short: "call one tool; its arguments are a JSON object", most: -1, flags: opens, run: (*command).call,
			about:   "The arguments are one JSON object, a file that holds it, or standard input. --timeout bounds all of it: opening the configuration gets half of it, the call the rest.",
			example: `toolbox call --timeout 5s read_file '{"path": "go.mod"}'`},
		{name: "status", short: "how each source is, and which servers are off and why", flags: opens, run: (*command).status,
			example: "toolbox status --json"},
		{name: "doctor", short: "what is wrong, where, and what to do", flags: opens, run: (*command).doctor,
			about:   "Starts everything and says of each problem, each field of other programs' files that was refused or rewritten, and each source what is the matter. A server that hangs costs its own limit, or --timeout. Exit status: 0 nothing is wrong, or there are only warnings; 3 something is wrong.",
			example: "toolbox doctor --timeout 10s"},
		{name: "schema", args: "[NAME...]", short: "tools as a model API takes them, and what was rewritten", most: -1, run: (*command).schema,
			flags:   append([]string{"provider"}, opens...),
			about:   "Prints the tools, all of them or those named, as the API takes them in a request, on standard output, and on standard error a line for each thing that had to be rewritten and each tool that the API would refuse. --json gives both in one document.",
			rest:    func() string { return "PROVIDER is one of " + providerNames(toolschema.Providers()) + "." },
			example: "toolbox schema --provider openai-strict read_file"},
		{name: "import", args: "FILE", short: "read another program's file of MCP servers", most: 1, run: (*command).importFile,
			flags:   []string{"format", "json", "write", "force"},
			about:   "Prints the servers of the file and what became of its fields. Nothing is started, and variables are not expanded. FILE is - for standard input. Without --format, whose file it is shows in its name and content.",
			rest:    formatNames,
			example: "toolbox import --write toolsource.toml ~/.cursor/mcp.json"},
		{name: "trust", args: "[FILE...]", short: "which host files may start servers; agree to some", most: -1, run: (*command).trust,
			flags:   []string{"config", "forget", "json", "trust-host-files", "trust-store"},
			about:   "Without FILE it lists the other programs' files that the configuration names in [mcp].host_configs, whether each is trusted, and what it would start. With FILE it agrees to these files as they are now; a file that changes has to be agreed to again. --forget takes it back.",
			example: "toolbox trust ~/.cursor/mcp.json"},
		{name: "help", args: "[COMMAND]", short: "this, or the flags of one command", most: 1, flags: []string{"json"}, run: (*command).help,
			example: "toolbox help call"},
	}
}

// flagText is what help says of each flag: the name of its value, and what it does.
var flagText = map[string][2]string{
	"config":           {"F", "the configuration; without it, toolsource.toml in this folder"},
	"json":             {"", "one JSON document on standard output, errors included"},
	"timeout":          {"D", "how long to wait at most, such as 5s or 1m30s"},
	"trust-host-files": {"", "trust all host files of the configuration, for this one run"},
	"trust-store":      {"F", "where agreements are kept; without it, in the user's configuration folder"},
	"forget":           {"", "take the agreement to FILE back"},
	"format":           {"X", "whose file it is"},
	"provider":         {"PROVIDER", "whose API"},
	"write":            {"F", "write the servers into a new configuration, readable by its owner only"},
	"force":            {"", "let --write replace a file"},
}

// notes are for the help of everything.
var notes = []string{
	"Exit status: 0; 1 the tool answered with an error; 2 bad arguments, an unknown tool, a file that cannot be read, or wrong use; 3 anything else. A source that failed is told, and is no error of list and status.",
	"Servers of other programs' files start only after toolbox trust. What such a file wants to be asked for, ${input:ID}, is taken from the environment variable INPUT_ID: the id in capitals, with _ for anything but A to Z and 0 to 9. A ${{ secrets.NAME }} is taken from the variable NAME.",
}

// usage is the help of the whole program.
func usage(s screen) string {
	var b strings.Builder
	b.WriteString("usage: toolbox COMMAND [flags] [arguments]\n\n")
	for _, v := range verbs() {
		b.WriteString(s.indented(fmt.Sprintf("  %-8s ", v.name), 11, v.short))
	}
	paragraphs(&b, s, append([]string{"toolbox help COMMAND tells its flags, with an example. Without --config the file is toolsource.toml in this folder."}, notes...))
	return b.String()
}

func paragraphs(b *strings.Builder, s screen, all []string) {
	for _, p := range all {
		b.WriteString("\n" + s.indented("", 0, p))
	}
}

// text is the help of one verb.
func (v verb) text(s screen) string {
	var b strings.Builder
	line := strings.Join(strings.Fields("usage: toolbox "+v.name+" [flags] "+v.args), " ")
	fmt.Fprintf(&b, "%s\n\n%s.\n", line, strings.ToUpper(v.short[:1])+v.short[1:])
	if v.about != "" {
		paragraphs(&b, s, []string{v.about})
	}
	if v.rest != nil {
		paragraphs(&b, s, []string{v.rest()})
	}
	b.WriteString("\n")
	for _, f := range v.flags {
		b.WriteString(s.indented(fmt.Sprintf("  %-20s ", strings.TrimSpace("--"+f+" "+flagText[f][0])), 23, flagText[f][1]))
	}
	fmt.Fprintf(&b, "\nFor example:\n\n  %s\n", v.example)
	paragraphs(&b, s, notes)
	return b.String()
}

func find(name string) (verb, bool) {
	all := verbs()
	i := slices.IndexFunc(all, func(v verb) bool { return v.name == name })
	if i < 0 {
		return verb{}, false
	}
	return all[i], true
}

func (c *command) help(context.Context) error {
	name := ""
	if len(c.args) > 0 {
		name = c.args[0]
	}
	return c.printHelp(name)
}

func (c *command) printHelp(name string) error {
	text := usage(c.screen)
	if name != "" && name != "help" {
		v, ok := find(name)
		if !ok {
			return noCommand(name)
		}
		text = v.text(c.screen)
	}
	if c.json {
		return c.print(map[string]string{"help": text})
	}
	_, err := io.WriteString(c.out, text)
	return err
}

func noCommand(name string) error {
	var names []string
	for _, v := range verbs() {
		names = append(names, v.name)
	}
	return fmt.Errorf("%w: there is no command %q; %ssee toolbox help", errUsage, name, didYouMean("", name, names))
}

// saysJSON reports whether the flags ask for JSON, whatever else is wrong with them.
func saysJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.ContainsFunc(args, func(a string) bool { return strings.TrimLeft(a, "-") == "json" && a != "json" })
}

// parse reads flags wherever they stand; what follows "--" is never one. The first word is the verb.
func (c *command) parse(args []string) (verb, error) {
	fs := flag.NewFlagSet("toolbox", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&c.config, "config", "", "")
	fs.BoolVar(&c.json, "json", c.json, "")
	fs.DurationVar(&c.timeout, "timeout", 0, "")
	fs.BoolVar(&c.trustAll, "trust-host-files", false, "")
	fs.StringVar(&c.trustStore, "trust-store", "", "")
	fs.BoolVar(&c.forget, "forget", false, "")
	fs.StringVar(&c.format, "format", "", "")
	fs.StringVar(&c.provider, "provider", "", "")
	fs.StringVar(&c.write, "write", "", "")
	fs.BoolVar(&c.force, "force", false, "")
	var words []string
	err := scan(fs, args, &words)
	if len(words) > 0 {
		c.verb, c.args = words[0], words[1:]
	}
	if err != nil {
		return verb{}, err
	}
	if c.verb == "" {
		return verb{}, fmt.Errorf("%w: there is no command; see toolbox help", errUsage)
	}
	v, ok := find(c.verb)
	if !ok {
		return v, noCommand(c.verb)
	}
	return v, c.check(v, fs)
}

// scan parses flags and collects the words between them.
func scan(fs *flag.FlagSet, args []string, words *[]string) error {
	for len(args) > 0 {
		if args[0] == "--" {
			*words = append(*words, args[1:]...)
			return nil
		}
		if !strings.HasPrefix(args[0], "-") || args[0] == "-" {
			*words = append(*words, args[0])
			args = args[1:]
			continue
		}
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return err
			}
			var known []string
			fs.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
			name, _, _ := strings.Cut(strings.TrimLeft(args[0], "-"), "=")
			hint := ""
			if fs.Lookup(name) == nil {
				hint = didYouMean("--", name, known)
			}
			return fmt.Errorf("%w: %w; %ssee toolbox help", errUsage, err, hint)
		}
		args = fs.Args()
	}
	return nil
}

// check holds flags and arguments against what the verb takes.
func (c *command) check(v verb, fs *flag.FlagSet) error {
	var err error
	fs.Visit(func(f *flag.Flag) {
		if err == nil && !slices.Contains(v.flags, f.Name) {
			err = fmt.Errorf("%w: %s has no flag --%s; see toolbox help %s", errUsage, v.name, f.Name, v.name)
		}
	})
	switch {
	case err != nil:
	case v.most == 0 && len(c.args) > 0:
		err = fmt.Errorf("%w: %s takes no arguments, got %q", errUsage, v.name, c.args[0])
	case v.most > 0 && len(c.args) > v.most:
		err = fmt.Errorf("%w: %s takes one argument, got %q too", errUsage, v.name, c.args[v.most])
	case c.timeout < 0:
		err = fmt.Errorf("%w: --timeout is %s, want a positive duration such as 5s", errUsage, c.timeout)
	}
	return err
}

// didYouMean is a hint at the known word that is nearest, "" if none is near.
func didYouMean(before, word string, known []string) string {
	best, least := "", 3
	if len(word) < 4 {
		least = 2
	}
	for _, k := range known {
		if d := distance(word, k); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + before + best + "? "
}

// distance counts letters to insert, delete or replace.
func distance(a, b string) int {
	if len(a) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
