package ledger_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// idle are the system calls by which Go's runtime schedules, allocates and gets
// ready to poll. They come when they like and change no file, so that a stop at
// one of them is the same as at the next other one.
var idle = []uint64{
	unix.SYS_FUTEX, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_SCHED_YIELD, unix.SYS_RESTART_SYSCALL,
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_MPROTECT, unix.SYS_PRCTL,
	unix.SYS_CLONE, unix.SYS_CLONE3, unix.SYS_EXIT, unix.SYS_RSEQ, unix.SYS_SET_ROBUST_LIST,
	unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGACTION, unix.SYS_SIGALTSTACK,
	unix.SYS_GETTID, unix.SYS_GETPID, unix.SYS_TGKILL, unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_DELETE,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_SEND_SIGNAL,
}

// syscallInfo is what PTRACE_GET_SYSCALL_INFO tells, so far as it is used here.
type syscallInfo struct {
	Op   uint8
	_    [3]uint8
	_    uint32
	_, _ uint64
	Nr   uint64
	_    [7]uint64
}

const entered = 1 // PTRACE_SYSCALL_INFO_ENTRY

// stop is a child that stands at a system call of its Update.
type stop struct {
	pid, tid int
	n        int // how many calls came before
}

// kill ends the child before the call is made.
func (s stop) kill(t *testing.T) {
	if err := unix.Kill(s.pid, unix.SIGKILL); err != nil {
		t.Error(err)
	}
}

// trace runs the child "traced", which adds a lease to the ledger in dir, and
// calls enter before each system call of its Update, and leave after it; leave
// may be nil. It returns how the child ended and the numbers of its calls.
func trace(t *testing.T, dir, id string, enter, leave func(stop)) (unix.WaitStatus, []uint64) {
	t.Helper()
	// Only the thread that started a child can trace it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	said, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"child", dir, id}, &syscall.ProcAttr{
		// With a number the runtime does not look now and then how many there are.
		Env:   append(environment("traced"), "GOMAXPROCS=2"),
		Files: []uintptr{said.Fd(), said.Fd(), said.Fd()},
		Sys:   &syscall.SysProcAttr{Ptrace: true},
	})
	if err != nil {
		without(t, "cannot trace a child: "+err.Error())
	}
	var status unix.WaitStatus
	if _, err := wait(pid, &status); err != nil || !status.Stopped() {
		t.Fatalf("child did not stop: %v, status %x", err, status)
	}
	if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
		t.Fatal(err)
	}
	if err := unix.PtraceCont(pid, 0); err != nil {
		t.Fatal(err)
	}
	var calls []uint64
	threads, inside := map[int]bool{pid: true}, map[int]stop{}
	resume := unix.PtraceCont
	for {
		tid, err := wait(-1, &status)
		switch {
		case err != nil:
			t.Fatal(err)
		case !status.Stopped() && tid == pid:
			if code := status.ExitStatus(); status.Exited() && code != 0 && code != failed {
				text, _ := os.ReadFile(said.Name())
				t.Fatalf("child crashed:\n%s", text)
			}
			return status, calls
		case !status.Stopped():
			continue
		}
		signal := status.StopSignal()
		switch {
		case signal == unix.SIGTRAP|0x80:
			signal = 0
			at, call := inspect(t, tid)
			switch {
			case at == entered && slices.Contains(idle, call):
				delete(inside, tid)
			case at == entered:
				s := stop{pid, tid, len(calls)}
				inside[tid], calls = s, append(calls, call)
				enter(s)
			case leave != nil:
				if s, ok := inside[tid]; ok {
					leave(s)
				}
			}
		case signal == unix.SIGTRAP: // a thread was made
			signal = 0
		case signal == unix.SIGSTOP && !threads[tid]: // and begins
			threads[tid] = true
			signal = 0
		case signal == unix.SIGSTOP: // the Update begins, or is over
			signal = 0
			if len(calls) == 0 {
				resume = unix.PtraceSyscall
			} else {
				resume = unix.PtraceCont
			}
		}
		if err := resume(tid, int(signal)); err != nil && !errors.Is(err, unix.ESRCH) {
			t.Fatal(err)
		}
	}
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

// inspect tells at which call a thread stands, and whether before or after it.
// After it the kernel tells no number.
func inspect(t *testing.T, tid int) (op uint8, nr uint64) {
	t.Helper()
	var i syscallInfo
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), unsafe.Sizeof(i), uintptr(unsafe.Pointer(&i)), 0, 0)
	switch {
	case errors.Is(errno, unix.EIO): // before Linux 5.3
		without(t, "the kernel does not tell the system calls of a child: "+errno.Error())
	case errno != 0 && !errors.Is(errno, unix.ESRCH):
		t.Fatal(errno)
	}
	return i.Op, i.Nr
}

// scene is a directory to be updated.
type scene struct {
	name string
	// before makes the directory, after checks what an Update left of what was
	// there.
	before, after func(t *testing.T, dir string)
	damaged       bool // the state is lost before
}

var scenes = []scene{
	{name: "one more lease", before: func(t *testing.T, dir string) { begin(t, dir) }},
	{
		name: "after a writer that was killed",
		before: func(t *testing.T, dir string) {
			begin(t, dir)
			put(t, filepath.Join(dir, ".leases.json.1.tmp"), "{")
			put(t, filepath.Join(dir, ".leases.json.2.tmp"), "{")
		},
	},
	{
		name: "damaged",
		before: func(t *testing.T, dir string) {
			begin(t, dir)
			put(t, filepath.Join(dir, "leases.json"), "garbage")
			put(t, filepath.Join(dir, "leases.json.damaged"), "garbage of before")
		},
		after: func(t *testing.T, dir string) {
			if got := text(t, filepath.Join(dir, "leases.json.damaged")); got != "garbage" {
				t.Errorf("kept %q", got)
			}
		},
		damaged: true,
	},
	{name: "nothing there", before: func(*testing.T, string) {}},
}
