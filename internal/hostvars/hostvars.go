// Package hostvars puts values in the place of the variables that stand in the strings of other programs'
// configuration files, each by the notation of its program.
//
// It works on strings that a reader has already taken from the file, and once: what a variable holds is
// neither looked at for more variables nor read as JSON, YAML or TOML. A variable that has no value and no
// default is an [*UnsetError] that names it; the text is then not to be used, so that no server is ever sent
// the name of a variable as if it were a credential. (The programs differ here: some send the text as it
// stands, some nothing.) No error holds a value.
//
// What looks like a variable in a notation that the program does not have stays as it is; [Foreign] finds
// it, for a warning. %NAME% and ~ are never expanded.
package hostvars

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// Notation is the set of forms that a program expands.
type Notation uint32

// The forms. A NAME in braces is of letters, digits and _ . - ( ); after a bare $ it is of ASCII letters,
// digits and _, and begins with no digit.
const (
	Dollar         Notation = 1 << iota // $NAME
	Braces                              // ${NAME}
	BracesDefault                       // ${NAME:-default}; the default ends at the first } and is used as it stands
	BracesEnv                           // ${env:NAME}
	BracesInput                         // ${input:id}
	BracesFile                          // ${file:path}
	BracesContext                       // ${workspaceFolder} ${workspaceFolderBasename} ${userHome} ${pathSeparator} ${/}; before a variable of that name
	CurlyEnv                            // {env:NAME}; not where a $ stands before it
	CurlyFile                           // {file:path}; not where a $ stands before it
	TemplateSecret                      // ${{ secrets.NAME }}
	TemplateInput                       // ${{ inputs.NAME }}
	TemplateEnv                         // ${{ env.NAME }}
	Escape                              // $${ is the text ${; without it the first $ is itself and a variable may follow
)

// Own is the notation of this library's own files.
const Own = Braces | BracesDefault | Escape

// Kind is what a variable refers to, in words for people.
type Kind string

// The kinds.
const (
	Env       Kind = "environment variable"
	Input     Kind = "input"
	Secret    Kind = "secret"
	File      Kind = "file"
	Workspace Kind = "workspace folder" // the folder or its last element
	Home      Kind = "home folder"
	Separator Kind = "path separator"
)

// Ref is a variable in a text.
type Ref struct {
	Kind       Kind
	Name       string // of the variable, input or secret; path of the file; else what stands in the braces
	HasDefault bool
	Default    string // may be a secret
}

// Resolver gives the values. A function that is nil knows nothing. All are called in the caller's goroutine,
// once for each time that a variable stands in a text.
type Resolver struct {
	Env    func(name string) (string, bool)
	Input  func(id string) (string, bool)
	Secret func(name string) (string, bool)

	// ReadFile gives the text of a file; the path is what the text says, so it may be relative or begin
	// with ~/. Line ends at the end of the file are cut off.
	ReadFile func(path string) (string, error)

	Workspace string // absolute folder; "": not known
	Home      string // absolute folder; "": not known
}

// UnsetError is a variable that has no value and no default.
type UnsetError struct {
	Kind Kind
	Name string
	err  error
}

// Error names the variable and its kind.
func (e *UnsetError) Error() string {
	switch {
	case e.Kind == Workspace || e.Kind == Home:
		return fmt.Sprintf("the %s of ${%s} is not known", e.Kind, e.Name)
	case e.Kind == File && errors.Is(e.err, fs.ErrNotExist):
		return fmt.Sprintf("file %s does not exist", e.Name)
	case e.Kind == File && errors.Is(e.err, fs.ErrPermission):
		return fmt.Sprintf("file %s may not be read", e.Name)
	case e.Kind == File:
		return fmt.Sprintf("file %s cannot be read", e.Name)
	case e.Kind == Env:
		return fmt.Sprintf("environment variable %s is not set and has no default", e.Name)
	}
	return fmt.Sprintf("%s %s has no value", e.Kind, e.Name)
}

// Unwrap is why a file cannot be read, else nil. Its text is not this package's.
func (e *UnsetError) Unwrap() error { return e.err }

// Expand puts values in place of the variables of a text. A default also stands in for an empty variable, as
// in a POSIX shell; an empty variable without a default is the empty text. A ${ without a } is itself. A nil
// Resolver knows nothing. The error is an *UnsetError, for the first variable that has no value.
func Expand(text string, n Notation, r *Resolver) (string, error) {
	if r == nil {
		r = &Resolver{}
	}
	var b strings.Builder
	for _, p := range split(text, n) {
		if p.ref == nil {
			b.WriteString(p.literal)
			continue
		}
		v, err := r.value(*p.ref)
		if err != nil {
			return "", err
		}
		b.WriteString(v)
	}
	return b.String(), nil
}

func (r *Resolver) value(ref Ref) (string, error) {
	unset := &UnsetError{Kind: ref.Kind, Name: ref.Name}
	known := func(v string) (string, error) {
		if v == "" {
			return "", unset
		}
		return v, nil
	}
	look := r.Env
	switch ref.Kind {
	case Workspace:
		if ref.Name == workspaceBase && r.Workspace != "" {
			return filepath.Base(r.Workspace), nil
		}
		return known(r.Workspace)
	case Home:
		return known(r.Home)
	case Separator:
		return string(filepath.Separator), nil
	case File:
		return r.file(unset)
	case Input:
		look = r.Input
	case Secret:
		look = r.Secret
	}
	var v string
	var ok bool
	if look != nil {
		v, ok = look(ref.Name)
	}
	switch {
	case ref.HasDefault && (!ok || v == ""):
		return ref.Default, nil
	case !ok:
		return "", unset
	}
	return v, nil
}

func (r *Resolver) file(unset *UnsetError) (string, error) {
	if r.ReadFile == nil {
		return "", unset
	}
	v, err := r.ReadFile(unset.Name)
	if err != nil {
		unset.err = err
		return "", unset
	}
	return strings.TrimRight(v, "\r\n"), nil
}

// Refs are the variables of a text, in its order, one for each time that it stands there.
func Refs(text string, n Notation) []Ref {
	var refs []Ref
	for _, p := range split(text, n) {
		if p.ref != nil {
			refs = append(refs, *p.ref)
		}
	}
	return refs
}
