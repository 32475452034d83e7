package e2e

import (
	"slices"
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
			d.must(t, nil, "podman", "start", "first") // it still has the devices
			d.holds(t, all...)
			d.must(t, d.env(), append([]string{"metax-docker"}, d.runArgs([]string{"--gpus=1", "--rm"}, "exit", "0")...)...)
			d.sweep(t) // nobody has seen that container
			d.holds(t, all...)
			d.clear(t)
		})
	}
}
