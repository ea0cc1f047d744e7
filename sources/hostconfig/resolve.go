package hostconfig

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/internal/hostvars"
	"github.com/toolsource/toolsource/internal/redact"
	"github.com/toolsource/toolsource/internal/tomldoc"
)

const maxValueFile = 1 << 20

// Resolve gives the entry with its variables expanded, once, in the fields that its format expands them in;
// with the names that the file hands on from the environment; with its file of variables read into Env,
// where those of the entry win; and with a leading ~ and a relative working directory made whole. The
// secrets are every value that came from a variable or a file, and the arguments that the option before them
// says are credentials or headers. The error is a *Problem that names server,
// field and variable, never a value, and concerns this server only. What is resolved stays as it is when it
// is resolved again.
//
// A variable that the file only hands on and that is not set is left out where its program does so, too
// (env_vars of Codex).
func (e Entry) Resolve(opts *Options) (Entry, []toolsource.Secret, error) {
	r := resolver{e: e.clone()}
	if opts != nil {
		r.opts = *opts
	}
	r.defaults()
	out, err := r.entry()
	if err != nil {
		return Entry{}, nil, err
	}
	return out, r.secrets, nil
}

type resolver struct {
	e       Entry
	opts    Options
	values  hostvars.Resolver
	secrets []toolsource.Secret
	known   map[string]bool
}

func (r *resolver) defaults() {
	o := &r.opts
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir()
	}
	if o.ReadFile == nil {
		o.ReadFile = readSmall
	}
	if o.OS == "" {
		o.OS = runtime.GOOS
	}
	if o.Workspace != "" {
		if abs, err := filepath.Abs(o.Workspace); err == nil {
			o.Workspace = abs
		}
	}
	r.values = hostvars.Resolver{Env: r.env, Input: r.input, Secret: r.secretOf, ReadFile: r.file, Workspace: o.Workspace, Home: o.Home}
}

// found remembers a value.
func (r *resolver) found(v string) string {
	if v != "" && !r.known[v] {
		if r.known == nil {
			r.known = map[string]bool{}
		}
		r.known[v] = true
		r.secrets = append(r.secrets, toolsource.Secret(v))
	}
	return v
}

func (r *resolver) env(name string) (string, bool) {
	if r.e.vars != nil {
		if v, ok := r.e.vars.local[name]; ok {
			return r.found(v.Reveal()), true
		}
	}
	v, ok := r.opts.LookupEnv(name)
	return r.found(v), ok
}

func (r *resolver) input(id string) (string, bool) {
	if r.opts.Input != nil {
		if v, ok := r.opts.Input(id); ok {
			return r.found(v.Reveal()), true
		}
	}
	if r.e.vars != nil {
		if in, ok := r.e.vars.inputs[id]; ok && in.HasDefault {
			return r.found(in.Default.Reveal()), true
		}
	}
	return "", false
}

func (r *resolver) secretOf(name string) (string, bool) {
	if r.opts.Secret == nil {
		return "", false
	}
	v, ok := r.opts.Secret(name)
	return r.found(v.Reveal()), ok
}

// file reads the value that a file holds; a relative path lies beside the file that names it.
func (r *resolver) file(path string) (string, error) {
	path, err := r.home(path)
	if err != nil {
		return "", err
	}
	if !isAbs(path) {
		path = filepath.Join(filepath.Dir(r.e.File), path)
	}
	data, err := r.opts.ReadFile(path)
	return r.found(strings.TrimRight(string(data), "\r\n")), err
}

func (r *resolver) fail(field string, err error) error {
	hint := "the server is off"
	var unset *hostvars.UnsetError
	if errors.As(err, &unset) {
		switch unset.Kind {
		case hostvars.Env:
			hint = "set it; the server is off"
		case hostvars.Input, hostvars.Secret:
			hint = "the program must give it; the server is off"
		case hostvars.Workspace:
			hint = "set the workspace; the server is off"
		}
		if name := redact.Shaped(unset.Name); name != unset.Name { // somebody wrote a credential in the place of a name
			err, hint = &hostvars.UnsetError{Kind: unset.Kind, Name: name}, "put it into a variable, and write the name of that; the server is off"
		}
	}
	p := &Problem{File: r.e.File, Line: r.e.Line, Key: field, Message: fmt.Sprintf("server %q: %v", r.e.ID, err), Hint: hint, Severity: tomldoc.SeverityError}
	return p.Because(err)
}

// expand gives the value of a text; false: it is left out.
func (r *resolver) expand(field, text string) (string, bool, error) {
	if p, ok := r.e.vars.of(field, text); ok {
		v, ok := r.env(p.name)
		switch {
		case ok:
			return p.before + v, true, nil
		case p.optional:
			return "", false, nil
		}
		return "", false, r.fail(field, &hostvars.UnsetError{Kind: hostvars.Env, Name: p.name})
	}
	text, n := r.e.vars.read(field, text)
	out, err := hostvars.Expand(text, n, &r.values)
	if err != nil {
		return "", false, r.fail(field, err)
	}
	return out, true, nil
}

func (r *resolver) entry() (Entry, error) {
	e := &r.e
	for _, f := range []struct {
		field string
		text  *string
		path  bool
	}{{"command", &e.Command, true}, {"url", &e.URL, false}, {"cwd", &e.Cwd, true}, {"envFile", &e.EnvFile, true}} {
		written := *f.text
		v, _, err := r.expand(f.field, written)
		if err == nil && f.path && strings.HasPrefix(written, "~") {
			if v, err = r.home(v); err != nil {
				err = r.fail(f.field, err)
			}
		}
		if err != nil {
			return Entry{}, err
		}
		*f.text = v
	}
	for i, text := range e.Args {
		v, _, err := r.expand("args["+itoa(i)+"]", text)
		if err != nil {
			return Entry{}, err
		}
		e.Args[i] = v
	}
	r.arguments(e.Args)
	for name, m := range map[string]map[string]toolsource.Secret{"env": e.Env, "headers": e.Headers} {
		if err := r.texts(name, m); err != nil {
			return Entry{}, err
		}
	}
	if e.Cwd != "" && !isAbs(e.Cwd) && r.opts.Workspace != "" {
		e.Cwd = filepath.Join(r.opts.Workspace, e.Cwd)
	}
	if err := r.envFile(); err != nil {
		return Entry{}, err
	}
	e.vars = nil
	return *e, nil
}

// arguments remembers those that are secrets, as the option before them says. One with its name in the same
// argument is known by that.
func (r *resolver) arguments(args []string) {
	for i := 1; i < len(args); i++ {
		option, value := args[i-1], args[i]
		switch {
		case !strings.HasPrefix(option, "-") || strings.ContainsAny(option, "=:") || strings.HasPrefix(value, "-"):
		case option == "-H" || strings.TrimLeft(option, "-") == "header":
			_, value, _ = strings.Cut(value, ":")
			r.found(strings.TrimSpace(value))
		case redact.Shaped(option+"=x") != option+"=x":
			r.found(value)
		}
	}
}

func (r *resolver) texts(name string, m map[string]toolsource.Secret) error {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		v, ok, err := r.expand(name+"."+k, m[k].Reveal())
		if err != nil {
			return err
		}
		if ok {
			m[k] = toolsource.Secret(v)
		} else {
			delete(m, k)
		}
	}
	return nil
}

// home puts the home directory in the place of a leading ~.
func (r *resolver) home(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && rest[0] != '/' && (rest[0] != '\\' || r.opts.OS != "windows") {
		return path, nil
	}
	if r.opts.Home == "" {
		return "", errors.New("the home directory that ~ means is not known")
	}
	return r.opts.Home + rest, nil
}

// envFile reads the file of variables.
func (r *resolver) envFile() error {
	e := &r.e
	path := e.EnvFile
	if path == "" {
		return nil
	}
	e.EnvFile = ""
	if !isAbs(path) {
		if r.opts.Workspace == "" {
			return r.fail("envFile", errors.New("is relative, and the workspace is not known"))
		}
		path = filepath.Join(r.opts.Workspace, path)
	}
	data, err := r.opts.ReadFile(path)
	if err != nil {
		return r.fail("envFile", errors.New("cannot be read: "+cause(err)))
	}
	vars, line := parseEnvFile(string(data))
	if line > 0 {
		return r.fail("envFile", fmt.Errorf("line %d is not NAME=VALUE", line))
	}
	for _, v := range vars {
		if _, ok := e.Env[v.name]; ok {
			continue
		}
		if e.Env == nil {
			e.Env = map[string]toolsource.Secret{}
		}
		e.Env[v.name] = toolsource.Secret(r.found(v.value))
	}
	return nil
}

// isAbs knows a path of Windows on every system, so that none is taken for a relative one.
func isAbs(p string) bool {
	return filepath.IsAbs(p) || strings.HasPrefix(p, "/") || strings.HasPrefix(p, `\\`) ||
		len(p) > 2 && p[1] == ':' && (p[2] == '\\' || p[2] == '/')
}

// readSmall reads a regular file of at most 1 MiB. It looks before it opens: that of a pipe waits for a writer.
func readSmall(path string) ([]byte, error) {
	if st, err := os.Stat(path); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxValueFile+1))
	if err == nil && len(data) > maxValueFile {
		err = errors.New("is larger than 1 MiB")
	}
	return data, err
}
