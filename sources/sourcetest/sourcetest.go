// Package sourcetest tells whether a ToolSource keeps the contract of package toolsource, and holds fakes
// for tests of whatever uses sources.
//
// [Check] tries every rule of the contract on one source and reports all that it breaks; it needs no
// testing.T, so that a fuzz target or a program can use it as well. [Run] does the same in subtests, each on
// a source of its own. Both close the source.
//
//	func TestSource(t *testing.T) {
//		sourcetest.Run(t, func(t *testing.T) toolsource.ToolSource { return mysource.New(t.TempDir()) }, "read", "write")
//	}
//
// Tools whose grade is at most (1,1) are called, with made-up values for their required arguments. Others
// never are: a source is checked without anything being written. Wrap a source with toolsource.Regrade to
// have a tool called that says nothing about its grade.
//
// A method that does not come back breaks the rule that called it. Methods without a context have 2 s, a
// listing and a call 2 s from the end of their context, Close 6 s. Then the other rules are left out, since
// they would wait for it too, Close is tried, and what was called may still run. So Check ends whatever the
// source does: within 4 s of its context's end, and without one that ends too. Times are those of package
// time, so that it works in a synctest bubble, whose clock however stands while a method waits for a mutex
// or the network. With the race detector on, the rules about concurrent use find data races too.
//
// Fakes: [Map] is a source made of functions. [Slow], [Failing] and [Flaky] misbehave around any source.
// [Dialer] is a scripted dialer for a toolsource.Bridge.
package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/toolsource/toolsource"
)

// A rule is one promise of the contract.
type rule struct {
	name string // of the subtest
	why  string // the promise, in the words of package toolsource
	f    func(ctx context.Context, s *subject) error

	always bool // tried even where others are left out
}

// A fault is a broken rule.
type fault struct {
	rule   rule
	source string
	err    error
}

// Error is one line.
func (f *fault) Error() string {
	return fmt.Sprintf("sourcetest: source %q breaks rule %s: %s (the contract: %s)", f.source, f.rule.name, oneLine(f.err), f.rule.why)
}

func (f *fault) Unwrap() error { return f.err }

// absent says that a rule does not apply, since the source lacks a capability or a tool for it.
type absent string

func (a absent) Error() string { return string(a) }

// Check reports every rule of the contract that src breaks, joined, or nil. want names tools that it must
// list. It ends early when ctx does, with the context's error beside what it had found, and closes src.
func Check(ctx context.Context, src toolsource.ToolSource, want ...string) error {
	if src == nil {
		return errors.New("sourcetest: the source is nil")
	}
	s := &subject{src: src, want: want}
	var faults []error
	var left string
	for _, r := range rules {
		if err := ctx.Err(); err != nil {
			_ = s.close(ctx, closing)
			return errors.Join(append(faults, err)...)
		}
		if left != "" && !r.always {
			continue
		}
		err := r.try(ctx, s)
		if err == nil || isAbsent(err) {
			continue
		}
		if isBlocked(err) || ctx.Err() == nil { // else the context's end may be what made it fail
			faults = append(faults, err)
		}
		if why := r.leaves(err); why != "" && left == "" {
			left, s.lame = why, true
			faults = append(faults, errors.New("sourcetest: "+why))
		}
	}
	return errors.Join(append(faults, ctx.Err())...)
}

// leaves says why the rules after this one are left out, "" if they are not.
func (r rule) leaves(err error) string {
	switch {
	case r.name == wraps:
		return "the other rules are left out, since what the source wraps cannot be followed"
	case isBlocked(err) && !r.always:
		return "the other rules are left out, since they would wait as well"
	case r.name == listed:
		return "the rules about tools are left out, since they cannot be listed"
	}
	return ""
}

// Run checks each rule in a subtest, on a source that newSource makes for it and that is closed when the
// subtest ends. Rules that do not apply say so in the subtest's log; so does the stack of a panic.
func Run(t *testing.T, newSource func(*testing.T) toolsource.ToolSource, want ...string) {
	t.Helper()
	left, within := "", closing
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			if left != "" && !r.always {
				t.Skip(left)
			}
			src := newSource(t)
			if src == nil {
				t.Fatal("newSource gave nil")
			}
			s := &subject{src: src, want: want, lame: left != ""}
			defer func() {
				if isBlocked(s.close(t.Context(), within)) {
					within = moment // once is enough to wait for it
				}
			}()
			err := r.try(t.Context(), s)
			var p *toolsource.PanicError
			switch {
			case err == nil:
				return
			case isAbsent(err):
				t.Log(err)
				return
			case errors.As(err, &p):
				t.Logf("%s", p.Stack)
			}
			t.Error(err)
			left = r.leaves(err)
		})
	}
}

func isAbsent(err error) bool {
	var a absent
	return errors.As(err, &a)
}

// try runs the rule, and puts its name and reason to what it finds.
func (r rule) try(ctx context.Context, s *subject) (err error) {
	if err = s.follow(ctx); err == nil {
		err = r.run(ctx, s)
	} else if r.name != wraps {
		err = absent("what it wraps cannot be followed, which another rule tells")
	}
	if err == nil || isAbsent(err) {
		return err
	}
	return &fault{r, s.known(ctx), err}
}

func (r rule) run(ctx context.Context, s *subject) (err error) {
	defer rescue("the rule", &err)
	return r.f(ctx, s)
}
