package mcpclient

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/toolsource/toolsource"
)

// baseEnv names what a child gets of our own environment beside what its configuration declares: where
// things are and which language is spoken, never a credential.
var baseEnv = []string{
	"PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "SHELL", "TMPDIR",

	"XDG_CACHE_HOME", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "XDG_CURRENT_DESKTOP", "XDG_DATA_DIRS",
	"XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE", "XDG_STATE_HOME",

	"ALLUSERSPROFILE", "APPDATA", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432",
	"COMPUTERNAME", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS",
	"PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)",
	"PROGRAMW6432", "PUBLIC", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERDOMAIN", "USERNAME",
	"USERPROFILE", "WINDIR",
}

// childEnv is the whole environment of a child, sorted, "NAME=value" each.
func childEnv(own map[string]toolsource.Secret, lookup func(string) (string, bool)) []string {
	if lookup == nil {
		lookup = os.LookupEnv
	}
	env := map[string]string{}
	for _, name := range baseEnv {
		if v, ok := lookup(name); ok {
			env[name] = v
		}
	}
	for name, v := range own {
		if runtime.GOOS == "windows" { // names differ by more than case there
			for have := range env {
				if strings.EqualFold(have, name) {
					delete(env, have)
				}
			}
		}
		env[name] = v.Reveal()
	}
	list := make([]string, 0, len(env))
	for name, v := range env {
		list = append(list, name+"="+v)
	}
	slices.Sort(list)
	return list
}

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
