package mcpclient

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/toolsource/toolsource/internal/childenv"
	"github.com/toolsource/toolsource/internal/procgroup"
)

// expandHome replaces a leading ~ by the child's own home.
func expandHome(path string, env []string) string {
	return expandHomeOn(path, env, runtime.GOOS == "windows")
}

func expandHomeOn(path string, env []string, windows bool) string {
	if path != "~" && !strings.HasPrefix(path, "~/") && !(windows && strings.HasPrefix(path, `~\`)) {
		return path
	}
	name := "HOME"
	if windows {
		name = "USERPROFILE"
	}
	if home, ok := childenv.ValueOn(env, name, windows); ok && home != "" {
		return filepath.Join(home, path[1:])
	}
	return path
}

// command finds the file of the command on the child's own PATH. remedy is what to do if there is none.
func command(cfg *ServerConfig, env []string, dir string) (file, remedy string, err error) {
	file, err = procgroup.LookPath(expandHome(cfg.Command, env), env, dir)
	if err == nil {
		return file, "", nil
	}
	if words := splitLine(cfg.Command); len(words) > 1 {
		first := expandHome(words[0], env)
		if _, e := procgroup.LookPath(first, env, dir); e == nil || !strings.ContainsAny(first, `/\`) {
			return "", fmt.Sprintf("command holds a whole line, and is not split; write command = %q and args = %s", words[0], quoteList(append(words[1:], cfg.Args...))), err
		}
	}
	return "", "install it, give its full path as command, or put its folder into PATH in env", err
}

// splitLine takes a command line apart as a shell would, for a proposal; nil: it cannot be.
func splitLine(line string) (words []string) {
	var word strings.Builder
	open, quote := false, rune(0)
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			open, quote = true, c
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if open {
				words = append(words, word.String())
				word.Reset()
			}
			open = false
		default:
			word.WriteRune(c)
			open = true
		}
	}
	if quote != 0 {
		return nil
	}
	if open {
		words = append(words, word.String())
	}
	return words
}

func quoteList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = fmt.Sprintf("%q", w)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
