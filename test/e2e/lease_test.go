// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

const (
	// dockerGID is the group that may talk to docker.
	dockerGID = 999
	passwd    = "root:x:0:0:root:/root:/bin/sh\nalice:x:1000:1000::/tmp:/bin/sh\nbob:x:1001:1001::/tmp:/bin/sh\n"
	group     = "root:x:0:\nvideo:x:44:\ndocker:x:999:alice\nalice:x:1000:\nbob:x:1001:\n"
)

func TestLease(t *testing.T) {
	rows := []struct{ suite, version string }{{docker29, "29.8."}, {"sid", "28."}, {"bookworm", "20.10."}}
	for _, row := range rows {
		t.Run(row.suite, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, row.suite, sandbox.Hybrid)
			h.write(t, "/etc/passwd", passwd)
			h.write(t, "/etc/group", group)
			daemon := h.docker(t, row.version, nil, "--group=docker")
			leasing{desk{host: h, client: "docker", root: nodeDir}, daemon}.journey(t)
		})
	}
}

// leasing is a node with Docker whose GPUs are assigned under leases.
type leasing struct {
	desk
	daemon *daemon
}

// journey is what a user of leases relies on. Each part begins and ends with all GPUs free.
func (l leasing) journey(t *testing.T) {
	for _, part := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"count", l.count},
		{"named", l.named},
		{"end of a container", l.end},
		{"restart policy", l.policy},
		{"create", l.create},
		{"start", l.start},
		{"wait", l.wait},
		{"stopped", l.stopped},
		{"forged labels", l.forged},
		{"users", l.users},
		{"no daemon", l.down},
	} {
		t.Run(part.name, func(t *testing.T) {
			part.run(t)
			l.clear(t)
			if left := l.leases(t); slices.ContainsFunc(left, func(x lease) bool { return x.State != "over" }) {
				t.Errorf("leases are left behind: %+v", left)
			}
		})
	}
}

func (l leasing) count(t *testing.T) {
	first := l.given(t, l.detach(t, "--gpus=4"))
	second := l.given(t, l.detach(t, "--gpus=4"))
	// The node is two quads, each linked within.
	quads := [][]int{{0, 1, 2, 3}, {4, 5, 6, 7}}
	both := [][]int{first, second}
	slices.SortFunc(both, slices.Compare)
	if !slices.EqualFunc(both, quads, slices.Equal) {
		t.Errorf("two containers have the GPUs %v, want %v", both, quads)
	}
	l.refused(t, []string{"--gpus=4"}, "cannot get 4 GPUs: all 8 are in use (metax-ctk ps)")
	l.refused(t, []string{"--gpus=1"}, "cannot get 1 GPU: all 8 are in use (metax-ctk ps)")
	l.has(t, l.detach(t, "--gpus=all", "--gpus-share"), 0, 1, 2, 3, 4, 5, 6, 7)
}

func (l leasing) named(t *testing.T) {
	l.has(t, l.detach(t, "--gpus=[3]", "--name=owner"), 3)
	l.holds(t, 3)
	l.refused(t, []string{"--gpus=[3]"}, "GPU 3 is in use by container owner (docker)")
	l.refused(t, []string{"--gpus=[3]", "--dry-run"}, "GPU 3 is in use by container owner (docker)")
	l.refused(t, []string{"--device=metax-tech.com/gpu=3"}, "GPU 3 is in use by container owner (docker)", "To share: --gpus-share")
	l.has(t, l.detach(t, "--device=metax-tech.com/gpu=2", "--device=metax-tech.com/gpu=4", "--name=devices"), 2, 4)
	l.refused(t, []string{"--gpus=[4]"}, "GPU 4 is in use by container devices (docker)")
	l.must(t, nil, "docker", "rm", "--force", "devices")
	l.refused(t, []string{"--gpus=2,3"}, "GPU 3 is in use by container owner (docker)")
	l.refused(t, []string{"--gpus=all"}, "cannot get 8 GPUs: only 7 of 8 are free (metax-ctk ps). Unlike docker, GPUs are not shared by default: --gpus=7 or --gpus-share. To wait: --gpus-wait=10m")
	l.refused(t, []string{"--gpus=8"}, "cannot get 8 GPUs: only 7 of 8 are free", "(metax-ctk ps)")
	l.has(t, l.detach(t, "--gpus=[3]", "--gpus-share"), 3)
	l.has(t, l.detach(t, "--gpus=7"), 0, 1, 2, 4, 5, 6, 7)
}

func (l leasing) end(t *testing.T) {
	l.must(t, l.env(), append([]string{"metax-docker"}, l.runArgs([]string{"--gpus=all"}, "exit", "0")...)...)
	l.free(t) // although it is still there
	l.detach(t, "--gpus=all", "--name=killed")
	l.must(t, nil, "docker", "kill", "killed")
	l.free(t)
	l.detach(t, "--gpus=all", "--name=removed", "--rm")
	l.must(t, nil, "docker", "rm", "--force", "removed")
	l.free(t)
	l.detach(t, "--gpus=all")
}

// policy asserts that a container that will come back keeps its GPUs.
func (l leasing) policy(t *testing.T) {
	l.detach(t, "--gpus=[0]", "--restart=always", "--name=always")
	l.detach(t, "--gpus=[1]", "--restart=unless-stopped", "--name=unless-stopped")
	l.detach(t, "--gpus=[2]", "--name=never")
	l.must(t, nil, "docker", "stop", "always", "unless-stopped", "never")
	l.holds(t, 0, 1)
	l.refused(t, []string{"--gpus=[0]"}, "container always (docker)")
	l.daemon.stop(t)
	l.daemon.start(t)
	l.holds(t, 0, 1)
	if state := l.must(t, nil, "docker", "inspect", "--format", "{{.State.Status}}", "always"); strings.TrimSpace(state) != "running" {
		t.Errorf("docker has not started the container again: it has %s", state)
	}
	l.must(t, nil, "docker", "rm", "--force", "always", "unless-stopped")
	l.free(t)
}

func (l leasing) create(t *testing.T) {
	args := l.runArgs([]string{"--gpus=8", "--name=made"})
	args[0] = "create"
	l.must(t, l.env(), append([]string{"metax-docker"}, args...)...)
	l.holds(t, 0, 1, 2, 3, 4, 5, 6, 7)
	l.sweep(t)
	l.refused(t, []string{"--gpus=1"}, "cannot get 1 GPU: all 8 are in use (metax-ctk ps)")
	l.must(t, l.env(), "metax-docker", "start", "made")
	l.holds(t, 0, 1, 2, 3, 4, 5, 6, 7)
	l.must(t, nil, "docker", "stop", "made")
	l.free(t)
}

// start asserts that a container that is started again has its GPUs again, or does not
// start.
func (l leasing) start(t *testing.T) {
	l.detach(t, "--gpus=0,1", "--name=old")
	l.must(t, nil, "docker", "stop", "old")
	l.free(t)
	l.must(t, l.env(), "metax-docker", "start", "old")
	l.holds(t, 0, 1)
	l.must(t, l.env(), "metax-docker", "restart", "old")
	l.holds(t, 0, 1)
	l.must(t, nil, "docker", "stop", "old")
	l.detach(t, "--gpus=1,2", "--name=new")
	l.failed(t, l.metax(t, "start", "old"), "GPU 1 is in use by container new (docker)")
	l.holds(t, 1, 2)
	l.must(t, l.env(), "metax-docker", "start", "--gpus-share", "old")
	l.holds(t, 0, 1, 2)
	l.must(t, nil, "docker", "stop", "old", "new")
	l.free(t)
	// Containers of plain docker need no lease, but their GPUs count as in use.
	l.must(t, nil, "docker", "start", "old")
	l.holds(t, 0, 1)
	l.refused(t, []string{"--gpus=[1]"}, "container old (docker)")
}

// wait asserts that who waits is served in the order of arrival.
func (l leasing) wait(t *testing.T) {
	l.detach(t, "--gpus=all", "--name=first")
	l.failed(t, l.metax(t, l.runArgs([]string{"--gpus=1", "--gpus-wait=300ms"})...), "waiting up to 300ms", "gave up after 300ms: all 8 GPUs are still in use")
	const waiters = 3
	results := make(chan error, waiters)
	for i := range waiters {
		name := fmt.Sprintf("--name=waiter%d", i)
		argv := append([]string{"metax-docker"}, l.runArgs([]string{"--gpus=5", "--gpus-wait=2m", name}, "exit", "0")...)
		go func() {
			r, err := l.try(t.Context(), l.env(), argv...)
			if err == nil && r.code != 0 {
				err = fmt.Errorf("%s: %v", name, r)
			}
			results <- err
		}()
		until(t, func() (bool, string) { return len(l.ps(t).Queue) == i+1, "the waiter is not in the queue" })
	}
	// Who does not wait must not go before those who do.
	l.must(t, nil, "docker", "rm", "--force", "first")
	for range waiters {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	var started []time.Time
	for i := range waiters {
		text := l.must(t, nil, "docker", "inspect", "--format", "{{.State.StartedAt}}", fmt.Sprintf("waiter%d", i))
		at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(text))
		if err != nil {
			t.Fatal(err)
		}
		started = append(started, at)
	}
	if !slices.IsSortedFunc(started, time.Time.Compare) {
		t.Errorf("the waiters started at %v, want them in the order of their arrival", started)
	}
}

// forged asserts that the labels, which anybody can set, move no lease.
func (l leasing) forged(t *testing.T) {
	l.detach(t, "--gpus=0,1", "--name=owner")
	taken := l.leases(t)
	if len(taken) != 1 {
		t.Fatalf("want one lease: %+v", taken)
	}
	label := "--label=metax-tech.com/lease=" + taken[0].ID
	l.refused(t, []string{"--gpus=1", label}, "metax-docker sets this label itself")
	plain := func(name string, options ...string) {
		t.Helper()
		argv := append([]string{"docker"}, l.runArgs(append(options, "--detach", "--name="+name, "--label=metax-tech.com/gpus=0,1"))...)
		l.must(t, nil, argv...)
	}
	plain("liar", label)
	plain("thief", label, "--device="+nodeDir+l.gpus[3].Nodes[0])
	plain("twin", label, "--device="+nodeDir+l.gpus[0].Nodes[0], "--device="+nodeDir+l.gpus[1].Nodes[0])
	plain("ghost", "--label=metax-tech.com/lease=0123456789ab")
	l.holds(t, 0, 1, 3)
	l.refused(t, []string{"--gpus=[3]"}, "container thief (docker)")
	l.must(t, nil, "docker", "rm", "--force", "liar", "thief", "twin", "ghost")
	l.holds(t, 0, 1)
	l.refused(t, []string{"--gpus=[1]"}, "container owner (docker)")
	if now := l.leases(t); len(now) != 1 || now[0].ID != taken[0].ID || now[0].Container != taken[0].Container {
		t.Errorf("the leases were %+v and are %+v", taken, now)
	}
}

// users asserts what others than root may do.
func (l leasing) users(t *testing.T) {
	l.must(t, nil, "metax-ctk", "--root", l.root, "lease", "init")
	as := func(user string, argv ...string) result {
		t.Helper()
		return l.run(t, l.env(), append([]string{"probe", "as", user}, argv...)...)
	}
	metax := func(user string, options ...string) result {
		t.Helper()
		return as(user, append([]string{"metax-docker"}, l.runArgs(append(options, "--detach"))...)...)
	}
	release := func(user string, args ...string) result {
		t.Helper()
		return as(user, append([]string{"metax-ctk", "--root", l.root, "lease", "release"}, args...)...)
	}
	alice, bob := fmt.Sprintf("1000:1000,%d", dockerGID), "1001:1001"

	l.detach(t, "--gpus=[0]", "--name=roots")
	if r := metax(alice, "--gpus=[1]", "--name=hers"); r.code != 0 {
		t.Errorf("a member of docker's group must be able to take a lease: %v", r)
	}
	l.failed(t, metax(alice, "--gpus=[0]"), "GPU 0 is in use by container roots (docker)", "of root")
	l.failed(t, metax(bob, "--gpus=[2]"), "docker")
	l.holds(t, 0, 1)

	l.must(t, nil, "metax-ctk", "--root", l.root, "lease", "gc") // binds
	for _, x := range l.leases(t) {
		switch r := release(alice, x.ID); {
		case r.code == 0:
			t.Errorf("alice may release the lease of a running container without a word: %+v", x)
		case !strings.Contains(r.stderr, "--force"):
			t.Errorf("want a message that names --force: %v", r)
		case slices.Contains(x.GPUs, 0) && !strings.Contains(r.stderr, "belongs to root"):
			t.Errorf("want a message that names root: %v", r)
		}
		if r := release(bob, "--force", x.ID); r.code == 0 {
			t.Errorf("bob, who is not in docker's group, may release leases: %v", r)
		}
		if r := release(alice, "--force", x.ID); r.code != 0 {
			t.Errorf("alice must be able to release a lease by force: %v", r)
		}
	}
	if left := l.leases(t); len(left) != 0 {
		t.Errorf("leases are left: %+v", left)
	}
	l.holds(t, 0, 1) // by the containers, which go on
	l.refused(t, []string{"--gpus=[0]"}, "container roots (docker)")
	l.refused(t, []string{"--gpus=[1]"}, "container hers (docker)")
	info, err := os.Stat(l.Path(l.root + "/run/metax-container-toolkit/leases/leases.json"))
	if err != nil || info.Mode().Perm()&0o002 != 0 {
		t.Errorf("the state has mode %v (%v)", info.Mode(), err)
	}
}

// down asserts that GPUs of a daemon that is not running stay in use.
func (l leasing) down(t *testing.T) {
	l.detach(t, "--gpus=0,1", "--name=before", "--restart=always")
	l.holds(t, 0, 1)
	l.daemon.stop(t)
	l.holds(t, 0, 1)
	l.refused(t, []string{"--gpus=[1]", "--inject=flags"}, "GPU 1 is in use by")
	l.refused(t, []string{"--gpus=6", "--inject=flags"}, "there is no docker daemon at")
	l.holds(t, 0, 1) // and nothing for the one that failed
	l.daemon.start(t)
	until(t, func() (bool, string) {
		l.must(t, nil, "metax-ctk", "--root", l.root, "lease", "gc")
		o := l.ps(t)
		return slices.Equal(o.held(), []int{0, 1}), o.String()
	})
}
