// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/test/faults"
)

// TestFailing makes every system call of an Update fail in turn, each way: the state is the
// old one or the new one, and the new one if Update says so.
func TestFailing(t *testing.T) {
	for _, errno := range []unix.Errno{unix.EIO, unix.ENOSPC, unix.EINTR} {
		for _, s := range scenes {
			t.Run(strings.ReplaceAll(errno.Error(), " ", "-")+"/"+s.name, func(t *testing.T) {
				succeeded := 0
				for n := 0; ; n++ {
					l, dir, old := s.play(t)
					e := adding(dir).Run(t, n, faults.Fail(errno))
					if code := e.Status.ExitStatus(); !e.Status.Exited() || code != 0 && code != failed {
						t.Fatalf("at call %d: child ended with %x: %s", n, e.Status, e.Output)
					}
					if len(e.Calls) <= n {
						break
					}
					said := e.Status.ExitStatus() == 0
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
