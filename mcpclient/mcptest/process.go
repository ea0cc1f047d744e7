package mcptest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// longest bounds the life of every process started here, so that a test that fails leaves none.
const longest = 2 * time.Minute

// run is the life of a child process.
func run(b Behaviour) (code int) {
	time.AfterFunc(longest, func() { os.Exit(99) })
	if b.IgnoreTerm {
		signal.Ignore(syscall.SIGTERM, os.Interrupt)
	}
	if b.sleeper {
		select {}
	}
	b = b.life(b.nextLife())
	_, _ = os.Stderr.WriteString(b.Stderr)
	if b.Exit != nil {
		return *b.Exit
	}
	grandchild := 0
	if b.Grandchild {
		var err error
		if grandchild, err = startGrandchild(b); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			return 2
		}
	}
	for _, s := range b.Stdout {
		_, _ = os.Stdout.WriteString(s)
	}
	for b.StdoutForever {
		if _, err := os.Stdout.WriteString(noise); err != nil {
			return 1
		}
	}
	if b.DeafInit {
		select {}
	}
	s := newServer(b)
	s.grandchild = grandchild
	s.process = true
	if err := s.serve(context.Background(), os.Stdin, os.Stdout); err != nil && !errors.Is(err, io.EOF) {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	if b.IgnoreEOF {
		select {}
	}
	return 0
}

func startGrandchild(b Behaviour) (pid int, err error) {
	raw, err := json.Marshal(Behaviour{IgnoreTerm: b.IgnoreTerm, sleeper: true})
	if err != nil {
		return 0, err
	}
	exe, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), envName+"="+string(raw))
	if b.GrandchildHoldsPipes {
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return cmd.Process.Pid, nil
}

func flood(n int) {
	chunk := bytes.Repeat([]byte{'e'}, 4096)
	for n > 0 {
		m := min(n, len(chunk))
		_, _ = os.Stderr.Write(chunk[:m])
		n -= m
	}
}
