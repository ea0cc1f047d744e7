package childenv

import "strings"

// injecting are the names whose use is to have code run that the command does not name, and what reads them.
// The others of this kind are injectingPrefixes, and injectingOptions by their values. Names that say where
// programs, modules and settings are looked for, as PATH, PYTHONPATH and NODE_PATH do, are not among them:
// entries need these, and what they find is still what the command asks for.
var injecting = map[string]string{
	"GCONV_PATH": "the C library", "LIBPATH": "the loader", "SHLIB_PATH": "the loader",
	"BASH_ENV": "the shell", "ENV": "the shell", "ZDOTDIR": "the shell", "PROMPT_COMMAND": "the shell", "PS4": "the shell",
	"SHELLOPTS": "the shell", "BASHOPTS": "the shell",
	"PYTHONSTARTUP": "Python", "PYTHONHOME": "Python", "PYTHONBREAKPOINT": "Python",
	"PERL5OPT": "Perl", "PERL5DB": "Perl", "RUBYOPT": "Ruby", "LUA_INIT": "Lua", "R_PROFILE": "R", "R_PROFILE_USER": "R",
	"PHPRC": "PHP", "PHP_INI_SCAN_DIR": "PHP",
	"DOTNET_STARTUP_HOOKS": ".NET", "NPM_CONFIG_NODE_OPTIONS": "npm", "NPM_CONFIG_SCRIPT_SHELL": "npm",
}

var injectingPrefixes = []struct{ prefix, reader string }{
	{"LD_", "the loader"}, {"DYLD_", "the loader"}, {"_RLD_", "the loader"},
	{"BASH_FUNC_", "the shell"},
	{"CORECLR_", ".NET"}, {"COR_PROFILER", ".NET"}, {"COR_ENABLE_PROFILING", ".NET"},
}

// injectingOptions are names that hold options, of which only some load code: most set a limit of memory or
// the like, and stay usable.
var injectingOptions = map[string]struct {
	reader  string
	options []string
}{
	"NODE_OPTIONS":      {"Node", []string{"--require", "-r", "--import", "--loader", "--experimental-loader", "--inspect", "--debug", "--env-file", "--openssl-config", "--experimental-config-file", "--experimental-default-config-file"}},
	"JAVA_TOOL_OPTIONS": java, "_JAVA_OPTIONS": java, "JDK_JAVA_OPTIONS": java,
}

var java = struct {
	reader  string
	options []string
}{"Java", []string{"-javaagent", "-agentlib", "-agentpath", "-Xbootclasspath", "-Xrun", "-XX:OnError", "-XX:OnOutOfMemoryError", "-XX:Flags", "-XX:VMOptionsFile", "-cp", "-classpath", "--class-path", "--patch-module", "--module-path", "-Djava.system.class.loader", "@"}}

// Injects says who would run code that the command does not name if the environment had this setting; "":
// nobody that is known. The case of names does not count, as it does not on Windows. A value that defines a
// shell function injects under any name.
func Injects(name, value string) (reader string) {
	name = strings.ToUpper(name)
	if r, ok := injecting[name]; ok {
		return r
	}
	for _, p := range injectingPrefixes {
		if strings.HasPrefix(name, p.prefix) {
			return p.reader
		}
	}
	if strings.HasPrefix(value, "()") {
		return "the shell"
	}
	if o, ok := injectingOptions[name]; ok {
		for word := range strings.FieldsSeq(value) {
			word = strings.ReplaceAll(strings.Trim(word, `"'`), "_", "-") // Node takes either
			for _, option := range o.options {
				if strings.HasPrefix(word, option) {
					return o.reader
				}
			}
		}
	}
	return ""
}
