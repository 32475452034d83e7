// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/test/faults"
)

// TestFailing makes each system call of an Apply fail, and once be interrupted: if
// Apply succeeds all files are changed, else all are as before.
func TestFailing(t *testing.T) {
	for _, errno := range []unix.Errno{unix.ENOSPC, unix.EINTR} {
		for _, p := range plays {
			if p.covered {
				continue
			}
			t.Run(strings.ReplaceAll(errno.Error(), " ", "-")+"/"+p.name, func(t *testing.T) {
				t.Parallel()
				succeeded := 0
				n := 0
				for ; ; n++ {
					j := p.stage(t)
					e := j.run(t, n, faults.Fail(errno))
					if !e.Status.Exited() {
						t.Fatalf("at call %d: writer ended with %x", n, e.Status)
					}
					if len(e.Calls) <= n {
						break
					}
					said := e.Status.ExitStatus() == 0
					all, none := j.outcome(t)
					if t.Failed() || said && !all || !said && !none {
						t.Fatalf("call %d (number %d) failed: Apply said %v, all written %v, none %v\n%s", n, e.Calls[n].Number, said, all, none, e.Output)
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
