package configsource

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolsource/toolsource"
)

// The test binary is also the command that the tests run: its first argument says what it does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "helper-") {
		helper(os.Args[1], os.Args[2:])
		return
	}
	goleak.VerifyTestMain(m)
}

func helper(what string, args []string) {
	switch what {
	case "helper-args":
		_ = json.NewEncoder(os.Stdout).Encode(args)
	case "helper-cat":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "helper-env":
		fmt.Print(strings.Join(os.Environ(), "\n"))
	case "helper-cwd":
		wd, _ := os.Getwd()
		fmt.Print(wd)
	case "helper-print":
		fmt.Print(args[0])
	case "helper-fail":
		fmt.Print("on stdout")
		fmt.Fprintln(os.Stderr, "it went wrong, token", os.Getenv("TOKEN"))
		code, _ := strconv.Atoi(args[0])
		os.Exit(code)
	case "helper-say": // its token and some more, on one of its streams
		to := os.Stderr
		if args[0] == "stdout" {
			to = os.Stdout
		}
		n, _ := strconv.Atoi(args[1])
		fmt.Fprint(to, strings.Repeat("<", 20_000), os.Getenv("TOKEN"), strings.Repeat("x", n))
		os.Exit(3)
	case "helper-flood":
		n, _ := strconv.Atoi(args[0])
		fmt.Print("HEAD" + strings.Repeat("x", n) + "TAIL")
	case "helper-hang": // and write its pid to the file
		fmt.Fprintln(os.Stderr, "working")
		writePID(args[0])
		time.Sleep(time.Minute)
	case "helper-stubborn":
		signal.Ignore(syscall.SIGTERM)
		writePID(args[0])
		time.Sleep(time.Minute)
	case "helper-leave": // leaves a child behind that holds standard output
		c := exec.Command(os.Args[0], "helper-hang", args[0])
		c.Stdout = os.Stdout
		_ = c.Start()
		for !exists(args[0]) {
			time.Sleep(time.Millisecond)
		}
		fmt.Print("done")
	}
}

// writePID makes the file appear with its content in it.
func writePID(name string) {
	_ = os.WriteFile(name+".new", []byte(strconv.Itoa(os.Getpid())), 0o600)
	_ = os.Rename(name+".new", name)
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// load makes a source of TOML and fails on problems.
func load(t *testing.T, text string, o *Options) *Source {
	t.Helper()
	s, problems := tryLoad(t, text, o)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return s
}

func tryLoad(t *testing.T, text string, o *Options) (*Source, []string) {
	t.Helper()
	defs, problems, err := Parse("f.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := New(defs, o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	var texts []string
	for _, p := range append(problems, s.Problems()...) {
		texts = append(texts, p.Error())
	}
	return s, texts
}

func callable(t *testing.T, s *Source, name string) toolsource.Callable {
	t.Helper()
	c, err := s.Resolve(toolsource.ToolSpec{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func call(t *testing.T, s *Source, name string, args map[string]any) (toolsource.Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return callable(t, s, name)(ctx, args)
}

func must(t *testing.T, s *Source, name string, args map[string]any) any {
	t.Helper()
	r, err := call(t, s, name, args)
	if err != nil {
		t.Fatal(err)
	}
	return r.Value
}
