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
	defer func() {
		if e.Status.Stopped() {
			_ = unix.Kill(pid, unix.SIGKILL) // it has not been waited for
		}
		for tid, err := 0, error(nil); e.Status.Stopped() && err == nil; { // its threads come first
			var status unix.WaitStatus
			if tid, err = wait(-1, &status); tid == pid {
				e.Status = status
			}
		}
		text, _ := io.ReadAll(io.NewSectionReader(output, 0, 1<<20))
		e.Output = string(text)
	}()
	check := func(err error) {
		if err != nil && !errors.Is(err, unix.ESRCH) { // it has been killed
			t.Helper()
			t.Fatal("trace a child: ", err)
		}
	}
	if _, err := wait(pid, &e.Status); err != nil || !e.Status.Stopped() {
		t.Fatalf("child did not stop: %v, status %x", err, e.Status)
	}
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL
	check(unix.PtraceSetOptions(pid, options))
	resume, counting, over := unix.PtraceCont, false, false
	if c.Begin != 0 {
		resume = unix.PtraceSyscall
	}
	check(resume(pid, 0))
	threads, faulty := map[int]bool{pid: true}, 0
	for {
		var status unix.WaitStatus
		tid, err := wait(-1, &status)
		check(err)
		if tid == pid {
			e.Status = status
		}
		if !status.Stopped() {
			if tid == pid {
				return e
			}
			continue
		}
		signal := status.StopSignal()
		switch {
		case status.TrapCause() == unix.PTRACE_EVENT_EXEC && counting:
			e.Became = true
			return e
		case signal == unix.SIGTRAP|0x80:
			signal = 0
			call, entered := inspect(t, tid)
			counting = counting || entered && c.Begin != 0 && call.Number == c.Begin
			switch {
			case entered && counting && !slices.Contains(idle, call.Number):
				if len(e.Calls) == n {
					faulty = tid
					check(fault.enter(pid, tid))
				}
				e.Calls = append(e.Calls, call)
			case !entered && tid == faulty:
				faulty = 0
				if fault.leave != nil {
					check(fault.leave(pid, tid))
				}
				resume, over = unix.PtraceCont, true
			}
		case signal == unix.SIGTRAP: // a thread was made
			signal = 0
		case signal == unix.SIGSTOP && !threads[tid]: // and begins
			threads[tid] = true
			signal = 0
		case signal == unix.SIGSTOP && c.Begin == 0:
			signal, counting = 0, !counting
			if resume = unix.PtraceCont; counting && !over {
				resume = unix.PtraceSyscall
			}
		}
		check(resume(tid, int(signal)))
	}
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
