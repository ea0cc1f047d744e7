package configsource

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolsource/toolsource"
)

// glob is a pattern, one segment for each element of a path. A walk keeps the set of segments that the
// next element may match, so that its cost does not grow with the number of ** in the pattern.
type glob []segment

type segment struct {
	pattern string // of path.Match
	deep    bool   // "**": any number of elements, none included
}

// parseGlob reads a pattern with forward slashes: *, ?, [a-z], [!a-z] and \ within an element, ** for any
// number of folders.
func parseGlob(pattern string) (glob, error) {
	var g glob
	for _, s := range strings.Split(pattern, "/") {
		switch {
		case s == "" || s == ".":
			continue
		case s == "..":
			return nil, outside(pattern)
		case s == "**":
			if len(g) == 0 || !g[len(g)-1].deep {
				g = append(g, segment{deep: true})
			}
			continue
		}
		s = caret(s)
		if _, err := path.Match(s, ""); err != nil {
			return nil, fmt.Errorf("%w: %q is not a pattern", toolsource.ErrBadArguments, pattern)
		}
		g = append(g, segment{pattern: s})
	}
	if len(g) == 0 {
		return nil, fmt.Errorf("%w: the pattern is empty", toolsource.ErrBadArguments)
	}
	return g, nil
}

// caret writes a class that is negated with ! as path.Match wants it, with ^.
func caret(s string) string {
	b := []byte(s)
	for i := 0; i < len(b)-1; i++ {
		switch {
		case b[i] == '\\':
			i++
		case b[i] == '[' && b[i+1] == '!':
			b[i+1] = '^'
		}
	}
	return string(b)
}

// start is the set of segments that the first element of a path may match.
func (g glob) start() []int { return g.close([]int{0}) }

// close adds what can be reached without an element: what follows a **.
func (g glob) close(set []int) []int {
	for i := 0; i < len(set); i++ {
		if at := set[i]; at < len(g) && g[at].deep && !slices.Contains(set, at+1) {
			set = append(set, at+1)
		}
	}
	return set
}

// step is the set after an element. A name that begins with a dot is only matched by a segment that does.
func (g glob) step(set []int, name string) []int {
	var next []int
	hidden := strings.HasPrefix(name, ".")
	for _, at := range set {
		to := -1
		switch {
		case at == len(g):
		case g[at].deep:
			if !hidden {
				to = at
			}
		case hidden && !strings.HasPrefix(g[at].pattern, "."):
		default:
			if ok, _ := path.Match(g[at].pattern, name); ok {
				to = at + 1
			}
		}
		if to >= 0 && !slices.Contains(next, to) {
			next = append(next, to)
		}
	}
	return g.close(next)
}

// matches reports whether a set stands at the end of the pattern.
func (g glob) matches(set []int) bool { return slices.Contains(set, len(g)) }

// goesOn reports whether a longer path can match.
func (g glob) goesOn(set []int) bool {
	return slices.ContainsFunc(set, func(at int) bool { return at < len(g) })
}

// find gives the regular files that match a pattern, as paths relative to the workspace with forward
// slashes, sorted. Hidden files and folders are matched only by a segment that begins with a dot. Folders
// that are symbolic links are not entered; files that are count if they stay in the workspace. A name that
// is not UTF-8 is left out. The result is cut at max_results paths and max_entries entries.
func (f *files) find(ctx context.Context, args map[string]any) (any, bool, error) {
	pattern := filepath.ToSlash(args["pattern"].(string))
	if filepath.IsAbs(filepath.FromSlash(pattern)) {
		inside, err := f.inside(pattern)
		if err != nil {
			return nil, false, err
		}
		pattern = inside
	}
	g, err := parseGlob(pattern)
	if err != nil {
		return nil, false, err
	}
	root, err := f.space.open()
	if err != nil {
		return nil, false, err
	}
	w := &walk{files: f, ctx: ctx, root: root, glob: g}
	if err := w.dir(".", g.start()); err != nil {
		return nil, false, err
	}
	slices.Sort(w.found)
	out := make([]any, len(w.found))
	for i, p := range w.found {
		out[i] = p
	}
	return out, w.cut, nil
}

// inside makes an absolute pattern relative to the workspace.
func (f *files) inside(pattern string) (string, error) {
	for _, base := range f.space.bases() {
		if rest, ok := strings.CutPrefix(pattern, strings.TrimSuffix(filepath.ToSlash(base), "/")+"/"); ok {
			return rest, nil
		}
	}
	return "", outside(pattern)
}

type walk struct {
	*files
	ctx     context.Context
	root    *os.Root
	glob    glob
	found   []string
	entries int
	cut     bool
}

// dir searches a folder. One that cannot be read, below the workspace itself, has no files.
func (w *walk) dir(dir string, set []int) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	list, err := fs.ReadDir(w.root.FS(), filepath.ToSlash(dir))
	if err != nil && dir == "." {
		return plain(dir, err)
	}
	for _, e := range list {
		if w.cut {
			return nil
		}
		if w.entries++; w.entries > w.maxEntries {
			w.cut = true
			return nil
		}
		next := w.glob.step(set, e.Name())
		if len(next) == 0 || !utf8.ValidString(e.Name()) {
			continue
		}
		at := path.Join(dir, e.Name())
		if e.IsDir() {
			if w.glob.goesOn(next) {
				if err := w.dir(at, next); err != nil {
					return err
				}
			}
			continue
		}
		if w.glob.matches(next) && w.isFile(at, e) {
			if len(w.found) == w.maxResults {
				w.cut = true
				return nil
			}
			w.found = append(w.found, at)
		}
	}
	return nil
}

func (w *walk) isFile(at string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.Type().IsRegular()
	}
	st, err := w.root.Stat(filepath.FromSlash(at))
	return err == nil && st.Mode().IsRegular()
}
