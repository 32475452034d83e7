// SPDX-License-Identifier: Apache-2.0

package procfs_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Any number of workers finds the same, in the same order.
func TestParallel(t *testing.T) {
	q := usage.Question{Seen: map[string]usage.Facts{}}
	const base = 5_000_000 // above all real pids, so that none is our own
	var all []fake
	for i := range 300 {
		f := fake{pid: base + i, command: "some", parent: base + i - i%10, start: 1000 + i%3}
		switch {
		case i%10 == 0:
			id := fmt.Sprintf("%064x", i/20) // two monitors each
			f = conmon(f.pid, id, "/none", "--full-attach")
			q.Seen[id] = usage.Facts{Name: id[60:]}
		case i%7 == 0:
			f.open = []string{"/dev/full"}
		case i%7 == 1:
			f.uid = os.Getuid()
			f.argv = []string{"docker", "run", "--label=" + usage.LeaseLabel + fmt.Sprintf("=%012x", i/20), "--label=" + usage.GPUsLabel + "=1"}
		}
		all = append(all, f)
	}
	p := procfs.New(tree(t, all...), -1)
	looks := func(procs int) (sights []usage.Sight) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		for _, lost := range []bool{false, true} {
			q.Lost = lost
			for _, s := range p.Sources(real(t)) {
				sight, err := s.Look(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				sights = append(sights, sight)
			}
		}
		return sights
	}
	alone := looks(1)
	if n := []int{len(alone[0].Processes), len(alone[3].Claimants), len(alone[1].Containers)}; !slices.Equal(n, []int{38, 39, 15}) {
		t.Fatalf("alone %v are found", n)
	}
	if !slices.IsSortedFunc(alone[0].Processes, func(a, b usage.Process) int { return a.PID - b.PID }) {
		t.Error("processes are not ascending")
	}
	for range 20 {
		if diff := cmp.Diff(alone, looks(4)); diff != "" {
			t.Fatal(diff)
		}
	}
}
