// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Child is a process to be run.
type Child struct {
	Path  string
	Args  []string // from the name of the program on
	Env   []string // beside the test's own
	Input string
	// Begin is the system call from which calls are counted; with 0 those between two
	// SIGSTOPs of the child to itself are counted, which Traced sends.
	Begin uint64
}

// Traced calls f in a child, and its system calls are counted.
func Traced(f func() error) error {
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	stop := func() { _ = unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGSTOP) }
	stop()
	err := f()
	stop()
	return err
}

// Ended is how a child ended.
type Ended struct {
	Status unix.WaitStatus
	Output string
	// Calls are the counted system calls, up to the one with the fault.
	Calls []Call
	// Became reports whether the child has executed another program, before which it
	// was killed.
	Became bool
}

// Call is a system call that a child made.
type Call struct {
	Number    uint64
	Arguments [6]uint64
}

// Fault is what happens to a thread of a child at a system call.
type Fault struct{ enter, leave func(pid, tid int) error }

// Kill ends the child before the call is made.
var Kill = Fault{enter: func(pid, _ int) error { return unix.Kill(pid, unix.SIGKILL) }}

// Run runs a child with a fault at its call number n; without one if n is negative.
func (c Child) Run(t testing.TB, n int, fault Fault) (e Ended) {
	t.Helper()
	// Only the thread that started a child can trace it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, output := c.start(t)
	defer output.Close()
	r := &tracedRun{t: t, begin: c.Begin, pid: pid, n: n, fault: fault, resume: unix.PtraceCont, threads: map[int]bool{pid: true}}
	defer func() { e = r.end(output) }()
	if _, err := wait(pid, &r.ended.Status); err != nil || !r.ended.Status.Stopped() {
		t.Fatalf("child did not stop: %v, status %x", err, r.ended.Status)
	}
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL
	r.check(unix.PtraceSetOptions(pid, options))
	if c.Begin != 0 {
		r.resume = unix.PtraceSyscall
	}
	r.check(r.resume(pid, 0))
	for over := false; !over; {
		over = r.next()
	}
	return e
}

// tracedRun is a child while it is traced.
type tracedRun struct {
	t        testing.TB
	begin    uint64 // as in Child
	pid, n   int
	fault    Fault
	ended    Ended
	resume   func(tid, signal int) error
	counting bool         // calls are counted now
	over     bool         // the fault has happened
	threads  map[int]bool // that have begun
	faulty   int          // the thread in the call with the fault, or 0
}

// next waits for what a thread does next, and reports whether the run is over.
func (r *tracedRun) next() bool {
	r.t.Helper()
	var status unix.WaitStatus
	tid, err := wait(-1, &status)
	r.check(err)
	if tid == r.pid {
		r.ended.Status = status
	}
	if !status.Stopped() {
		return tid == r.pid
	}
	signal := status.StopSignal()
	switch {
	case status.TrapCause() == unix.PTRACE_EVENT_EXEC && r.counting:
		r.ended.Became = true
		return true
	case signal == unix.SIGTRAP|0x80:
		signal = 0
		r.stoppedAtCall(tid)
	case signal == unix.SIGTRAP: // a thread was made
		signal = 0
	case signal == unix.SIGSTOP && !r.threads[tid]: // and begins
		r.threads[tid] = true
		signal = 0
	case signal == unix.SIGSTOP && r.begin == 0:
		signal, r.counting = 0, !r.counting
		r.resume = unix.PtraceCont
		if r.counting && !r.over {
			r.resume = unix.PtraceSyscall
		}
	}
	r.check(r.resume(tid, int(signal)))
	return false
}

// stoppedAtCall counts the system call that a thread enters or leaves, and makes the fault.
func (r *tracedRun) stoppedAtCall(tid int) {
	r.t.Helper()
	call, entered := inspect(r.t, tid)
	r.counting = r.counting || (entered && r.begin != 0 && call.Number == r.begin)
	switch {
	case entered && r.counting && !slices.Contains(idle, call.Number):
		if len(r.ended.Calls) == r.n {
			r.faulty = tid
			r.check(r.fault.enter(r.pid, tid))
		}
		r.ended.Calls = append(r.ended.Calls, call)
	case !entered && tid == r.faulty:
		r.faulty = 0
		if r.fault.leave != nil {
			r.check(r.fault.leave(r.pid, tid))
		}
		r.resume, r.over = unix.PtraceCont, true
	}
}

func (r *tracedRun) check(err error) {
	if err != nil && !errors.Is(err, unix.ESRCH) { // it has been killed
		r.t.Helper()
		r.t.Fatal("trace a child: ", err)
	}
}

// end kills a child that is still stopped, and returns how it ended.
func (r *tracedRun) end(output *os.File) Ended {
	e := r.ended
	if e.Status.Stopped() {
		_ = unix.Kill(r.pid, unix.SIGKILL) // it has not been waited for
	}
	for tid, err := 0, error(nil); e.Status.Stopped() && err == nil; { // its threads come first
		var status unix.WaitStatus
		if tid, err = wait(-1, &status); tid == r.pid {
			e.Status = status
		}
	}
	text, _ := io.ReadAll(io.NewSectionReader(output, 0, 1<<20))
	e.Output = string(text)
	return e
}

// start starts the child, which stops at once, and returns the file of its output.
func (c Child) start(t testing.TB) (pid int, output *os.File) {
	t.Helper()
	var files []*os.File
	for _, name := range []string{"input", "output"} {
		fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, os.NewFile(uintptr(fd), name))
	}
	in, output := files[0], files[1]
	defer in.Close()
	if _, err := in.WriteAt([]byte(c.Input), 0); err != nil {
		t.Fatal(err)
	}
	pid, err := syscall.ForkExec(c.Path, c.Args, &syscall.ProcAttr{
		// The race detector would let it sleep before it ends. With a fixed number of
		// processors the runtime does not query their number repeatedly.
		Env:   append(os.Environ(), append(c.Env, "GORACE=atexit_sleep_ms=0", "GOMAXPROCS=2")...),
		Files: []uintptr{in.Fd(), output.Fd(), output.Fd()},
		Sys:   &syscall.SysProcAttr{Ptrace: true},
	})
	if err != nil {
		t.Skip("needs to trace a child: ", err)
	}
	return pid, output
}

// wait waits for a child of this thread.
func wait(pid int, status *unix.WaitStatus) (int, error) {
	for {
		tid, err := unix.Wait4(pid, status, unix.WALL|unix.WNOTHREAD, nil)
		if !errors.Is(err, unix.EINTR) {
			return tid, err
		}
	}
}
