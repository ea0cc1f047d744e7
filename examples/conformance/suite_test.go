package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// TestMain is the client where the suite starts this binary.
func TestMain(m *testing.M) {
	if os.Getenv("MCP_CONFORMANCE_SCENARIO") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// suites are the pinned versions of the suite, by the names that testdata/conformance/package.json gives
// them, and the revisions of the protocol that each is run for.
var suites = []struct {
	pkg, version string
	revisions    []string // none: the suite runs a scenario in one way only
}{
	{"conformance-2025", "0.1.16", nil},
	{"conformance-2026", "0.2.0-alpha.12", []string{"2025-11-25", "2026-07-28"}},
}

// excluded are the scenarios that are not run, by name or by what their names begin with, and why.
var excluded = []struct{ prefix, reason string }{
	{"auth/", "OAuth is the business of the handler that a host gives"},
	{"sep-2640-", "an extension (skills), in no revision of the protocol; mcpclient has none of its requests"},
}

// alone are the scenarios that measure time.
var alone = []string{"sse-retry"}

// TestConformance runs every client scenario that the suites list and that is not excluded.
func TestConformance(t *testing.T) {
	dir := suiteFolder(t)
	var tab table
	known := map[string]bool{}
	t.Run("scenarios", func(t *testing.T) {
		for _, s := range suites {
			checkPin(t, dir, s.pkg, s.version)
			listed := listScenarios(t, dir, s.pkg)
			for _, sc := range listed {
				known[sc.name] = true
				for _, revision := range revisionsOf(sc, s.revisions) {
					r := row{suite: s.version, revision: revision, scenario: sc.name}
					if why := whyNot(sc.name); why != "" {
						r.outcome, r.note = "not run", why
						tab.add(r)
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%s", s.version, revision, sc.name), func(t *testing.T) {
						if !slices.Contains(alone, sc.name) {
							t.Parallel()
						}
						tab.add(play(t, dir, s.pkg, r))
					})
				}
			}
		}
	})
	for name := range scenarios {
		if !known[name] || whyNot(name) != "" {
			t.Errorf("there is a script for %q, which no suite has, or which is excluded", name)
		}
	}
	for _, e := range excluded {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(known)), func(name string) bool { return strings.HasPrefix(name, e.prefix) }) {
			t.Errorf("no suite has a scenario %s...", e.prefix)
		}
	}
	t.Log("client scenarios of the protocol's conformance suite:\n" + tab.String())
}

// suiteFolder is where the suites are installed. Without them, or without Node, the test is skipped with the
// reason, unless TOOLSOURCE_REAL_SERVERS is "required".
func suiteFolder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../testdata/conformance")
	if err != nil {
		t.Fatal(err)
	}
	missing := ""
	if _, err := exec.LookPath("node"); err != nil {
		missing = "there is no Node"
	}
	for _, s := range suites {
		if _, err := os.Stat(filepath.Join(dir, "node_modules", s.pkg)); err != nil {
			missing = "run npm install in testdata/conformance"
		}
	}
	if missing != "" {
		if os.Getenv("TOOLSOURCE_REAL_SERVERS") == "required" {
			t.Fatal(missing)
		}
		t.Skip("conformance suite: " + missing)
	}
	return dir
}

// checkPin reports a package that is not the version that is pinned.
func checkPin(t *testing.T, dir, pkg, version string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "node_modules", pkg, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var p struct{ Version string }
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	if p.Version != version {
		t.Fatalf("%s is %s, want %s: run npm install in testdata/conformance", pkg, p.Version, version)
	}
}

// suite runs a command of a suite. Its children get only as long as they take by themselves, see limit.
func suite(t *testing.T, dir, pkg string, args ...string) (output string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", slices.Concat([]string{"--import", "./globsync.mjs", filepath.Join("node_modules", pkg, "dist", "index.js")}, args)...)
	cmd.Dir = dir
	cmd.WaitDelay = 2 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// scenario is a client scenario, as a suite lists it.
type scenario struct {
	name      string
	revisions []string
}

var listedLine = regexp.MustCompile(`^\s+- (\S+) \[(.*)\]$`)

func listScenarios(t *testing.T, dir, pkg string) []scenario {
	t.Helper()
	out, err := suite(t, dir, pkg, "list", "--client")
	if err != nil {
		t.Fatalf("%s list: %v\n%s", pkg, err, out)
	}
	var list []scenario
	for line := range strings.Lines(out) {
		if m := listedLine.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil {
			list = append(list, scenario{m[1], strings.Split(m[2], ",")})
		}
	}
	if len(list) < 20 {
		t.Fatalf("%s lists only %d client scenarios:\n%s", pkg, len(list), out)
	}
	return list
}

// revisionsOf are those to run a scenario for: all that it and the suite have in common, or else once.
func revisionsOf(sc scenario, of []string) []string {
	var both []string
	for _, r := range sc.revisions {
		if slices.Contains(of, r) {
			both = append(both, r)
		}
	}
	if both == nil {
		return sc.revisions[len(sc.revisions)-1:]
	}
	return both
}

func whyNot(name string) string {
	for _, e := range excluded {
		if strings.HasPrefix(name, e.prefix) {
			return e.reason
		}
	}
	return ""
}

// check is one thing that the suite looked at.
type check struct {
	ID, Name, Status, Description, ErrorMessage string
}

// play runs one scenario and reports, beside what the suite holds against it, one without a success.
func play(t *testing.T, dir, pkg string, r row) row {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	results := t.TempDir()
	args := []string{"client", "--command", `"` + self + `"`, "--scenario", r.scenario, "--output-dir", results}
	if pkg != "conformance-2025" { // whose scenarios know one way
		args = append(args, "--spec-version", r.revision)
	}
	out, err := suite(t, dir, pkg, args...)
	r.outcome = "passed"
	fail := func(format string, args ...any) {
		t.Errorf(format, args...)
		r.outcome = "FAILED"
	}
	for _, c := range readChecks(t, results, out) {
		switch c.Status {
		case "SUCCESS":
			r.success++
		case "SKIPPED":
			r.skipped++
		case "INFO":
		default: // FAILURE, WARNING, and whatever else it may come up with
			r.failure++
			fail("%s %s (%s): %s: %s", c.Status, c.ID, c.Name, c.Description, c.ErrorMessage)
		}
	}
	if r.success == 0 {
		fail("no check was a success")
	}
	if err != nil {
		fail("the suite: %v", err)
	}
	if t.Failed() {
		t.Logf("what it said:\n%s", out)
	}
	return r
}

func readChecks(t *testing.T, dir, out string) []check {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d results, %v: the suite said:\n%s", len(files), err, out)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var checks []check
	if err := json.Unmarshal(text, &checks); err != nil {
		t.Fatalf("%s: %v", files[0], err)
	}
	return checks
}

// row is what came of one scenario.
type row struct {
	suite, revision, scenario, outcome, note string
	success, failure, skipped                int
}

// table collects rows, from tests side by side.
type table struct {
	mu   sync.Mutex
	rows []row
}

func (t *table) add(r row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, r)
}

// String is the table: of each suite what was run, then what was not.
func (t *table) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows := slices.Clone(t.rows)
	slices.SortStableFunc(rows, func(a, b row) int {
		if c := strings.Compare(a.suite, b.suite); c != 0 {
			return c
		}
		if c := strings.Compare(a.note, b.note); c != 0 {
			return c
		}
		return strings.Compare(a.scenario+a.revision, b.scenario+b.revision)
	})
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "suite\trevision\tscenario\toutcome\tsuccesses\tfailures\tskipped\twhy")
	for _, r := range rows {
		if r.note != "" {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t\t\t\t%s\n", r.suite, r.revision, r.scenario, r.outcome, r.note)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\n", r.suite, r.revision, r.scenario, r.outcome, r.success, r.failure, r.skipped)
	}
	_ = w.Flush()
	return b.String()
}

func TestUsage(t *testing.T) {
	env := func(name string) func(string) string {
		return func(key string) string { return map[string]string{"MCP_CONFORMANCE_SCENARIO": name}[key] }
	}
	for _, c := range []struct {
		args       []string
		name, want string
	}{
		{nil, "initialize", "usage"},
		{[]string{"http://localhost", "x"}, "initialize", "usage"},
		{[]string{"http://localhost"}, "nonsense", `no scenario "nonsense"`},
		{[]string{"://"}, "initialize", "url"},
	} {
		err := run(t.Context(), c.args, env(c.name), io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q of %s: %v, want %q", c.args, c.name, err, c.want)
		}
	}
}

// A client whose scenario fails must say so to the suite, which believes its exit code. What went over the
// wire is there if it was asked for.
func TestTheClientFails(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "http://127.0.0.1:1")
	cmd.Env = append(os.Environ(), "MCP_CONFORMANCE_SCENARIO=initialize", "CONFORMANCE_WIRE=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err == nil {
		t.Error("nobody listens, and the client succeeds")
	}
	for _, want := range []string{"> POST http://127.0.0.1:1 ", "[Mcp-Method: server/discover]", `"method":"server/discover"`, "\n! ", "\nconformance: "} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("the client does not say %q: %s", want, stderr.String())
		}
	}
}
