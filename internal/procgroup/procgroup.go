// Package procgroup runs a child in a process group of its own, so that a wrapper (sh -c, npx) does not
// leave its children behind, and ends the whole group within a bound.
//
// A child that is gone is reaped at once, whoever still holds its pipes. Its standard error is always
// drained and a bounded tail kept, so that it never blocks on a full pipe. A process that leaves the group
// (setsid) is out of reach; on Linux [Process.Stop] reports it by the standard error that it still holds.
//
// On Windows there are no groups to signal: Stop closes standard input, waits for half of its bound and
// kills the child, and grandchildren are not followed.
package procgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// Cmd says what to run. Path is used as it is, relative to Dir: resolve bare names with LookPath.
type Cmd struct {
	Path string   // file to execute
	Args []string // arguments, without the command itself
	Env  []string // the whole environment, "K=V"; empty: none
	Dir  string   // working directory; "": the process's own

	StderrTail int // bytes of standard error to keep; 0: 8 KiB

	// DieWithParent kills the child when our process ends in whatever way, SIGKILL included. Its own
	// children then see its pipes end. It costs nothing: the thread that waits for the child anyway is the
	// one that starts it. Linux only; elsewhere a child sees no more than the end of its standard input.
	DieWithParent bool
}

const defaultTail = 8 << 10

// Process is a running child. Stdin and Stdout are our ends of its pipes: whoever reads or writes them may
// close them, and Stop closes both. Everything is safe for concurrent use.
type Process struct {
	Stdin  *os.File
	Stdout *os.File

	child   child
	stderr  *os.File
	tail    tail
	done    event // the direct child is reaped
	drained event // standard error is at its end

	code int // set before done, as is err
	err  error

	mu    sync.Mutex
	empty bool   // the group is known to be gone, so its number may belong to others
	ended bool   // done has happened, and then will not be called any more
	then  func() // called once it has; nil: nobody waits
}

// Start runs c. On an error nothing is left: no descriptor, no goroutine, no process.
func Start(c Cmd) (*Process, error) {
	var pipes [6]*os.File
	for i := 0; i < len(pipes); i += 2 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(pipes[:]...)
			return nil, fmt.Errorf("pipe: %w", err)
		}
		pipes[i], pipes[i+1] = r, w
	}
	cmd := &exec.Cmd{
		Path: c.Path, Args: append([]string{c.Path}, c.Args...),
		Env: append([]string{}, c.Env...), Dir: c.Dir,
		Stdin: pipes[0], Stdout: pipes[3], Stderr: pipes[5],
		SysProcAttr: ownGroup(),
	}
	max := c.StderrTail
	if max <= 0 {
		max = defaultTail
	}
	p := &Process{
		Stdin: pipes[1], Stdout: pipes[2], stderr: pipes[4],
		tail: tail{max: max},
	}
	pinned := c.DieWithParent && dieWithParent(cmd.SysProcAttr)
	var start launch
	start.Add(1)
	go p.run(cmd, pinned, &start)
	start.Wait()
	if start.err != nil {
		closeAll(pipes[:]...)
		return nil, startError(c, start.err)
	}
	closeAll(pipes[0], pipes[3], pipes[5])
	go p.drain()
	return p, nil
}

// launch is over when the child runs, or cannot.
type launch struct {
	sync.WaitGroup
	err error
}

// run starts the child and waits for it. The system takes the end of the thread that started a child for
// the end of its parent: so one that is to die with its parent has its thread pinned until it is reaped.
func (p *Process) run(cmd *exec.Cmd, pinned bool, start *launch) {
	if pinned {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	if start.err = cmd.Start(); start.err != nil {
		start.Done()
		return
	}
	p.child = childOf(cmd.Process) // cmd itself is of no more use: its pipes are files, which need no copying
	start.Done()
	p.wait()
}

// startError names the folder where that is what is missing: the system reports both alike.
func startError(c Cmd, err error) error {
	if c.Dir != "" {
		if st, serr := os.Stat(c.Dir); serr != nil {
			return fmt.Errorf("working directory: %w", serr)
		} else if !st.IsDir() {
			return fmt.Errorf("working directory %s is not a directory", c.Dir)
		}
	}
	return fmt.Errorf("cannot be run: %w", err)
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

func (p *Process) wait() {
	p.code, p.err = p.child.wait()
	p.groupGone()
	p.done.happen()
	p.mu.Lock()
	p.ended = true
	then := p.then
	p.mu.Unlock()
	if then != nil {
		then()
	}
}

// OnExit has f called once Done is closed, on a goroutine that is there anyway: f must not block. It is called
// at once if Done is closed already. There is room for one.
func (p *Process) OnExit(f func()) {
	p.mu.Lock()
	ended := p.ended
	if !ended {
		p.then = f
	}
	p.mu.Unlock()
	if ended {
		f()
	}
}

func (p *Process) drain() {
	defer p.drained.happen()
	drainInto(&p.tail, p.stderr)
}

// PID is the child's process id, which is its group's as well.
func (p *Process) PID() int { return p.child.pid() }

// Done is closed when the direct child has been reaped, even if others still hold its pipes.
func (p *Process) Done() <-chan struct{} { return p.done.done() }

// Drained is closed when standard error is at its end, so that Stderr is complete.
func (p *Process) Drained() <-chan struct{} { return p.drained.done() }

// ExitCode is the child's exit code, -1 while it runs or if a signal ended it.
func (p *Process) ExitCode() int {
	if p.done.has() {
		return p.code
	}
	return -1
}

// Err is nil while the child runs and after exit code 0, else it says how the child ended.
func (p *Process) Err() error {
	if p.done.has() {
		return p.err
	}
	return nil
}

// Stderr is the tail of standard error so far, as the child wrote it.
func (p *Process) Stderr() string { return p.tail.String() }

// Terminate asks every process of the group to end. On Windows it does nothing.
func (p *Process) Terminate() { p.signal(child.terminate) }

// Kill ends every process of the group.
func (p *Process) Kill() { p.signal(child.kill) }

// HangUp closes our ends of Stdin and Stdout without waiting, and frees whoever reads or writes them.
func (p *Process) HangUp() {
	unblock(p.Stdin)
	unblock(p.Stdout)
}

func (p *Process) signal(send func(child)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.empty {
		send(p.child)
	}
}

// groupGone reports whether no live process is left in the group. Once it is true no signal is sent any
// more, since the number may be given to others.
func (p *Process) groupGone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.empty {
		p.empty = groupEmpty(p.PID())
	}
	return p.empty
}

// How often a group is looked at that outlived its leader, and how long standard error may take to end
// once nobody in the group holds it.
const (
	pollGroup  = 5 * time.Millisecond
	stderrRest = 100 * time.Millisecond
)

// ErrStillRunning is in the chain of what Stop returns when a process outlived its bound.
var ErrStillRunning = errors.New("still running")

// Stop closes standard input, terminates the group at once, kills it at half of the bound, or at the end
// of ctx if that is earlier, and returns when the child is reaped and the group empty, at the latest when
// the bound is over. An error says what is left; then and only then something may be.
func (p *Process) Stop(ctx context.Context, bound time.Duration) error {
	unblock(p.Stdin)
	defer unblock(p.Stdout)
	p.Terminate()
	half, whole := time.NewTimer(bound/2), time.NewTimer(bound)
	defer half.Stop()
	defer whole.Stop()
	if err := p.awaitGroup(ctx, half.C, whole.C, bound); err != nil {
		p.leaveStderr()
		return err
	}
	return p.awaitStderr(whole.C)
}

func (p *Process) awaitGroup(ctx context.Context, half, whole <-chan time.Time, bound time.Duration) error {
	done, ended := p.done.done(), ctx.Done()
	poll := time.NewTicker(pollGroup)
	defer poll.Stop()
	reaped, killing := false, false
	for {
		select {
		case <-done:
			done, reaped = nil, true
		case <-poll.C:
		case <-half:
			killing = true
		case <-ended:
			ended, killing = nil, true
		case <-whole:
			return fmt.Errorf("process group %d is %w %v after it was told to end", p.PID(), ErrStillRunning, bound)
		}
		if reaped && p.groupGone() {
			return nil
		}
		if killing {
			p.Kill() // again at each look: a member may have been forking
		}
	}
}

func (p *Process) awaitStderr(whole <-chan time.Time) error {
	rest := time.NewTimer(stderrRest)
	defer rest.Stop()
	select {
	case <-p.drained.done():
		_ = p.stderr.Close()
		return nil
	case <-rest.C:
	case <-whole:
	}
	pids := holders(p.stderr)
	p.leaveStderr()
	if len(pids) == 0 {
		return nil
	}
	return fmt.Errorf("%w outside its process group, with standard error still open: pid %v", ErrStillRunning, pids)
}

// leaveStderr closes our end and waits for its reader, where closing frees it.
func (p *Process) leaveStderr() {
	if unblock(p.stderr) {
		<-p.drained.done()
	}
}
