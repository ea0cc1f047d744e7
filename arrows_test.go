package toolsource_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/toolsource/toolsource"

// arrows is a statement of policy: what each package of the module may import of the module itself, and
// which packages from outside it may import besides the standard library. A package that is not listed may
// not exist. Do not change it to make a build pass.
var arrows = map[string]struct{ own, outside []string }{
	".":                         {own: []string{"grade"}, outside: []string{"golang.org/x/sync"}},
	"grade":                     {},
	"mcpclient":                 {own: []string{".", "grade", "mcpclient/internal/wire", "internal"}, outside: []string{sdk}},
	"mcpclient/internal/wire":   {own: []string{".", "internal"}, outside: []string{sdk}},
	"mcpclient/internal/matrix": {},
	"mcpclient/mcptest":         {own: []string{".", "grade", "mcpclient", "internal"}, outside: []string{sdk}},
	"sources":                   {own: []string{".", "grade", "mcpclient", "sources", "internal"}},
	"sources/configsource":      {own: []string{".", "grade", "sources/toolschema", "internal"}},
	"sources/mcpsource":         {own: []string{".", "grade", "mcpclient", "sources/toolschema", "internal"}},
	"sources/virtualsource":     {own: []string{".", "grade", "sources/toolschema", "internal"}},
	"sources/hostconfig":        {own: []string{".", "grade", "internal"}},
	"sources/toolschema":        {own: []string{".", "grade"}, outside: []string{"github.com/google/jsonschema-go"}},
	"sources/sourcetest":        {own: []string{".", "grade", "sources/toolschema"}},
	"internal/hostdoc":          {own: []string{"internal/tomldoc"}, outside: []string{"github.com/tailscale/hujson", "go.yaml.in/yaml/v3"}},
	"internal/hostvars":         {},
	"internal/*":                {own: []string{".", "grade", "sources/toolschema", "internal"}, outside: []string{"github.com/BurntSushi/toml"}},
	"examples/*":                {own: []string{"*"}, outside: []string{sdk}},
}

const sdk = "github.com/modelcontextprotocol/go-sdk"

type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
	Standard   bool
}

func goList(t *testing.T, args ...string) []goPackage {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Deps,Standard"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var ps []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return ps
		} else if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
}

// short is an import path within the module, "." for its root.
func short(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

func rule(name string) (string, bool) {
	if _, ok := arrows[name]; ok {
		return name, true
	}
	for key := range arrows {
		if dir, ok := strings.CutSuffix(key, "/*"); ok && strings.HasPrefix(name, dir+"/") {
			return key, true
		}
	}
	return "", false
}

func within(path string, allowed []string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		return a == "*" || path == a || a != "." && strings.HasPrefix(path, a+"/")
	})
}

func TestImportArrows(t *testing.T) {
	seen := 0
	for _, p := range goList(t, "./...") {
		name, _ := short(p.ImportPath)
		key, ok := rule(name)
		if !ok {
			t.Errorf("package %s is not in the policy", name)
			continue
		}
		seen++
		for _, imp := range p.Imports {
			if own, ok := short(imp); ok {
				if !within(own, arrows[key].own) || key != "examples/*" && strings.HasPrefix(own, "examples/") {
					t.Errorf("%s imports %s", name, own)
				}
				continue
			}
			if first, _, _ := strings.Cut(imp, "/"); strings.Contains(first, ".") && !within(imp, arrows[key].outside) {
				t.Errorf("%s imports %s", name, imp)
			}
		}
	}
	if seen < 2 {
		t.Errorf("only %d packages were looked at", seen)
	}
}

func TestTheRootLinksNoSDK(t *testing.T) {
	for _, p := range goList(t, module, module+"/sources/configsource", module+"/sources/virtualsource", module+"/sources/sourcetest", module+"/sources/toolschema", module+"/sources/hostconfig") {
		for _, d := range p.Deps {
			if strings.HasPrefix(d, sdk) {
				t.Errorf("%s depends on %s", p.ImportPath, d)
			}
		}
	}
}

func TestTopLevelFolders(t *testing.T) {
	allowed := []string{"grade", "mcpclient", "sources", "internal", "examples", "testdata"}
	entries, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if fi, err := os.Stat(e); err == nil && fi.IsDir() && e[0] != '.' && !slices.Contains(allowed, e) {
			t.Errorf("top-level folder %s is not in the design", e)
		}
	}
}
