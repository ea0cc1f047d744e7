// Package childenv makes the environment of a child process: a small base of our own that says where
// things are and which language is spoken, never a credential, and what the child's configuration declares.
package childenv

import (
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/toolsource/toolsource"
)

var base = []string{
	"PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "SHELL", "TMPDIR",

	"XDG_CACHE_HOME", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "XDG_CURRENT_DESKTOP", "XDG_DATA_DIRS",
	"XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE", "XDG_STATE_HOME",

	"ALLUSERSPROFILE", "APPDATA", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432",
	"COMPUTERNAME", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS",
	"PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)",
	"PROGRAMW6432", "PUBLIC", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERDOMAIN", "USERNAME",
	"USERPROFILE", "WINDIR",
}

// Of is the whole environment of a child, sorted, "NAME=value" each. What own declares wins, whatever its
// case on Windows. lookup nil: os.LookupEnv.
func Of(own map[string]toolsource.Secret, lookup func(string) (string, bool)) []string {
	if lookup == nil {
		lookup = os.LookupEnv
	}
	env := map[string]string{}
	for _, name := range base {
		if v, ok := lookup(name); ok {
			env[name] = v
		}
	}
	for name, v := range own {
		if runtime.GOOS == "windows" {
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
