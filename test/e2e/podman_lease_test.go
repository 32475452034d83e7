// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// TestLeasePodman is about an engine without a daemon: its containers are found by
// their monitor processes.
func TestLeasePodman(t *testing.T) {
	rows := []struct {
		suite, version string
		options        []string // of cdi generate
	}{
		{"sid", "5.", nil},
		{"bookworm", "4.3.", []string{"--no-groups"}},
	}
	for _, row := range rows {
		t.Run(row.suite, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, row.suite, sandbox.Hybrid, row.options...)
			h.podman(t, row.version, "runc")
			d := desk{host: h, client: "podman", root: nodeDir, options: []string{"--cgroup-parent=" + h.Cgroup()}}

			first := d.detach(t, "--gpus=3", "--name=first")
			second := d.detach(t, "--gpus=4")
			all := slices.Concat(d.given(t, first), d.given(t, second))
			slices.Sort(all)
			if all = slices.Compact(all); len(all) != 7 {
				t.Errorf("two containers with 3 and 4 GPUs have the GPUs %v", all)
			}
			d.holds(t, all...)
			d.refused(t, []string{"--gpus=2"}, "cannot get 2 GPUs: only 1 of 8 is free", "(metax-ctk ps)")
			d.must(t, nil, "metax-ctk", "--root", nodeDir, "lease", "gc") // binds
			var bound []string
			for _, l := range d.leases(t) {
				bound = append(bound, l.Container)
			}
			want := []string{first, second}
			slices.Sort(bound)
			slices.Sort(want)
			if !slices.Equal(bound, want) {
				t.Errorf("leases are bound to %v, want %v", bound, want)
			}

			d.must(t, nil, "podman", "stop", "first")
			until(t, func() (bool, string) {
				o := d.ps(t)
				return len(o.held()) == 4, o.String()
			})
			d.must(t, d.env(), "metax-docker", "start", "first")
			d.holds(t, all...)
			d.must(t, d.env(), append([]string{"metax-docker"}, d.runArgs([]string{"--gpus=1", "--rm"}, "exit", "0")...)...)
			d.sweep(t) // nobody has seen that container
			d.holds(t, all...)
			d.clear(t)
			d.unstarted(t)
		})
	}
}

// unstarted makes containers and starts them later, with an engine without a daemon.
func (d desk) unstarted(t *testing.T) {
	create := func(gpus, name string) result {
		args := d.runArgs([]string{"--gpus=" + gpus, "--name=" + name})
		args[0] = "create"
		return d.metax(t, args...)
	}
	made := func(gpus, name string) {
		t.Helper()
		if r := create(gpus, name); r.code != 0 {
			t.Fatal(r)
		}
	}
	made("4", "one")
	made("4", "two")
	first, second := d.given(t, "one"), d.given(t, "two")
	if slices.ContainsFunc(first, func(g int) bool { return slices.Contains(second, g) }) {
		t.Errorf("two containers that were made have the GPUs %v and %v", first, second)
	}
	d.holds(t, 0, 1, 2, 3, 4, 5, 6, 7)
	d.sweep(t)
	d.refused(t, []string{"--gpus=1"}, "cannot get 1 GPU: all 8 are in use (metax-ctk ps)")
	d.must(t, d.env(), "metax-docker", "start", "one")
	d.holds(t, 0, 1, 2, 3, 4, 5, 6, 7)
	d.must(t, nil, d.client, "rm", "two")
	d.holds(t, first...)
	made("2", "two")
	d.must(t, nil, d.client, "stop", "one")
	d.must(t, d.env(), "metax-docker", "start", "two")
	d.must(t, nil, d.client, "stop", "two")
	d.sweep(t)
	d.holds(t)
	// One that ran has its GPUs back, or does not start.
	d.detach(t, "--gpus=["+strings.Trim(strings.Join(strings.Fields(fmt.Sprint(first)), ","), "[]")+"]", "--name=three")
	d.failed(t, d.metax(t, "start", "one"), "is in use by container")
	d.must(t, nil, d.client, "rm", "--force", "three")
	d.must(t, d.env(), "metax-docker", "restart", "one")
	d.holds(t, first...)
	// What could not be made has none.
	if r := create("2", "one"); r.code == 0 || r.code == 125 && strings.Contains(r.stderr, "metax-docker:") {
		t.Errorf("a second container with the name one: %v", r)
	}
	d.holds(t, first...)
	d.must(t, nil, d.client, "rm", "--force", "one", "two")
	d.sweep(t)
	d.holds(t)
}
