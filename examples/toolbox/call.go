package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/toolsource/toolsource"
)

// result is a call's result as call --json prints it.
type result struct {
	Value     any                  `json:"value"`
	Content   []toolsource.Content `json:"content"`
	Truncated bool                 `json:"truncated"`
}

func (c *command) call(ctx context.Context) error {
	if len(c.args) == 0 {
		return fmt.Errorf("%w: call wants the name of a tool", errUsage)
	}
	if len(c.args) > 2 {
		return fmt.Errorf("%w: call wants a name and at most one JSON object, got %d arguments more; is the JSON in quotes?", errUsage, len(c.args)-2)
	}
	name := c.args[0]
	args, err := c.arguments()
	if err != nil {
		return &toolsource.CallError{Tool: name, Phase: "bind", Kind: toolsource.KindBadArguments, Err: err, Remedy: `give them as one JSON object, such as '{"path": "go.mod"}'`}
	}
	if c.timeout > 0 { // for all of it: opening takes no longer either, and servers go on connecting behind
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	opening, cancel := c.opening(ctx)
	set, err := c.open(opening)
	late := opening.Err() != nil // some source may not have listed its tools yet
	cancel()
	if err != nil {
		return err
	}
	defer set.Close()
	res, err := set.Call(ctx, name, args)
	if late && errors.Is(err, toolsource.ErrUnknownTool) {
		return &toolsource.CallError{
			Tool: name, Phase: "resolve", Kind: toolsource.KindTimeout, Remedy: "give it longer with --timeout; toolbox doctor says what is slow",
			Err: errors.New("no source that has answered in time has it, and some have not answered"),
		}
	}
	if err != nil {
		return err
	}
	if c.json {
		r := result{Value: res.Value, Content: res.Blocks(), Truncated: res.Truncated}
		if r.Content == nil {
			r.Content = []toolsource.Content{}
		}
		return c.print(r)
	}
	return c.show(res)
}

// opening is how long the configuration may take to open: half of the time there is, so that a server that
// does not answer leaves the other half to the call.
func (c *command) opening(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, c.timeout/2)
}

// arguments reads the JSON object from the command line, a file or standard input.
func (c *command) arguments() (map[string]any, error) {
	text := []byte("{}")
	if len(c.args) == 2 {
		var err error
		switch file, isFile := strings.CutPrefix(c.args[1], "@"); {
		case isFile:
			text, err = os.ReadFile(file)
		case c.args[1] == "-":
			text, err = io.ReadAll(c.in)
		default:
			text = []byte(c.args[1])
		}
		if err != nil {
			return nil, err
		}
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var args map[string]any
	var other *json.UnmarshalTypeError
	switch err := dec.Decode(&args); {
	case errors.As(err, &other):
		return nil, fmt.Errorf("the arguments are no JSON object, but %s %s", article(other.Value), other.Value)
	case err != nil:
		return nil, fmt.Errorf("the arguments are no JSON object: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON object")
	}
	return args, nil
}

func article(word string) string {
	if strings.HasPrefix(word, "a") {
		return "an"
	}
	return "a"
}

// show prints a result for people: its text, and a line for each block that is none. What goes elsewhere than
// to a terminal is as the tool gave it.
func (c *command) show(res toolsource.Result) error {
	shown := func(text string) string {
		if c.screen.terminal {
			return harmless(text)
		}
		return text
	}
	for _, b := range res.Blocks() {
		line := b.Text
		switch {
		case len(b.Data) > 0 && b.Type != toolsource.ContentText:
			line = fmt.Sprintf("[%s %s, %d bytes]", b.Type, b.MIMEType, len(b.Data))
		case b.Type == toolsource.ContentResourceLink:
			line = fmt.Sprintf("[resource link %s %s]", b.Name, b.URI)
		case b.Raw != nil:
			line = string(b.Raw)
		}
		if _, err := fmt.Fprintln(c.out, shown(line)); err != nil {
			return err
		}
	}
	if len(res.Blocks()) == 0 || res.Content != nil && res.Text() == "" && res.Value != nil {
		if v, err := json.Marshal(res.Value); err == nil {
			fmt.Fprintln(c.out, shown(string(v)))
		}
	}
	if res.Truncated {
		c.complain("the result was cut to its limit")
	}
	return nil
}
