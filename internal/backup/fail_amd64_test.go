package backup_test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// skip makes the kernel leave the call out.
func (s stop) skip(t *testing.T) {
	s.change(t, func(r *unix.PtraceRegs) { r.Orig_rax = ^uint64(0) })
}

// fail makes a call that was left out return an error.
func (s stop) fail(t *testing.T, errno unix.Errno) {
	s.change(t, func(r *unix.PtraceRegs) { r.Rax = -uint64(errno) })
}

func (s stop) change(t *testing.T, set func(*unix.PtraceRegs)) {
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(s.tid, &regs); err != nil {
		t.Error(err)
	}
	set(&regs)
	if err := unix.PtraceSetRegs(s.tid, &regs); err != nil {
		t.Error(err)
	}
}

// TestFailing makes every system call of an Apply fail in turn, each way: all files
// are what they were to be if it says so, and what they were if it does not.
func TestFailing(t *testing.T) {
	for _, errno := range []unix.Errno{unix.EIO, unix.ENOSPC, unix.EINTR} {
		for _, p := range plays {
			t.Run(strings.ReplaceAll(errno.Error(), " ", "-")+"/"+p.name, func(t *testing.T) {
				t.Parallel()
				succeeded := 0
				n := 0
				for ; ; n += stride {
					j := p.stage(t)
					done := false
					status, _ := trace(t, j, func(at stop) {
						if at.n == n {
							at.skip(t)
						}
					}, func(at stop) {
						if at.n == n {
							done = true
							at.fail(t, errno)
						}
					})
					if !done {
						break
					}
					if !status.Exited() {
						t.Fatalf("at call %d: writer ended with %x", n, status)
					}
					said := status.ExitStatus() == 0
					all, none := j.outcome(t)
					if t.Failed() || said && !all || !said && !none {
						t.Fatalf("call %d failed: Apply said %v, all written %v, none %v", n, said, all, none)
					}
					if said {
						succeeded++
					}
				}
				t.Logf("%d calls, succeeded all the same %d times", n, succeeded)
			})
		}
	}
}
