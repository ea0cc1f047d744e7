package configsource

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/toolsource/toolsource"
)

// Limits of the provider "file", each a key of a definition.
const (
	defaultMaxBytes   = 10 << 20 // max_bytes: the largest file that is read, edited or written
	defaultMaxResults = 10_000   // max_results: paths that find gives; more are cut
	defaultMaxEntries = 200_000  // max_entries: folder entries that find looks at; the rest is not searched
	chunk             = 256 << 10
)

// files is a definition of provider "file".
type files struct {
	space *workspace
	tool  string

	maxBytes, maxResults, maxEntries int
}

// operations are what the provider can do, each with the arguments that a definition has to declare.
var operations = map[string]struct {
	args []string
	run  func(*files, context.Context, map[string]any) (any, bool, error)
}{
	"read":  {[]string{"path"}, (*files).read},
	"find":  {[]string{"pattern"}, (*files).find},
	"write": {[]string{"path", "content"}, (*files).write},
	"edit":  {[]string{"path", "old_str", "new_str"}, (*files).edit},
}

// fileProvider works on files of the workspace, and of nothing else: neither "..", nor an absolute path,
// nor a symbolic link leads out of it. Its key operation is one of:
//
//	read   (path)                   the text of a regular file; one that is larger than max_bytes or not UTF-8 is an error
//	find   (pattern)                files that match, see find
//	write  (path, content)          replaces or makes a file, whole or not at all; its folder has to exist
//	edit   (path, old_str, new_str) replaces the first occurrence; false, and nothing written, where there is none
func fileProvider(space *workspace) Provider {
	return NewProvider(func(def Definition) (toolsource.Callable, error) {
		s := settings{config: def.Config}
		name := s.str("operation")
		f := &files{
			space: space, tool: def.Spec.Name, maxBytes: s.number("max_bytes", defaultMaxBytes),
			maxResults: s.number("max_results", defaultMaxResults), maxEntries: s.number("max_entries", defaultMaxEntries),
		}
		op, ok := operations[name]
		switch {
		case s.err != nil:
			return nil, s.err
		case !ok:
			return nil, badKey("operation", nearest(name, "operations", operations), "no operation is called %q", name)
		case space.dir == "":
			return nil, errNoWorkspace
		}
		for _, want := range op.args {
			if !declaresStr(def.Spec, want) {
				return nil, badKey("operation", "declare it in args", "%q needs a required argument %q of type str", name, want)
			}
		}
		return func(ctx context.Context, args map[string]any) (toolsource.Result, error) {
			v, cut, err := op.run(f, ctx, args)
			if err != nil {
				return toolsource.Result{}, f.failed(err)
			}
			r := toolsource.Value(v)
			r.Truncated = cut
			return r, nil
		}, nil
	}, "operation", "max_bytes", "max_results", "max_entries")
}

func declaresStr(spec toolsource.ToolSpec, name string) bool {
	for _, a := range spec.Args {
		if a.Name == name {
			return a.Type == "str" && (a.Required || a.Default != nil)
		}
	}
	return false
}

// failed makes of what the file system said the tool's own answer; refusals and ends of contexts stay what
// they are.
func (f *files) failed(err error) error {
	for _, own := range []error{toolsource.ErrDenied, toolsource.ErrBadArguments, toolsource.ErrClosed, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, own) {
			return err
		}
	}
	return &toolsource.ToolError{Tool: f.tool, Err: err}
}

func (f *files) read(ctx context.Context, args map[string]any) (any, bool, error) {
	text, _, err := f.load(ctx, args["path"].(string))
	return text, false, err
}

// load gives a file's text and mode.
func (f *files) load(ctx context.Context, path string) (string, fs.FileMode, error) {
	root, rel, err := f.at(path)
	if err != nil {
		return "", 0, err
	}
	file, err := root.OpenFile(rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return "", 0, plain(path, err)
	}
	defer file.Close()
	st, err := regular(path, file)
	if err != nil {
		return "", 0, err
	}
	if st.Size() > int64(f.maxBytes) {
		return "", 0, f.tooLarge(path, st.Size())
	}
	var b strings.Builder
	buf := make([]byte, min(chunk, st.Size()+1))
	for {
		if err := ctx.Err(); err != nil {
			return "", 0, err
		}
		n, err := file.Read(buf)
		b.Write(buf[:n])
		switch {
		case b.Len() > f.maxBytes:
			return "", 0, f.tooLarge(path, int64(b.Len()))
		case errors.Is(err, io.EOF):
			if !utf8.ValidString(b.String()) {
				return "", 0, fmt.Errorf("%s is not UTF-8 text", path)
			}
			return b.String(), st.Mode().Perm(), nil
		case err != nil:
			return "", 0, plain(path, err)
		}
	}
}

func (f *files) at(path string) (*os.Root, string, error) {
	rel, err := f.space.rel(path)
	if err != nil {
		return nil, "", err
	}
	root, err := f.space.open()
	return root, rel, err
}

func regular(path string, file *os.File) (fs.FileInfo, error) {
	st, err := file.Stat()
	switch {
	case err != nil:
		return nil, plain(path, err)
	case st.IsDir():
		return nil, fmt.Errorf("%s is a folder", path)
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return st, nil
}

func (f *files) tooLarge(path string, size int64) error {
	return fmt.Errorf("%s has %d bytes, and the limit is %d (max_bytes)", path, size, f.maxBytes)
}

func (f *files) write(ctx context.Context, args map[string]any) (any, bool, error) {
	done, err := f.space.change(ctx)
	if err != nil {
		return nil, false, err
	}
	defer done()
	return true, false, f.store(ctx, args["path"].(string), args["content"].(string))
}

func (f *files) edit(ctx context.Context, args map[string]any) (any, bool, error) {
	path, old := args["path"].(string), args["old_str"].(string)
	if old == "" {
		return nil, false, fmt.Errorf("%w: argument \"old_str\" is empty", toolsource.ErrBadArguments)
	}
	done, err := f.space.change(ctx)
	if err != nil {
		return nil, false, err
	}
	defer done()
	text, _, err := f.load(ctx, path)
	if err != nil {
		return nil, false, err
	}
	before, after, found := strings.Cut(text, old)
	if !found {
		return false, false, nil
	}
	return true, false, f.store(ctx, path, before+args["new_str"].(string)+after)
}

// store replaces a file by way of a new one beside it, so that a reader sees the old text or the new one.
// The mode is kept; a symbolic link stays and the file that it names is replaced.
func (f *files) store(ctx context.Context, path, content string) error {
	if len(content) > f.maxBytes {
		return f.tooLarge(path, int64(len(content)))
	}
	root, rel, err := f.at(path)
	if err != nil {
		return err
	}
	if rel, err = follow(root, path, rel); err != nil {
		return err
	}
	mode, exists, err := replaceable(root, path, rel)
	if err != nil {
		return err
	}
	if dir := filepath.Dir(rel); !exists {
		if st, err := root.Stat(dir); errors.Is(err, fs.ErrNotExist) || err == nil && !st.IsDir() {
			return fmt.Errorf("%s: the folder %s does not exist", path, filepath.ToSlash(dir))
		}
	}
	temp := filepath.Join(filepath.Dir(rel), ".toolsource-"+rand.Text()+".tmp")
	if err := fill(ctx, root, temp, content, mode, exists); err != nil {
		_ = root.Remove(temp)
		return plain(path, err)
	}
	if err := root.Rename(temp, rel); err != nil {
		_ = root.Remove(temp)
		return plain(path, err)
	}
	return nil
}

// follow gives the file that a path names once its last element is no symbolic link any more.
func follow(root *os.Root, path, rel string) (string, error) {
	for range 40 {
		st, err := root.Lstat(rel)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", plain(path, err)
		}
		if err != nil || st.Mode()&fs.ModeSymlink == 0 {
			return rel, nil
		}
		to, err := root.Readlink(rel)
		if err != nil {
			return "", plain(path, err)
		}
		if filepath.IsAbs(to) {
			return "", outside(path)
		}
		if rel = filepath.Join(filepath.Dir(rel), to); !filepath.IsLocal(rel) {
			return "", outside(path)
		}
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

// replaceable gives the mode of a file that is to be replaced, if it may be written.
func replaceable(root *os.Root, path, rel string) (mode fs.FileMode, exists bool, err error) {
	st, err := root.Lstat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0o666, false, nil
	case err != nil:
		return 0, false, plain(path, err)
	case st.IsDir():
		return 0, false, fmt.Errorf("%s is a folder", path)
	case !st.Mode().IsRegular():
		return 0, false, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := root.OpenFile(rel, os.O_WRONLY|nonblock, 0)
	if err != nil {
		return 0, false, plain(path, err)
	}
	return st.Mode().Perm(), true, file.Close()
}

func fill(ctx context.Context, root *os.Root, temp, content string, mode fs.FileMode, exact bool) error {
	file, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	for len(content) > 0 && err == nil {
		n := min(chunk, len(content))
		if err = ctx.Err(); err == nil {
			_, err = file.WriteString(content[:n])
			content = content[n:]
		}
	}
	if err == nil && exact { // the umask does not apply to a file that was there
		err = file.Chmod(mode)
	}
	return errors.Join(err, file.Close(), ctx.Err())
}
