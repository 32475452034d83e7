// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/report"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// nerdctlProgram does not print its version; engines/go.mod has it.
const nerdctlProgram = sandbox.BuiltDir + "/nerdctl"

// TestNerdctl injects GPUs into nerdctl's containers. There is nothing to configure: CDI is on
// in nerdctl itself, and a runtime is named on the command line.
func TestNerdctl(t *testing.T) {
	for _, layout := range []sandbox.Layout{sandbox.Hybrid, sandbox.V2} {
		t.Run(string(layout), func(t *testing.T) {
			t.Parallel()
			h := newHost(t, "sid", layout)
			h.containerd(t, "2.1.", containerd2)
			h.link(t, nerdctlProgram, "/usr/local/bin/nerdctl")
			h.must(t, nil, "nerdctl", "load", "--quiet", "--input", imageFile)
			w := wrapper{
				host: h, client: "nerdctl", unknown: "unresolvable CDI devices", cdi: true, auto: "flags",
				options: []string{"--cgroup-parent=" + h.Cgroup()},
			}
			o := onlookers{desk{host: h, client: "nerdctl", root: nodeDir}}
			t.Run("metax-docker", func(t *testing.T) { w.viaNerdctl(t, o.sweep) })
			t.Run("unstarted", func(t *testing.T) {
				desk{host: h, client: "nerdctl", root: nodeDir, options: w.options}.unstarted(t)
			})
			t.Run("nerdctl", w.nerdctl)
			t.Run("metax-runtime", h.nerdctlRuntime)
			t.Run("holders", func(t *testing.T) {
				o.sweep(t)
				o.each(t, []outsider{o.nerdctl("CDI", []int{3}, "metax-tech.com/gpu=3"), o.nerdctl("card", []int{2}, o.node(2, 0))})
			})
		})
	}
}

// viaNerdctl is metax-docker with nerdctl for its client. The GPUs of a container that
// nobody saw are others' after a moment, for which a dry run does not wait: sweep does.
func (w wrapper) viaNerdctl(t *testing.T, sweep func(*testing.T)) {
	const wait = "--gpus-wait=1m"
	w.sees(t, w.look(t), nil)
	w.sees(t, w.look(t, wait, "--gpus=all"), []int{0, 1, 2, 3, 4, 5, 6, 7})
	w.sees(t, w.look(t, wait, "--gpus=2,"+w.gpus[5].UUID, "--user=1000:1000"), []int{2, 5})
	w.sees(t, w.look(t, wait, "--gpus=1,4", "--inject=cdi"), []int{1, 4})
	w.sees(t, w.look(t, wait, "--gpus=0,7", "--inject=cdi", "--user=1000:1000"), []int{0, 7})
	sweep(t)
	w.prints(t, w.inbox(t), w.auto)
	for _, way := range []string{"flags", "cdi"} {
		in := w.inbox(t)
		w.must(t, nil, "sh", "-c", w.prints(t, in, way, "--inject="+way))
		w.sees(t, in.report(t), []int{3})
	}
	if r := w.run(t, w.env(), w.argv(w.inbox(t), []string{"--gpus=1"}, "exit", "42")...); r.code != 42 {
		t.Errorf("want exit code 42: %v", r)
	}
	t.Run("signal", w.signal)
	t.Run("must fail", w.failures)
}

// nerdctl is nerdctl by itself, which knows CDI names since 2.1.
func (w wrapper) nerdctl(t *testing.T) {
	run := func(options ...string) report.Report {
		t.Helper()
		in := w.inbox(t)
		argv := []string{"nerdctl", "run", "--rm", "--network=none", "--cgroup-parent=" + w.Cgroup(), "--volume", in.dir + ":" + report.Dir}
		argv = append(append(argv, options...), imageRef, "/probe", "look")
		w.must(t, nil, append(argv, w.numbers(t)...)...)
		return in.report(t)
	}
	w.sees(t, run(), nil)
	w.sees(t, run("--device=metax-tech.com/gpu=6", "--device="+w.cdiNames([]int{7})[0]), []int{6, 7})
	// A CDI library of 1.1 or newer gives a node the mode that it has on the host; the group
	// comes from the spec. nerdctl ignores the groups that a spec gives the process.
	w.sees(t, run("--device=metax-tech.com/gpu=6", "--user=1000:1000", fmt.Sprintf("--group-add=%d", videoGID)), []int{6})
	generate := func(options ...string) {
		w.must(t, nil, append([]string{"metax-ctk", "--root", nodeDir, "cdi", "generate", "--output", "/run/cdi/metax-tech.com-gpu.json"}, options...)...)
	}
	generate("--no-groups") // the nodes keep theirs
	w.sees(t, run("--device=metax-tech.com/gpu=6", "--user=1000:1000", fmt.Sprintf("--group-add=%d", videoGID)), []int{6})
	generate()
	r := run("--device=metax-tech.com/gpu=6", "--user=1000:1000")
	for _, n := range r.Nodes {
		if !engineNode(n.Path) && n.Open != "EACCES" {
			t.Errorf("uid 1000, who is not in the group, opens %s: %q, want EACCES", n.Path, n.Open)
		}
	}
	for _, n := range r.Nodes {
		if !engineNode(n.Path) && (n.Mode != "0660" || n.Owner != fmt.Sprintf("0:%d", videoGID)) {
			t.Errorf("%s is %s %s, want 0660 0:%d", n.Path, n.Mode, n.Owner, videoGID)
		}
	}
}

// nerdctl is somebody who has GPUs by nerdctl.
func (o onlookers) nerdctl(name string, gpus []int, devices ...string) outsider {
	id := "outsider-" + name
	return outsider{
		name: "nerdctl " + name, gpus: gpus, engine: "containerd", container: id, sources: []string{fromContainer},
		begin: func(t *testing.T) func() {
			argv := []string{"nerdctl", "run", "--detach", "--network=none", "--cgroup-parent=" + o.Cgroup(), "--name=" + id}
			for _, device := range devices {
				argv = append(argv, "--device="+device)
			}
			o.must(t, nil, append(argv, imageRef)...)
			return func() { o.must(t, nil, "nerdctl", "rm", "--force", id) }
		},
	}
}

// nerdctlRuntime has the shim as the runtime, and asks by annotations.
func (h *host) nerdctlRuntime(t *testing.T) {
	run := func(in inbox, options ...string) result {
		argv := []string{"nerdctl", "run", "--rm", "--network=none", "--cgroup-parent=" + h.Cgroup(), "--volume", in.dir + ":" + report.Dir}
		argv = append(append(argv, options...), imageRef, "/probe", "look")
		return h.run(t, nil, append(argv, h.numbers(t)...)...)
	}
	shim := "--runtime=" + shimPath
	for _, row := range []struct {
		options []string
		gpus    []int
	}{
		{[]string{shim}, nil},
		{[]string{shim, "--annotation=metax-tech.com/gpu=1,6"}, []int{1, 6}},
		{[]string{shim, "--volume=/dev/null:" + deviceList + "3"}, []int{3}},
		{[]string{"--annotation=metax-tech.com/gpu=1,6"}, nil}, // that is runc
	} {
		t.Run(fmt.Sprint(row.options), func(t *testing.T) {
			in := h.inbox(t)
			if r := run(in, row.options...); r.code != 0 {
				t.Fatal(r)
			}
			h.sees(t, in.report(t), row.gpus)
		})
	}
	t.Run("unknown device must fail", func(t *testing.T) {
		in := h.inbox(t)
		if r := run(in, slices.Concat([]string{shim}, []string{"--annotation=metax-tech.com/gpu=99"})...); r.code == 0 || !strings.Contains(r.stderr, noDevice) || !in.empty(t) {
			t.Errorf("want no container, and an error that names %s: %v", noDevice, r)
		}
	})
}
