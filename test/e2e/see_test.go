// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/report"
)

// sharedNodes are the nodes that every GPU container gets.
var sharedNodes = []string{"/dev/mxcd"}

// inbox is a directory inside a host that one container reports into.
type inbox struct {
	dir  string // as the engine sees it
	path string // as the machine sees it
}

func (h *host) inbox(t *testing.T) inbox {
	t.Helper()
	dir := fmt.Sprintf("/run/reports/%d", inboxes.Add(1))
	in := inbox{dir, h.Path(dir)}
	if err := os.MkdirAll(in.path, 0o755); err != nil {
		t.Fatal(err)
	}
	// Any user in the container may write here.
	if err := os.Chmod(in.path, 0o777); err != nil {
		t.Fatal(err)
	}
	return in
}

var inboxes atomic.Int32

// report reads what a probe that has ended saw.
func (in inbox) report(t *testing.T) report.Report {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(in.path, report.Look))
	if err != nil {
		t.Fatalf("the probe has not reported: %v", err)
	}
	var r report.Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("read the probe's report: %v\n%s", err, text)
	}
	return r
}

// told adds the output of the program in the container to the result of a client. There
// is none if the client or the engine failed before.
func (in inbox) told(t *testing.T, r result) result {
	t.Helper()
	for name, to := range map[string]*string{report.Stdout: &r.stdout, report.Stderr: &r.stderr} {
		text, err := os.ReadFile(filepath.Join(in.path, name))
		if err != nil && r.code == 0 {
			t.Fatalf("exit code 0, yet the program has not run: %v\n%v", err, r)
		}
		*to += string(text)
	}
	return r
}

// empty reports whether no probe has run.
func (in inbox) empty(t *testing.T) bool {
	t.Helper()
	entries, err := os.ReadDir(in.path)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries) == 0
}

// waiting waits until the probe reports that it waits.
func (in inbox) waiting(ctx context.Context) error {
	for {
		if _, err := os.Stat(filepath.Join(in.path, report.Waiting)); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the probe to start: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// sees asserts all that a container with these GPUs must see, and must not.
func (h *host) sees(t *testing.T, r report.Report, gpus []int) {
	t.Helper()
	var want []string
	for _, g := range gpus {
		want = append(want, h.gpus[g].Nodes...)
	}
	if len(gpus) > 0 {
		want = append(want, sharedNodes...)
	}
	slices.Sort(want)
	var got []string
	for _, n := range r.Nodes {
		if engineNode(n.Path) {
			continue
		}
		got = append(got, n.Path)
		if !slices.Contains(want, n.Path) {
			continue // the list below tells
		}
		if major, minor := h.number(t, n.Path); n.Major != major || n.Minor != minor {
			t.Errorf("%s is device %d:%d inside and %d:%d on the node", n.Path, n.Major, n.Minor, major, minor)
		}
		if err := n.Verdict(); err != nil {
			t.Errorf("uid %d, groups %v: %s was given and is refused: %v", r.UID, r.Groups, n.Path, err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("device nodes inside (-want +got):\n%s", diff)
	}
	h.denied(t, r, gpus)
	if len(gpus) == 0 {
		return
	}
	if at := slices.IndexFunc(r.Nodes, func(n report.Node) bool { return n.Path == want[0] }); at >= 0 {
		t.Logf("uid %d, groups %v; %s is %s %s", r.UID, r.Groups, want[0], r.Nodes[at].Mode, r.Nodes[at].Owner)
	}
	if !slices.Contains(r.Driver, "mx-smi") {
		t.Errorf("/opt/mxdriver/bin holds %v, want mx-smi among them", r.Driver)
	}
	if r.DriverWrite != "EROFS" {
		t.Errorf("writing to /opt/mxdriver gives %q, want EROFS", r.DriverWrite)
	}
}

// denied asserts that of the device nodes that the probe created itself, those of the
// injected GPUs can be opened and no others: so the device cgroup denies the others.
func (h *host) denied(t *testing.T, r report.Report, gpus []int) {
	t.Helper()
	if r.UID != 0 {
		return // only root can make nodes
	}
	for _, gpu := range h.gpus {
		for _, path := range gpu.Nodes {
			major, minor := h.number(t, path)
			at := slices.IndexFunc(r.Made, func(n report.Node) bool { return n.Major == major && n.Minor == minor })
			if at < 0 {
				t.Fatalf("the probe was not asked to make %s", path)
			}
			made := r.Made[at]
			switch given := slices.Contains(gpus, gpu.Index); {
			case made.Mknod != "":
				t.Errorf("mknod of %s: %s, so nothing is known of opening it", path, made.Mknod)
			case given && made.Verdict() != nil:
				t.Errorf("GPU %d was given, yet its node %s made inside is refused: %s", gpu.Index, path, made.Open)
			case !given && made.Open != "EPERM":
				t.Errorf("GPU %d was not given, yet opening its node %s made inside gives %q, want EPERM", gpu.Index, path, made.Open)
			}
		}
	}
}

// engineNode reports whether a node is one that every container has.
func engineNode(path string) bool {
	switch path {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/console":
		return true
	}
	return false
}
