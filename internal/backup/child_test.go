package backup_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/backup"
)

// childVariable makes the test binary a writer: what it says is the job.
const childVariable = "BACKUP_TEST_CHILD"

// failed is the exit code of a writer that returned an error; a Go program that
// crashes has another.
const failed = 3

// job is one Apply of a writer.
type job struct {
	Dir     string
	Op      backup.Op
	Changes []backup.Change
}

func TestMain(m *testing.M) {
	text := os.Getenv(childVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		panic(err)
	}
	if err := j.run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(failed)
	}
	os.Exit(0)
}

// run does the job between two SIGSTOP of its thread to itself.
func (j job) run() error {
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	tid := unix.Gettid()
	unix.Tgkill(unix.Getpid(), tid, unix.SIGSTOP)
	err := backup.New(j.Dir).Apply(j.Op, j.Changes)
	unix.Tgkill(unix.Getpid(), tid, unix.SIGSTOP)
	return err
}

// idle are the system calls by which Go's runtime schedules, allocates and gets
// ready to poll. They come when they like and change no file.
var idle = []uint64{
	unix.SYS_FUTEX, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_SCHED_YIELD, unix.SYS_RESTART_SYSCALL,
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_MPROTECT, unix.SYS_PRCTL,
	unix.SYS_CLONE, unix.SYS_CLONE3, unix.SYS_EXIT, unix.SYS_RSEQ, unix.SYS_SET_ROBUST_LIST,
	unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGACTION, unix.SYS_SIGALTSTACK,
	unix.SYS_GETTID, unix.SYS_GETPID, unix.SYS_TGKILL, unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_DELETE,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2,
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

// stop is a writer that stands at a system call of its Apply.
type stop struct{ pid, tid, n int }

func (s stop) kill(t *testing.T) {
	if err := unix.Kill(s.pid, unix.SIGKILL); err != nil {
		t.Error(err)
	}
}

// trace runs a writer and calls enter before each system call of its Apply, and
// leave after it. It returns how the writer ended and the numbers of its calls.
func trace(t *testing.T, j job, enter, leave func(stop)) (unix.WaitStatus, []uint64) {
	t.Helper()
	// Only the thread that started a child can trace it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	said, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"child"}, &syscall.ProcAttr{
		Env:   append(os.Environ(), childVariable+"="+string(text), "GORACE=atexit_sleep_ms=0", "GOMAXPROCS=2"),
		Files: []uintptr{said.Fd(), said.Fd(), said.Fd()},
		Sys:   &syscall.SysProcAttr{Ptrace: true},
	})
	if err != nil {
		without(t, "cannot trace a child: "+err.Error())
	}
	var status unix.WaitStatus
	if _, err := wait(pid, &status); err != nil || !status.Stopped() {
		t.Fatalf("writer did not stop: %v, status %x", err, status)
	}
	if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
		t.Fatal(err)
	}
	if err := unix.PtraceCont(pid, 0); err != nil {
		t.Fatal(err)
	}
	var calls []uint64
	begun := false
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
				t.Fatalf("writer crashed:\n%s", text)
			}
			return status, calls
		case !status.Stopped():
			continue
		}
		signal := status.StopSignal()
		switch {
		case signal == unix.SIGTRAP|0x80:
			signal = 0
			switch at, call := inspect(t, tid); {
			case at == entered && slices.Contains(idle, call):
				delete(inside, tid)
			case at == entered:
				s := stop{pid, tid, len(calls)}
				inside[tid], calls = s, append(calls, call)
				enter(s)
			default:
				if s, ok := inside[tid]; ok {
					leave(s)
				}
			}
		case signal == unix.SIGTRAP: // a thread was made
			signal = 0
		case signal == unix.SIGSTOP && !threads[tid]: // and begins
			threads[tid] = true
			signal = 0
		case signal == unix.SIGSTOP: // the Apply begins, or is over
			signal, resume = 0, unix.PtraceCont
			if !begun {
				begun, resume = true, unix.PtraceSyscall
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

// play is a scene of the tests of faults: files, and what an Apply makes of them.
type play struct {
	name    string
	files   map[string]string // by their names in etc, before
	op      backup.Op
	changes []backup.Change // names for paths
	earlier []backup.Change // applied before
}

var plays = []play{
	{name: "first", files: map[string]string{"f": "a"}, op: backup.Begin, changes: []backup.Change{change("f", "a", "b")}},
	{name: "made", op: backup.Begin, changes: []backup.Change{change("conf.d/f", gone, "b")}},
	{name: "in a directory of drop-ins", files: map[string]string{"conf.d/f": "a"}, op: backup.Configure, changes: []backup.Change{change("conf.d/f", "a", "b")}},
	{name: "removed", files: map[string]string{"f": "a"}, op: backup.Remove, changes: []backup.Change{change("f", "a", gone)}},
	{
		name: "second, after a writer that was killed", files: map[string]string{"f": "a", ".f.1.tmp": "half"}, op: backup.Configure,
		earlier: []backup.Change{change("f", "a", "b")}, changes: []backup.Change{change("f", "b", "c")},
	},
	{
		name: "three files", files: map[string]string{"f": "a", "g": "a"}, op: backup.Configure, earlier: []backup.Change{change("f", "a", "b")},
		changes: []backup.Change{change("f", "b", "c"), change("g", "a", gone), change("h", gone, "c")},
	},
}

// stage makes the scene anew and returns the job.
func (p play) stage(t *testing.T) job {
	t.Helper()
	s, kept, etc := sceneryIn(t, memory(t))
	for name, text := range p.files {
		write(t, filepath.Join(etc, name), text)
	}
	place := func(changes []backup.Change) []backup.Change {
		changes = slices.Clone(changes)
		for i := range changes {
			changes[i].Path = filepath.Join(etc, changes[i].Path)
		}
		return changes
	}
	if p.earlier != nil {
		apply(t, s, backup.Begin, place(p.earlier)...)
	}
	return job{kept, p.op, place(p.changes)}
}

// memory is a directory on which nobody waits for a disk, if there is such.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "backup-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// outcome checks that each file is what it was or what it was to be, that the
// store has what it was, and that the next Apply works and leaves nothing
// behind. It reports whether all of them are what they were to be, or were.
func (j job) outcome(t *testing.T) (all, none bool) {
	t.Helper()
	s := backup.New(j.Dir)
	all, none = true, true
	for _, c := range j.Changes {
		// Of drop-ins every file counts, whatever its name.
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(c.Path), ".*")); len(left) > 0 && filepath.Ext(filepath.Dir(c.Path)) == ".d" {
			t.Errorf("%q are among the drop-ins", left)
		}
	}
	var next []backup.Change
	for _, c := range j.Changes {
		switch now := read(t, c.Path); now {
		case textOf(c.Before):
			all = false
		case textOf(c.After):
			none = false
			if data, err := s.Rollback(map[string][]byte{c.Path: bytesOf(now)}); err != nil || !bytes.Equal(data[0].After, c.Before) {
				t.Errorf("%s cannot be rolled back: %v, %v", c.Path, data, err)
			}
		default:
			t.Fatalf("%s holds %q, neither %q nor %q", c.Path, now, c.Before, c.After)
		}
		if _, _, err := s.Original(c.Path, bytesOf(read(t, c.Path))); err != nil {
			t.Error(err)
		}
		next = append(next, change(c.Path, read(t, c.Path), "next"))
	}
	apply(t, s, backup.Configure, next...)
	for _, c := range next {
		for _, dir := range []string{filepath.Dir(c.Path), filepath.Dir(filepath.Dir(c.Path))} {
			if left, _ := filepath.Glob(filepath.Join(dir, ".*.tmp")); len(left) > 0 {
				t.Errorf("%q are left", left)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(j.Dir, "*", ".*.tmp")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	if err := rollback(t, s, paths(next)...); err != nil {
		t.Error(err)
	}
	return all, none
}

func paths(changes []backup.Change) []string {
	var all []string
	for _, c := range changes {
		all = append(all, c.Path)
	}
	return all
}

// durable checks that what is renamed is on the disk before, and its new name after.
func durable(t *testing.T, calls []uint64) {
	t.Helper()
	renames, synced := 0, 0
	for _, call := range calls {
		switch call {
		case unix.SYS_FSYNC:
			synced++
		case unix.SYS_RENAMEAT:
			if renames++; synced < 1 {
				t.Errorf("rename %d: the content is not synced", renames)
			}
			synced = -1 // the directory comes first
		}
	}
	if renames == 0 || synced < 0 {
		t.Errorf("%d renames, the last is not synced", renames)
	}
}

// TestKilled stops the writer with SIGKILL at every system call of an Apply.
func TestKilled(t *testing.T) {
	for _, p := range plays {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			nothing := func(stop) {}
			j := p.stage(t)
			status, calls := trace(t, j, nothing, nothing)
			if all, _ := j.outcome(t); !status.Exited() || status.ExitStatus() != 0 || !all {
				t.Fatalf("writer ended with %x when nobody killed it", status)
			}
			durable(t, calls)
			done := 0
			for next := 0; next < len(calls)-1+stride; next += stride {
				n := min(next, len(calls)-1) // the last call is never left out
				j := p.stage(t)
				status, _ := trace(t, j, func(at stop) {
					if at.n == n {
						at.kill(t)
					}
				}, nothing)
				if !status.Signaled() || status.Signal() != unix.SIGKILL {
					t.Fatalf("at call %d: writer ended with %x, want SIGKILL", n, status)
				}
				all, none := j.outcome(t)
				if all {
					done++
				} else if done > 0 || !none && len(p.changes) == 1 {
					t.Errorf("killed at call %d of %d: not done, but earlier it was", n, len(calls))
				}
				if t.Failed() {
					t.Fatalf("killed at call %d of %d", n, len(calls))
				}
			}
			if done == 0 || done == len(calls) {
				t.Errorf("done at %d of %d calls", done, len(calls))
			}
			t.Logf("%d system calls, done at the last %d", len(calls), done)
		})
	}
}
