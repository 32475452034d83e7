package ledger_test

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

// TestFailing makes every system call of an Update fail in turn, each way: the
// state is the old one or the new one, and the new one if Update says so.
func TestFailing(t *testing.T) {
	for _, errno := range []unix.Errno{unix.EIO, unix.ENOSPC, unix.EINTR} {
		for _, s := range scenes {
			t.Run(strings.ReplaceAll(errno.Error(), " ", "-")+"/"+s.name, func(t *testing.T) {
				succeeded := 0
				for n := 0; ; n++ {
					l, dir, old := s.play(t)
					done := false
					status, _ := trace(t, dir, "b", func(at stop) {
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
						t.Fatalf("at call %d: child ended with %x", n, status)
					}
					said := status.ExitStatus() == 0
					written := s.outcome(t, l, dir, old)
					if t.Failed() || said && !written {
						t.Fatalf("call %d failed: Update said %v, written %v", n, said, written)
					}
					if said {
						succeeded++
					}
				}
				t.Logf("succeeded all the same %d times", succeeded)
			})
		}
	}
}
