package procgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// LookPath finds the file that a command names. A name with a path separator is taken as it is, relative
// to dir. A bare name is searched for on the PATH of env only, never on our own: without a PATH there is
// nowhere to look, and an empty PATH, or an empty entry of it, means dir. The file found is absolute
// unless dir is relative. Errors wrap exec.ErrNotFound, fs.ErrNotExist or fs.ErrPermission and say where
// was looked.
func LookPath(name string, env []string, dir string) (string, error) {
	exts := extensions(env)
	switch {
	case name == "":
		return "", fmt.Errorf("no command: %w", exec.ErrNotFound)
	case strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator):
		file := inDir(dir, name)
		found, err := executable(file, exts)
		if err != nil {
			return "", fmt.Errorf("command %q: %w", name, err)
		}
		return found, nil
	}
	path, ok := lookupEnv(env, "PATH")
	if !ok {
		return "", notFound(fmt.Sprintf("command %q not found: its environment has no PATH", name))
	}
	var denied error
	dirs := filepath.SplitList(path)
	if path == "" {
		dirs = []string{""}
	}
	for _, d := range dirs {
		found, err := executable(inDir(dir, filepath.Join(d, name)), exts)
		if err == nil {
			return found, nil
		}
		if denied == nil && !errors.Is(err, fs.ErrNotExist) {
			denied = err
		}
	}
	if denied != nil {
		return "", fmt.Errorf("command %q: %w", name, denied)
	}
	return "", notFound(fmt.Sprintf("command %q not found on its PATH %q", name, path))
}

// notFound is exec.ErrNotFound in words of ours: its own speak of the program's PATH.
type notFound string

func (e notFound) Error() string { return string(e) }
func (e notFound) Unwrap() error { return exec.ErrNotFound }

func inDir(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	if dir == "" {
		dir = "."
		if wd, err := os.Getwd(); err == nil {
			dir = wd
		}
	}
	return filepath.Join(dir, name)
}

// executable is the file itself, or the file with the first extension that exists.
func executable(file string, exts []string) (string, error) {
	if len(exts) == 0 {
		return file, checkExecutable(file)
	}
	if filepath.Ext(file) != "" && checkExecutable(file) == nil {
		return file, nil
	}
	for _, e := range exts {
		if checkExecutable(file+e) == nil {
			return file + e, nil
		}
	}
	return "", &fs.PathError{Op: "find", Path: file, Err: fs.ErrNotExist}
}

func checkExecutable(file string) error {
	st, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case st.IsDir():
		return &fs.PathError{Op: "run", Path: file, Err: fmt.Errorf("is a directory: %w", fs.ErrPermission)}
	case runtime.GOOS != "windows" && st.Mode()&0o111 == 0:
		return &fs.PathError{Op: "run", Path: file, Err: fmt.Errorf("is not executable: %w", fs.ErrPermission)}
	}
	return nil
}

// extensions are those that Windows tries, in order; none elsewhere.
func extensions(env []string) []string {
	if runtime.GOOS != "windows" {
		return nil
	}
	list, ok := lookupEnv(env, "PATHEXT")
	if !ok || list == "" {
		list = ".COM;.EXE;.BAT;.CMD"
	}
	return strings.Split(strings.ToLower(list), ";")
}

// lookupEnv gives the last setting of a variable, whatever its case on Windows.
func lookupEnv(env []string, key string) (value string, ok bool) {
	for _, kv := range env {
		k, v, is := strings.Cut(kv, "=")
		if is && (k == key || runtime.GOOS == "windows" && strings.EqualFold(k, key)) {
			value, ok = v, true
		}
	}
	return value, ok
}
