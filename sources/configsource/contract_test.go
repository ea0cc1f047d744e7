package configsource

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/sources/sourcetest"
)

func TestContract(t *testing.T) {
	sourcetest.Run(t, func(t *testing.T) toolsource.ToolSource {
		defs, problems, err := Parse("f.toml", []byte(
			execTool(t, "say", "args", "\"--\", \"{text}\"\ngrade = '1,0'\nargs = [{ name = 'text', type = 'str' }]\nenv = { TOKEN = 's3cret' }\noutput = 'json'")+
				execTool(t, "bad", "fail", "\"3\"\ngrade = '1,0'")+
				"[[tools]]\nname = 'fn'\nfunc = 'echo'\ngrade = '0,0'\n"))
		if err != nil || problems != nil {
			t.Fatal(err, problems)
		}
		return New(defs, &Options{Funcs: funcs, Workspace: t.TempDir()})
	}, "say", "bad", "fn")
}

func TestContractOfTheDefaults(t *testing.T) {
	sourcetest.Run(t, func(t *testing.T) toolsource.ToolSource {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("alpha"), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Defaults(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}, "read_file", "find_files", "write_file", "edit_file")
}
