package childenv

import "testing"

func TestInjects(t *testing.T) {
	for _, tt := range []struct{ why, name, value, want string }{
		{"loads a library", "LD_PRELOAD", "/tmp/x.so", "the loader"},
		{"audits", "LD_AUDIT", "x", "the loader"},
		{"another place for libraries", "LD_LIBRARY_PATH", "/tmp", "the loader"},
		{"the same on macOS", "DYLD_INSERT_LIBRARIES", "x", "the loader"},
		{"case", "ld_preload", "x", "the loader"},
		{"even empty", "BASH_ENV", "", "the shell"},
		{"of other shells", "ENV", "x", "the shell"},
		{"a function under its name", "BASH_FUNC_ls%%", "x", "the shell"},
		{"a function under any", "X", "() { :; }", "the shell"},
		{"Python's", "PYTHONSTARTUP", "x.py", "Python"},
		{".NET's", "DOTNET_STARTUP_HOOKS", "x.dll", ".NET"},
		{"by npm", "npm_config_node_options", "x", "npm"},
		{"Node loads", "NODE_OPTIONS", "--no-warnings --require=/tmp/x.js", "Node"},
		{"Node loads, short", "NODE_OPTIONS", "-r /tmp/x.js", "Node"},
		{"Node loads, with underscores", "NODE_OPTIONS", "--experimental_loader x", "Node"},
		{"Node loads, quoted", "NODE_OPTIONS", `"--import" x`, "Node"},
		{"Java loads", "JAVA_TOOL_OPTIONS", "-Xmx1g -javaagent:x.jar", "Java"},

		{"Node's memory", "NODE_OPTIONS", "--max-old-space-size=4096 --no-warnings", ""},
		{"Java's memory", "JAVA_TOOL_OPTIONS", "-Xmx512m", ""},
		{"programs", "PATH", "/tmp", ""},
		{"modules", "PYTHONPATH", "/src", ""},
		{"modules of Node", "NODE_PATH", "/src", ""},
		{"a key", "API_KEY", "x", ""},
		{"a name that begins alike", "LDAP_URL", "x", ""},
		{"a name that has one in it", "MY_ENV", "x", ""},
	} {
		if got := Injects(tt.name, tt.value); got != tt.want {
			t.Errorf("%s: %s: %q, want %q", tt.why, tt.name, got, tt.want)
		}
	}
}
