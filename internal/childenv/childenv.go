// Package childenv makes the environment of a child process: a small base of our own that says where
// things are and which language is spoken, never a credential, and what the child's configuration declares.
package childenv

import (
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/toolsource/toolsource"
)

// base are the names that are passed on, on every system: those of Windows do not exist elsewhere.
var base = []string{
	"PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "SHELL", "TMPDIR",

	"XDG_BIN_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "XDG_CURRENT_DESKTOP", "XDG_DATA_DIRS",
	"XDG_DATA_HOME", "XDG_DESKTOP_DIR", "XDG_DOCUMENTS_DIR", "XDG_DOWNLOAD_DIR", "XDG_MENU_PREFIX", "XDG_MUSIC_DIR",
	"XDG_PICTURES_DIR", "XDG_PUBLICSHARE_DIR", "XDG_RUNTIME_DIR", "XDG_SEAT", "XDG_SESSION_CLASS",
	"XDG_SESSION_DESKTOP", "XDG_SESSION_ID", "XDG_SESSION_TYPE", "XDG_STATE_HOME", "XDG_TEMPLATES_DIR",
	"XDG_VIDEOS_DIR", "XDG_VTNR",

	"ALLUSERSPROFILE", "APPDATA", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432",
	"COMPUTERNAME", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS",
	"PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)",
	"PROGRAMW6432", "PUBLIC", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERDOMAIN", "USERNAME",
	"USERPROFILE", "WINDIR",
}

// InBase reports whether a name is one of the base, in any case: its value says where something is, and is
// no secret.
func InBase(name string) bool { return slices.Contains(base, strings.ToUpper(name)) }

// Of is the whole environment of a child, sorted, "NAME=value" each. What own declares wins. On Windows no
// name is there twice, whatever its case; of own's spellings the last one in their order counts. Shell
// functions are never passed on. lookup nil: os.LookupEnv.
func Of(own map[string]toolsource.Secret, lookup func(string) (string, bool)) []string {
	if lookup == nil {
		lookup = os.LookupEnv
	}
	return of(own, lookup, runtime.GOOS == "windows")
}

func of(own map[string]toolsource.Secret, lookup func(string) (string, bool), windows bool) []string {
	env := map[string]string{}
	for _, name := range base {
		if v, ok := lookup(name); ok && !strings.HasPrefix(v, "()") {
			env[name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if windows {
			maps.DeleteFunc(env, func(have, _ string) bool { return strings.EqualFold(have, name) })
		}
		env[name] = own[name].Reveal()
	}
	list := make([]string, 0, len(env))
	for name, v := range env {
		list = append(list, name+"="+v)
	}
	slices.Sort(list)
	return list
}

// Value is the last setting of a name in an environment, whatever its case on Windows.
func Value(env []string, name string) (value string, ok bool) {
	return ValueOn(env, name, runtime.GOOS == "windows")
}

// ValueOn is Value as on Windows, or as elsewhere.
func ValueOn(env []string, name string, windows bool) (value string, ok bool) {
	for _, e := range env {
		n, v, is := strings.Cut(e, "=")
		if is && (n == name || windows && strings.EqualFold(n, name)) {
			value, ok = v, true
		}
	}
	return value, ok
}
