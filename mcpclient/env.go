package mcpclient

import (
	"path/filepath"
	"runtime"
	"strings"
)

// expandHome replaces a leading ~ by the child's own HOME.
func expandHome(path string, env []string) string {
	if path != "~" && !strings.HasPrefix(path, "~/") && !strings.HasPrefix(path, `~`+string(filepath.Separator)) {
		return path
	}
	key := "HOME="
	if runtime.GOOS == "windows" {
		key = "USERPROFILE="
	}
	for _, e := range env {
		if home, ok := strings.CutPrefix(e, key); ok && home != "" {
			return filepath.Join(home, path[1:])
		}
	}
	return path
}
