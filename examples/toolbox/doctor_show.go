package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/sources"
)

var titles = map[string]string{aboutConfig: "Configuration", aboutHost: "Host files", aboutSource: "Sources", aboutTool: "Tools"}

// showExamination prints findings for people, what they are about by what they are about.
func (c *command) showExamination(x *examination) error {
	var b strings.Builder
	about := ""
	for _, f := range x.Findings {
		if f.About != about {
			if about != "" {
				b.WriteString("\n")
			}
			about = f.About
			b.WriteString(c.screen.paint(bold, titles[about]) + "\n")
		}
		c.showFinding(&b, f)
	}
	verdict, style := "Nothing is wrong", green
	switch {
	case x.Errors > 0:
		verdict, style = count(x.Errors, "error"), red
		if x.Warnings > 0 {
			verdict += ", " + count(x.Warnings, "warning")
		}
	case x.Warnings > 0:
		verdict, style = "Nothing is wrong, with "+count(x.Warnings, "warning"), yellow
	}
	if len(x.Findings) > 0 {
		b.WriteString("\n")
	}
	b.WriteString(c.screen.paint(style, verdict+".") + "\n")
	_, err := io.WriteString(c.out, b.String())
	return err
}

const severityWidth = len(isWarning)

func (c *command) showFinding(b *strings.Builder, f finding) {
	style := map[string]string{isOK: green, isNote: dim, isWarning: yellow, isError: red}[f.Severity]
	severity := c.screen.paint(style, f.Severity+strings.Repeat(" ", severityWidth-len(f.Severity)))
	indent := 2 + severityWidth + 2
	more := strings.Repeat(" ", indent)
	b.WriteString(c.screen.indented("  "+severity+"  ", indent+2, f.headline()))
	if tried := f.tried(); tried != "" {
		b.WriteString(c.screen.indented(more, indent, tried))
	}
	if len(f.Stderr) > 0 {
		b.WriteString(more + "its standard error ends:\n")
		for _, l := range f.Stderr {
			b.WriteString(c.screen.indented(more+"| ", indent+2, l))
		}
	}
	if f.Remedy != "" {
		b.WriteString(c.screen.indented(more+"do: ", indent+4, f.Remedy))
	}
	if f.Command != "" && f.State != awaiting { // which is said once, of the file
		b.WriteString(more + "    " + clean(f.Command) + "\n")
	}
}

var phases = map[string]string{
	"start": "to start", "era": "to agree on a revision of the protocol", "transport": "to find it there",
}

// someNames bounds how many names are shown.
const someNames = 12

func someOf(names []string) string {
	if more := len(names) - someNames; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:someNames], ", "), more)
	}
	return strings.Join(names, ", ")
}

// headline is the finding itself.
func (f finding) headline() string {
	switch {
	case f.About == aboutSource && f.Severity == isOK:
		text := f.Subject + ": " + f.State
		if f.Transport != "" {
			text += strings.TrimRight(", "+f.Era, ", ") + " over " + f.Transport
		}
		text += ", " + f.Message
		if f.TookMS != nil {
			text += fmt.Sprintf(", after %s", (time.Duration(*f.TookMS) * time.Millisecond))
		}
		return text
	case f.About == aboutSource && f.Phase != "":
		return fmt.Sprintf("%s: failed %s: %s", f.Subject, cmp.Or(phases[f.Phase], "at "+f.Phase), f.Message)
	case len(f.Names) > 0:
		return f.Subject + ": " + f.Message + ": " + someOf(f.Names)
	case f.About == aboutSource || f.About == aboutTool, f.About == aboutHost && f.Subject == f.File:
		return f.Subject + ": " + f.Message
	}
	p := sources.Problem{File: f.File, Line: f.Line, Column: f.Column, Key: f.Subject, Message: f.Message}
	switch {
	case f.Subject == f.File:
		p.Key = ""
	case f.About == aboutHost:
		p.File = short(f.File)
	}
	return p.Error()
}

// short is a path as it is seen from this folder, if it lies below.
func short(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

func (f finding) tried() string {
	if f.Severity != isError || f.Attempts == 0 {
		return ""
	}
	text := "tried once"
	if f.Attempts > 1 {
		text = fmt.Sprintf("tried %d times", f.Attempts)
	}
	switch {
	case f.State == string(toolsource.StateDialling) && f.Attempts > 1:
		return text + ", the last one being under way"
	case f.NextTry == nil:
		return text
	}
	wait := time.Until(*f.NextTry).Round(time.Second)
	return fmt.Sprintf("%s, and next in %s", text, max(wait, 0))
}
