// SPDX-License-Identifier: Apache-2.0

package procfs_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

func TestSelf(t *testing.T) {
	p := procfs.New("/proc", -1)
	c, err := p.Self()
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		t.Fatal(err)
	}
	if c.PID != os.Getpid() || c.PIDNamespace != st.Ino || c.Start == 0 {
		t.Errorf("we are %+v, want pid %d in namespace %d", c, os.Getpid(), st.Ino)
	}
	if life := p.Liveness(c); life != usage.Alive {
		t.Errorf("our life is %v, want Alive", life)
	}
}

func TestLife(t *testing.T) {
	p := procfs.New("/proc", -1)
	kid := start(t, nil, nil)
	c, err := p.Client(kid.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	reused, elsewhere := c, c
	reused.Start++
	elsewhere.PIDNamespace++
	check := func(what string, c usage.Client, want usage.Liveness) {
		t.Helper()
		if got := p.Liveness(c); got != want {
			t.Errorf("%s: life is %v, want %v", what, got, want)
		}
	}
	check("child", c, usage.Alive)
	check("pid used again", reused, usage.Ended)
	check("other namespace", elsewhere, usage.Unseen)
	check("no pid", usage.Client{PIDNamespace: c.PIDNamespace}, usage.Unseen)
	kid.die(t)
	check("zombie", c, usage.Ended)
	check("zombie of another namespace", elsewhere, usage.Unseen)
	kid.Wait()
	check("ended", c, usage.Ended)
	if c, err := p.Client(kid.Process.Pid); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the ended child is %v, %v; want ErrNotExist", c, err)
	}
}

func TestLifeOfMadeUp(t *testing.T) {
	const none = 1<<22 + 1 // above every pid_max
	dir := tree(
		t,
		fake{pid: 30, command: "a b) S 1 (c", start: 7},
		fake{pid: 31, command: "dying", state: "X", start: 7},
		fake{pid: 32, command: "zombie", state: "Z", start: 7},
		fake{pid: none + 1, command: "garbled"},
	)
	write(t, filepath.Join(dir, "4194306", "stat"), "nothing")
	// As with hidepid, no directory shows what is there.
	kid := start(t, nil, nil)
	p := procfs.New(dir, -1)
	self, err := p.Self()
	if err != nil {
		t.Fatal(err)
	}
	for pid, want := range map[int]usage.Liveness{
		30: usage.Alive, 31: usage.Ended, 32: usage.Ended,
		none: usage.Ended, none + 1: usage.Unseen, kid.Process.Pid: usage.Unseen,
	} {
		if got := p.Liveness(usage.Client{PID: pid, Start: 7, PIDNamespace: self.PIDNamespace}); got != want {
			t.Errorf("life of %d is %v, want %v", pid, got, want)
		}
	}
}

// A container may see the host's /proc, whose pids are not its own.
func TestForeign(t *testing.T) {
	for name, self := range map[string]string{"none": "", "other": "1"} {
		dir := tree(t)
		at := filepath.Join(dir, "self")
		if err := os.Remove(at); err != nil {
			t.Fatal(err)
		}
		if self != "" {
			link(t, self, at)
		}
		p := procfs.New(dir, -1)
		if c, err := p.Self(); !errors.Is(err, procfs.ErrForeign) {
			t.Errorf("%s: we are %v, %v; want ErrForeign", name, c, err)
		}
		if life := p.Liveness(usage.Client{PID: 1, Start: 100}); life != usage.Unseen {
			t.Errorf("%s: life is %v, want Unseen", name, life)
		}
	}
}

func TestBoot(t *testing.T) {
	p := procfs.New("/proc", -1)
	id, err := p.BootID()
	if err != nil || len(id) != 36 || strings.TrimSpace(id) != id {
		t.Errorf("boot is %q, %v; want a UUID", id, err)
	}
	if id, err := procfs.New(tree(t), -1).BootID(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("boot of a tree without is %q, %v; want ErrNotExist", id, err)
	}
	first := p.Uptime()
	if second := p.Uptime(); first <= 0 || second < first || second > first+time.Hour {
		t.Errorf("uptime goes from %v to %v", first, second)
	}
}
