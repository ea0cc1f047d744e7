package configsource

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsource/toolsource"
)

// execTool writes a [[tools]] entry that runs the test binary.
func execTool(t *testing.T, name, what, more string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	elements := strconv.Quote(exe) + ", " + strconv.Quote("helper-"+what)
	command, rest, _ := strings.Cut(more, "\n")
	if command != "" {
		elements += ", " + command
	}
	if !strings.Contains(rest, "env =") { // a binary with the race detector else waits a second before it ends
		rest += "\nenv = { GORACE = 'atexit_sleep_ms=0' }"
	}
	return fmt.Sprintf("[[tools]]\nname = %q\ncommand = [%s]\n%s\n", name, elements, rest)
}

func TestArgvWithoutShell(t *testing.T) {
	dir := t.TempDir()
	s := load(t, execTool(t, "x", "args", `"-n", "{p}", "--in={p}:{n}", ["--max", "{n}"], "{{lit}}", "{list}", "--", "{p}", "{d}"
args = [{name="p",type="str"},{name="n",type="int",required=false},{name="list",type="list",required=false},{name="d",type="dict",required=false}]
output = "json"`), &Options{Workspace: dir})
	evil := "a b; $(touch x) `id` \"q\" 'z' *\n%PATH% | & < >"
	tests := []struct {
		name string
		in   map[string]any
		want []any
	}{
		{"a value is one argument whatever it holds", map[string]any{"p": evil}, []any{"-n", evil, "{lit}", "--", evil}},
		{"numbers, lists and dicts", map[string]any{"p": "x", "n": 5, "list": []string{"a", "b c"}, "d": map[string]any{"k": []int{1}}},
			[]any{"-n", "x", "--in=x:5", "--max", "5", "{lit}", "a", "b c", "--", "x", `{"k":[1]}`}},
		{"an empty list is no argument, an empty string is one", map[string]any{"p": "", "list": []string{}}, []any{"-n", "", "{lit}", "--", ""}},
	}
	for _, tt := range tests {
		if got := must(t, s, "x", tt.in); !cmp.Equal(got, any(tt.want)) {
			t.Errorf("%s: %v", tt.name, cmp.Diff(any(tt.want), got))
		}
	}
	if exists(filepath.Join(dir, "x")) {
		t.Error("a shell ran")
	}
}

func TestLeadingDash(t *testing.T) {
	dir := t.TempDir()
	args := "\nargs = [{name=\"p\",type=\"str\"},{name=\"l\",type=\"list\",required=false}]\noutput = \"json\""
	s := load(t, execTool(t, "before", "args", `"{p}", "{l}"`+args)+execTool(t, "after", "args", `"--", "{p}", "{l}"`+args)+
		execTool(t, "joined", "args", `"--pattern={p}"`+args)+execTool(t, "start", "args", `"{p}.txt"`+args), &Options{Workspace: dir})
	for name, in := range map[string]map[string]any{"before": {"p": "--exec=x"}, "start": {"p": "-x"}} {
		if _, err := call(t, s, name, in); !errors.Is(err, toolsource.ErrBadArguments) || !strings.Contains(err.Error(), `argument "p" begins with "-"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := call(t, s, "before", map[string]any{"p": "x", "l": []string{"a", "-b"}}); !errors.Is(err, toolsource.ErrBadArguments) {
		t.Errorf("an element of a list: %v", err)
	}
	if got := must(t, s, "after", map[string]any{"p": "-x", "l": []string{"-y"}}); !cmp.Equal(got, any([]any{"--", "-x", "-y"})) {
		t.Error(got)
	}
	if got := must(t, s, "joined", map[string]any{"p": "-x"}); !cmp.Equal(got, any([]any{"--pattern=-x"})) {
		t.Error(got)
	}
	if _, err := call(t, s, "before", map[string]any{"p": "a\x00b"}); !errors.Is(err, toolsource.ErrBadArguments) {
		t.Errorf("NUL: %v", err)
	}
}

func TestStdinAndOutput(t *testing.T) {
	args := "args = [{name=\"p\"}]\n"
	s := load(t, execTool(t, "json", "cat", "\n"+args+"stdin = 'json'\noutput = 'json'")+execTool(t, "one", "cat", "\n"+args+"stdin = '{p}'")+
		execTool(t, "lines", "cat", "\n"+args+"stdin = '{p}'\noutput = 'lines'")+execTool(t, "none", "cat", "\n"+args)+
		execTool(t, "parsed", "cat", "\n"+args+"stdin = '{p}'\noutput = 'json'"), &Options{Workspace: t.TempDir()})
	big := strings.Repeat("y", 700_000)
	tests := []struct {
		tool string
		in   any
		want any
	}{
		{"json", "<a & b>", map[string]any{"p": "<a & b>"}},
		{"json", int64(9007199254740993), map[string]any{"p": int64(9007199254740993)}},
		{"one", "text\n", "text"}, {"one", "a\r\n\r\n", "a\r\n"}, {"one", map[string]any{"a": 1}, `{"a":1}`}, {"one", big, big},
		{"one", toolsource.Blob{Data: []byte("\xff!")}, "\ufffd!"},
		{"lines", "a\r\nb\n\nc", []any{"a", "b", "", "c"}}, {"lines", "", []any{}},
		{"none", "ignored", ""},
		{"parsed", "[1, 2.5, null]", []any{int64(1), 2.5, nil}},
	}
	for _, tt := range tests {
		if got := must(t, s, tt.tool, map[string]any{"p": tt.in}); !cmp.Equal(got, tt.want) {
			t.Errorf("%s(%.40v): %.80v", tt.tool, tt.in, got)
		}
	}
	_, err := call(t, s, "parsed", map[string]any{"p": "{oops"})
	if !errors.Is(err, toolsource.ErrProtocol) || !strings.Contains(err.Error(), "the command's output is not JSON") {
		t.Error(err)
	}
}

func TestOutputIsCutInTheMiddle(t *testing.T) {
	s := load(t, execTool(t, "x", "flood", "\"{n}\"\nargs = [{name='n',type='int'}]\nmax_output = 100")+
		execTool(t, "j", "flood", "\"{n}\"\nargs = [{name='n',type='int'}]\nmax_output = 100\noutput = 'json'"), &Options{Workspace: t.TempDir()})
	r, err := call(t, s, "x", map[string]any{"n": 5_000_000})
	if err != nil {
		t.Fatal(err)
	}
	text := r.Value.(string)
	if !r.Truncated || !strings.HasPrefix(text, "HEADxxx") || !strings.HasSuffix(text, "xTAIL") || !strings.Contains(text, "\n[4999908 bytes cut]\n") || len(text) > 130 {
		t.Errorf("%v %q", r.Truncated, text)
	}
	if r, err := call(t, s, "x", map[string]any{"n": 92}); err != nil || r.Truncated || len(r.Value.(string)) != 100 {
		t.Errorf("exactly the limit: %v %v", r, err)
	}
	if _, err := call(t, s, "j", map[string]any{"n": 1000}); !errors.Is(err, toolsource.ErrProtocol) || !strings.Contains(err.Error(), "longer than max_output, 100 bytes") {
		t.Error(err)
	}
}

// What is cut takes no memory.
func TestOutputIsBounded(t *testing.T) {
	o := newOutput(1000, 0)
	for range 10_000 {
		o.add(make([]byte, 700))
	}
	if n := cap(o.head) + cap(o.tail.Bytes()); n > 8000 {
		t.Errorf("%d bytes are held for 1000", n)
	}
	if text, cut := o.text(); !cut || !strings.Contains(text, "[6999000 bytes cut]") {
		t.Errorf("%q", text)
	}
}

func TestExitCodes(t *testing.T) {
	fail := "\"{n}\"\nargs = [{name='n',type='int'}]\nenv = { TOKEN = '${SECRET}' }\n"
	s := load(t, execTool(t, "x", "fail", fail)+execTool(t, "ok1", "fail", fail+"ok_codes = [0, 1]"),
		&Options{Workspace: t.TempDir(), LookupEnv: func(n string) (string, bool) { return "hunter2", n == "SECRET" }})
	_, err := call(t, s, "x", map[string]any{"n": 3})
	var te *toolsource.ToolError
	if !errors.As(err, &te) {
		t.Fatal(err)
	}
	if got := te.Result.Text(); got != "exit code 3: it went wrong, token ***" {
		t.Errorf("%q", got)
	}
	if te.Result.Meta["exit_code"] != int64(3) {
		t.Error(te.Result.Meta)
	}
	r, err := call(t, s, "ok1", map[string]any{"n": 1})
	if err != nil || r.Value != "on stdout" || r.Meta["exit_code"] != int64(1) {
		t.Error(r, err)
	}
	if _, err := call(t, s, "ok1", map[string]any{"n": 2}); !errors.As(err, &te) {
		t.Error(err)
	}
}

// What an error shows of a command is cut; a secret that the cut goes through does not show in part.
func TestNoPartOfASecretShows(t *testing.T) {
	const secret = "SECRET-VALUE-123"
	tool := func(name, more string) string {
		return execTool(t, name, "say", "\"{stream}\", \"{behind}\"\nargs = [{name='stream',type='str'},{name='behind',type='int'}]\nenv = { TOKEN = '${SECRET}', GORACE = 'atexit_sleep_ms=0' }\n"+more)
	}
	s := load(t, tool("x", "")+tool("short", "max_output = 100"),
		&Options{Workspace: t.TempDir(), LookupEnv: func(n string) (string, bool) { return secret, n == "SECRET" }})
	for _, tt := range []struct {
		tool, stream string
		most         int
	}{{"x", "stderr", stderrTail}, {"x", "stdout", stderrTail}, {"short", "stdout", 100}} {
		for _, behind := range []int{0, tt.most - 20, tt.most - 17, tt.most - 16, tt.most - 10, tt.most - 1, tt.most, tt.most + 1} {
			_, err := call(t, s, tt.tool, map[string]any{"stream": tt.stream, "behind": behind})
			var te *toolsource.ToolError
			if !errors.As(err, &te) {
				t.Fatal(err)
			}
			for what, text := range map[string]string{
				"Error": err.Error(), "model": toolsource.ModelMessage(err), "Content": te.Result.Text(),
				"all": fmt.Sprintf("%+v %#v %v", te.Result, te.Result, te.Err), "Value": fmt.Sprint(te.Result.Value),
			} {
				for i := range len(secret) - 2 {
					if part := secret[i : i+3]; strings.Contains(text, part) {
						t.Errorf("%s of %s, %d behind it: %q shows in %s: %.60q", tt.stream, tt.tool, behind, part, what, text)
						break
					}
				}
			}
			if n := len(te.Result.Text()); n > tt.most+len("exit code 3: ***") || n < min(tt.most, behind)-20 {
				t.Errorf("%s of %s, %d behind it: %d bytes are shown", tt.stream, tt.tool, behind, n)
			}
		}
	}
}

// The cap counts bytes, and characters stay whole at the cuts.
func TestCutBetweenCharacters(t *testing.T) {
	for _, char := range []string{"x", "ä", "€", "😀", "x😀"} {
		for total := 90; total < 130; total++ {
			text := strings.Repeat(char, 200)[:total]
			text = strings.ToValidUTF8(text, "")
			for last := range 2 {
				o := newOutput(100, 1000*last)
				o.readFrom(strings.NewReader(text))
				got, cut := o.text()
				if cut != (len(text) > 100) || !cut && got != text {
					t.Errorf("%d bytes of %s: %v %q", len(text), char, cut, got)
				}
				if !cut {
					continue
				}
				var missing int
				head, rest, _ := strings.Cut(got, "\n[")
				if _, err := fmt.Sscanf(rest, "%d bytes cut]", &missing); err != nil {
					t.Fatal(err)
				}
				_, end, _ := strings.Cut(rest, "]\n")
				if strings.Contains(got, "\ufffd") || !strings.HasPrefix(text, head) || !strings.HasSuffix(text, end) || len(head)+missing+len(end) != len(text) {
					t.Errorf("%d bytes of %s: %q", len(text), char, got)
				}
				if n := len(head) + len(end); n > 100 || n < 100-6 {
					t.Errorf("%d bytes of %s: %d are kept", len(text), char, n)
				}
			}
		}
	}
}

// What is no text grows when it is made text; the cap holds all the same.
func TestCutOfNoText(t *testing.T) {
	for _, n := range []int{40, 50, 60, 1000} {
		o := newOutput(100, 0)
		o.readFrom(strings.NewReader(strings.Repeat("\xffa", n)))
		got, cut := o.text()
		head, rest, _ := strings.Cut(got, "\n[")
		_, end, _ := strings.Cut(rest, "]\n")
		if !utf8.ValidString(got) || cut != (n >= 40) || len(head)+len(end) > 100 {
			t.Errorf("%d: %v, %d bytes: %q", n, cut, len(head)+len(end), got)
		}
	}
}

// The cut shows in the result of each kind of output.
func TestTruncatedIsSet(t *testing.T) {
	args := "args = [{name='p'}]\nstdin = '{p}'\nmax_output = 20\n"
	s := load(t, execTool(t, "text", "cat", "\n"+args)+execTool(t, "lines", "cat", "\n"+args+"output = 'lines'"), &Options{Workspace: t.TempDir()})
	for _, tool := range []string{"text", "lines"} {
		for in, want := range map[string]bool{"éééééééééé": false, "éééééééééé\n": true, "éééééééééée": true} {
			r, err := call(t, s, tool, map[string]any{"p": in})
			if err != nil || r.Truncated != want || !utf8.ValidString(fmt.Sprint(r.Value)) {
				t.Errorf("%s of %q: %v %v %v", tool, in, r.Truncated, r.Value, err)
			}
		}
	}
}

func TestEnvironment(t *testing.T) {
	lookup := func(n string) (string, bool) {
		v, ok := map[string]string{"PATH": "/bin", "HOME": "/home/x", "OPENAI_API_KEY": "leak", "TOKEN": "t0k"}[n]
		return v, ok
	}
	s := load(t, execTool(t, "x", "env", "\nenv = { MY_TOKEN = '${TOKEN}', D = '${NONE:-dflt}', HOME = '/other' }\noutput = 'lines'"), &Options{Workspace: t.TempDir(), LookupEnv: lookup})
	if got := must(t, s, "x", nil); !cmp.Equal(got, any([]any{"D=dflt", "HOME=/other", "MY_TOKEN=t0k", "PATH=/bin"})) {
		t.Error(got)
	}
}

func TestFolder(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"ws/sub", "out"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "out"), filepath.Join(dir, "ws", "link")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	s := load(t, execTool(t, "top", "cwd", "")+execTool(t, "sub", "cwd", "\ndir = 'sub'")+execTool(t, "link", "cwd", "\ndir = 'link'")+execTool(t, "none", "cwd", "\ndir = 'none'"),
		&Options{Workspace: filepath.Join(dir, "ws")})
	if got := must(t, s, "top", nil); got != filepath.Join(dir, "ws") {
		t.Error(got)
	}
	if got := must(t, s, "sub", nil); got != filepath.Join(dir, "ws", "sub") {
		t.Error(got)
	}
	if _, err := call(t, s, "link", nil); !errors.Is(err, toolsource.ErrDenied) || !strings.Contains(err.Error(), `dir: denied by policy: "link" is outside the workspace`) {
		t.Error(err)
	}
	if _, err := call(t, s, "none", nil); !errors.Is(err, toolsource.ErrUnavailable) || !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestCommandNotFound(t *testing.T) {
	s := load(t, "[[tools]]\nname = 'x'\ncommand = ['no-such-command-here']\n", &Options{Workspace: t.TempDir(), LookupEnv: func(n string) (string, bool) { return "/bin", n == "PATH" }})
	_, err := call(t, s, "x", nil)
	if !errors.Is(err, toolsource.ErrUnavailable) || !errors.Is(err, toolsource.ErrNotReached) || !strings.Contains(err.Error(), `command "no-such-command-here"`) {
		t.Error(err)
	}
}

// hang starts a command that would run for a minute and gives the file with its pid.
func hanging(t *testing.T, what, more string) (*Source, string, map[string]any) {
	t.Helper()
	dir := t.TempDir()
	s := load(t, execTool(t, "x", what, "\"{f}\"\nargs = [{name='f',type='str'}]\n"+more), &Options{Workspace: dir})
	file := filepath.Join(dir, "pid")
	return s, file, map[string]any{"f": file}
}

func TestLimitEndsTheCommand(t *testing.T) {
	s, file, args := hanging(t, "hang", "timeout = 1.5")
	start := time.Now()
	_, err := call(t, s, "x", args)
	if !errors.Is(err, toolsource.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the command ran longer than 1.5s; it last said: working") {
		t.Error(err)
	}
	var ce *toolsource.CallError
	if !errors.As(err, &ce) || !ce.MayHaveRun {
		t.Errorf("%#v", err)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Error("took", d)
	}
	checkGone(t, file)
}

func TestContextEndsTheCommand(t *testing.T) {
	for _, what := range []string{"hang", "stubborn"} {
		t.Run(what, func(t *testing.T) {
			s, file, args := hanging(t, what, "")
			ctx, cancel := context.WithCancel(t.Context())
			errs := make(chan error, 1)
			go func() {
				_, err := callable(t, s, "x")(ctx, args)
				errs <- err
			}()
			waitFor(t, file)
			start := time.Now()
			cancel()
			if err := <-errs; !errors.Is(err, context.Canceled) || toolsource.KindOf(err) != toolsource.KindCancelled {
				t.Error(err)
			}
			if d := time.Since(start); d > stopBound+time.Second {
				t.Error("took", d)
			}
			checkGone(t, file)
		})
	}
}

func TestWhatACommandLeavesBehindIsEnded(t *testing.T) {
	s, file, args := hanging(t, "leave", "")
	if got := must(t, s, "x", args); got != "done" {
		t.Error(got)
	}
	checkGone(t, file)
}

func TestCloseEndsCommands(t *testing.T) {
	s, file, args := hanging(t, "stubborn", "")
	var wg sync.WaitGroup
	wg.Add(1)
	var err error
	go func() {
		defer wg.Done()
		_, err = callable(t, s, "x")(context.Background(), args)
	}()
	waitFor(t, file)
	start := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if d := time.Since(start); d > stopBound {
		t.Error("took", d)
	}
	checkGone(t, file)
	wg.Wait()
	if !errors.Is(err, toolsource.ErrClosed) {
		t.Error(err)
	}
}

// A command that does not read its input does not hold its caller.
func TestUnreadInput(t *testing.T) {
	s := load(t, execTool(t, "x", "print", "\"hi\"\nargs = [{name='p'}]\nstdin = '{p}'"), &Options{Workspace: t.TempDir()})
	if got := must(t, s, "x", map[string]any{"p": strings.Repeat("x", 1<<20)}); got != "hi" {
		t.Error(got)
	}
}

func TestContextOverBeforeTheStart(t *testing.T) {
	s, file, args := hanging(t, "hang", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := callable(t, s, "x")(ctx, args); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if exists(file) {
		t.Error("it ran")
	}
}

func waitFor(t *testing.T, file string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !exists(file); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the command did not start")
		}
	}
}

func checkGone(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(b))
	if err != nil {
		t.Fatal(err)
	}
	if alive(pid) {
		t.Errorf("process %d is still there", pid)
	}
}

func TestBatchFiles(t *testing.T) {
	for _, tt := range []struct {
		goos, path, arg string
		bad             bool
	}{{"windows", `C:\x.CMD`, "a&b", true}, {"windows", `C:\x.bat`, "%PATH%", true}, {"windows", `C:\x.bat`, "plain", false}, {"windows", `C:\x.exe`, "a&b", false}, {"linux", "/x.bat", "a&b", false}} {
		if err := checkBatch(tt.goos, tt.path, []string{tt.arg}); (err != nil) != tt.bad {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// A template that parses gives back its literals, and a value never makes more than one argument.
func FuzzTemplate(f *testing.F) {
	f.Add("a{p}b{{c}}", "x y")
	f.Add("{p}", "-x")
	f.Add("{", "}")
	f.Fuzz(func(t *testing.T, text, value string) {
		e, err := parseTemplate(text)
		if err != nil {
			return
		}
		args := map[string]any{}
		for _, p := range e {
			if p.arg != "" {
				args[p.arg] = value
			}
		}
		out, err := argv{{{{text: "prog"}}}, {e}}.expand(args)
		switch {
		case err != nil && !errors.Is(err, toolsource.ErrBadArguments):
			t.Fatal(err)
		case err == nil && len(out) != 2:
			t.Fatalf("%q with %q: %q", text, value, out)
		case err == nil && e[0].arg != "" && strings.HasPrefix(out[1], "-"):
			t.Fatalf("%q with %q begins with a dash: %q", text, value, out)
		case err == nil && strings.ContainsRune(out[1], 0) && strings.ContainsRune(value, 0) && len(args) > 0:
			t.Fatalf("NUL passes: %q", out)
		}
	})
}
