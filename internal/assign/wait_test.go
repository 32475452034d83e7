// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// TestWaiting holds what a request that waits says, and how often.
func TestWaiting(t *testing.T) {
	node := simulated(t, "c500-8")
	container := func(name string, gpus ...int) usage.Holder {
		return usage.Holder{GPUs: gpuBDFs(node, gpus), Container: &usage.Container{Engine: "docker", State: usage.Running, Facts: usage.Facts{Name: name}}}
	}
	a, b, c := container("a", 0, 1, 2, 3), container("b", 4, 5), container("c", 6)
	full := func(free int) error { return &lease.FullError{Want: 4, Free: free, Of: 8} }
	queue := func(n int) error { return &lease.QueueError{Waiting: n} }
	var said []string
	k := Keeper{config: Config{Node: node, Note: func(line string) { said = append(said, line) }}}
	tell := k.waitingPrinter(10*time.Minute, inQueue)
	for _, p := range []lease.Progress{
		{Err: queue(2), Before: 2, Holders: []usage.Holder{a, b, c}},
		{Err: queue(2), Before: 2, Waited: time.Second, Holders: []usage.Holder{a, b, c}},
		{Err: queue(1), Before: 1, Waited: 2 * time.Second, Holders: []usage.Holder{a, b}}, // its place
		{Err: queue(1), Before: 1, Waited: 3 * time.Second, Holders: []usage.Holder{a}},    // too soon
		{Err: queue(1), Before: 1, Waited: 12 * time.Second, Holders: []usage.Holder{a}},   // not any more
		{Err: queue(1), Before: 1, Waited: 22 * time.Second, Holders: []usage.Holder{a}},   // nothing new, and still waiting
		{Err: full(2), Waited: 130*time.Second + 4*time.Millisecond, Holders: []usage.Holder{a}},
		{Err: full(3), Waited: 135 * time.Second, Holders: nil},
		{Err: full(3), Waited: 141 * time.Second, Holders: nil},
	} {
		tell(p)
	}
	want := []string{
		"waiting up to 10m, 2 requests ahead; in use: 0-3 by container a (docker), 4,5 by container b (docker) and 1 more",
		"waited 2s of 10m, 1 request ahead; in use: 0-3 by container a (docker), 4,5 by container b (docker)",
		"waited 12s of 10m, 1 request ahead; in use: 0-3 by container a (docker)",
		"waited 22s of 10m, 1 request ahead; in use: 0-3 by container a (docker)",
		"waited 2m10s of 10m, next in line: cannot get 4 GPUs: only 2 of 8 are free (metax-ctk ps); in use: 0-3 by container a (docker)",
		"waited 2m21s of 10m, next in line: cannot get 4 GPUs: only 3 of 8 are free (metax-ctk ps)",
	}
	if d := cmp.Diff(want, said); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	said = nil
	held := &lease.HeldError{GPU: 3, Holder: a}
	k.waitingPrinter(time.Minute, inQueue)(lease.Progress{Err: held, Holders: []usage.Holder{a}})
	if got, want := strings.Join(said, "\n"), "waiting up to 1m, next in line: GPU 3 is in use by container a (docker) (metax-ctk ps)"; got != want || !errors.Is(held, lease.ErrBusy) {
		t.Errorf("a named GPU: %s, want %s", got, want)
	}
	said = nil
	tell = k.waitingPrinter(NoLimit, inQueue)
	tell(lease.Progress{Err: queue(2), Before: 2})
	tell(lease.Progress{Err: queue(1), Before: 1, Waited: time.Hour})
	if d := cmp.Diff([]string{"waiting, 2 requests ahead", "waited 1h, 1 request ahead"}, said); d != "" {
		t.Errorf("without a limit: %s", d)
	}
}
