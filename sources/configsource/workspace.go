package configsource

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/toolsource/toolsource"
)

// workspace is the folder that commands run in and that no path of a file leaves. It is opened when it is
// first needed.
type workspace struct {
	dir     string
	writing chan struct{} // holds the one who changes files, so that two edits never lose each other

	mu     sync.Mutex
	root   *os.Root
	closed bool
}

// open gives the root, which stays the workspace's.
func (w *workspace) open() (*os.Root, error) {
	w.mu.Lock()
	root, closed := w.root, w.closed
	w.mu.Unlock()
	switch {
	case closed:
		return nil, toolsource.ErrClosed
	case root != nil:
		return root, nil
	case w.dir == "":
		return nil, errNoWorkspace
	}
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	w.mu.Lock()
	if w.root == nil && !w.closed {
		w.root = root
		w.mu.Unlock()
		return root, nil
	}
	spare, root, closed := root, w.root, w.closed
	w.mu.Unlock()
	_ = spare.Close()
	if closed {
		return nil, toolsource.ErrClosed
	}
	return root, nil
}

func (w *workspace) close() error {
	w.mu.Lock()
	root := w.root
	w.root, w.closed = nil, true
	w.mu.Unlock()
	if root == nil {
		return nil
	}
	return root.Close()
}

func outside(path string) error {
	return fmt.Errorf("%w: %q is outside the workspace", toolsource.ErrDenied, path)
}

// rel is a path within the workspace, in the system's form. An absolute path inside the workspace is
// accepted.
func (w *workspace) rel(path string) (string, error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("%w: the path is empty or holds a NUL character", toolsource.ErrBadArguments)
	}
	p := filepath.Clean(filepath.FromSlash(path))
	if !filepath.IsAbs(p) {
		if !filepath.IsLocal(p) {
			return "", outside(path)
		}
		return p, nil
	}
	for _, base := range w.bases() {
		if r, err := filepath.Rel(base, p); err == nil && filepath.IsLocal(r) {
			return r, nil
		}
	}
	return "", outside(path)
}

// bases are the names by which the workspace is known: as given, and without symbolic links.
func (w *workspace) bases() []string {
	abs, err := filepath.Abs(w.dir)
	if err != nil {
		return nil
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
		return []string{abs, real}
	}
	return []string{abs}
}

// folder is the working directory of a command: the workspace, or a folder in it. No symbolic link leads
// out of it.
func (w *workspace) folder(dir string) (string, error) {
	base, err := filepath.Abs(w.dir)
	if err == nil {
		base, err = filepath.EvalSymlinks(base)
	}
	if err != nil {
		return "", fmt.Errorf("workspace: %w", err)
	}
	if dir == "" {
		return base, nil
	}
	full, err := filepath.EvalSymlinks(filepath.Join(base, filepath.FromSlash(dir)))
	if err != nil {
		return "", fmt.Errorf("dir: %w", err)
	}
	if r, err := filepath.Rel(base, full); err != nil || !filepath.IsLocal(r) {
		return "", fmt.Errorf("dir: %w", outside(dir))
	}
	return full, nil
}

// change waits for the right to change files.
func (w *workspace) change(ctx context.Context) (done func(), err error) {
	select {
	case w.writing <- struct{}{}:
		return func() { <-w.writing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// plain makes a file error short: the path as it was given and the reason.
func plain(path string, err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	reason := err
	switch {
	case strings.Contains(err.Error(), "path escapes from parent"):
		return outside(path)
	case errors.Is(err, fs.ErrClosed):
		return toolsource.ErrClosed
	case errors.As(err, &pe):
		reason = pe.Err
	case errors.As(err, &le):
		reason = le.Err
	}
	return fmt.Errorf("%s: %w", path, reason)
}
