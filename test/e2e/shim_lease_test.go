// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// TestShimLease asserts that what the runtime shim or a hook gave to a container counts,
// although the container's engine knows nothing of it and nobody has a GPU open.
func TestShimLease(t *testing.T) {
	h := newHost(t, "sid", sandbox.Hybrid)
	h.containerd(t, "2.", containerd2)
	h.podman(t, "5.", "runc")
	h.installHook(t)
	h.docker(t, "28.", map[string]any{"runtimes": map[string]any{"metax": map[string]any{"path": shimPath}}},
		"--containerd=/run/containerd/containerd.sock")
	o := onlookers{desk{host: h, client: "docker", root: nodeDir}}
	o.each(t, slices.Concat(o.shimDocker(), o.shimCtr(), o.shimPodman(t)))
	s := shimLeasing(o)
	for _, part := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"others avoid them", s.avoided},
		{"volumes of another container", s.inherited},
		{"life", s.life},
		{"what asks for nothing", s.nothing},
	} {
		t.Run(part.name, func(t *testing.T) {
			part.run(t)
			s.clear(t)
		})
	}
}

// byList are the options that request GPUs by device-list mounts, in both of docker's ways.
func byList(names ...string) []string {
	var options []string
	for i, name := range names {
		if i%2 == 0 {
			options = append(options, "--volume=/dev/null:"+deviceList+name)
		} else {
			options = append(options, "--mount=type=bind,source=/dev/null,target="+deviceList+name)
		}
	}
	return options
}

func (o onlookers) shimDocker() []outsider {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	run := func(name string, gpus []int, options ...string) outsider {
		return o.container("docker", "shim "+name, gpus, append(options, "--runtime=metax")...)
	}
	return []outsider{
		run("annotation", []int{0, 3}, "--annotation=metax-tech.com/gpu=0,3"),
		run("annotation all", all, "--annotation=metax-tech.com/gpu=all"),
		run("CDI annotation", []int{4}, "--annotation=cdi.k8s.io/test=metax-tech.com/gpu="+o.gpus[4].UUID),
		run("list", []int{1, 5}, byList("1", o.gpus[5].UUID)...),
		run("both", []int{2, 6, 7}, append(byList("7", "2"), "--annotation=metax-tech.com/gpu=6,7")...),
		run("privileged", []int{5}, "--privileged", "--annotation=metax-tech.com/gpu=5"),
	}
}

func (o onlookers) shimCtr() []outsider {
	const id = "outsider-shim"
	return []outsider{{
		name: "ctr shim", gpus: []int{1, 6}, engine: "containerd", container: id, sources: []string{fromContainer},
		begin: func(t *testing.T) func() {
			o.must(t, nil, "ctr", "--namespace", "k8s.io", "run", "--detach", "--cgroup", o.Cgroup()+"/"+id,
				"--runc-binary", shimPath, "--annotation", "metax-tech.com/gpu=6",
				"--mount", "type=bind,src=/dev/null,dst="+deviceList+"1,options=bind:ro", imageRef, id)
			return func() {
				o.must(t, nil, "ctr", "--namespace", "k8s.io", "task", "delete", "--force", id)
				o.must(t, nil, "ctr", "--namespace", "k8s.io", "container", "delete", id)
			}
		},
	}}
}

// shimPodman has the shim, which edits the bundle that is looked at, and the hook of the stage
// that cannot.
func (o onlookers) shimPodman(t *testing.T) []outsider {
	t.Helper()
	run := func(name string, gpus []int, global string, options ...string) outsider {
		id := "outsider-" + name
		return outsider{
			name: "podman " + name, gpus: gpus, engine: "podman", container: id, sources: []string{fromContainer},
			begin: func(t *testing.T) func() {
				argv := []string{"podman", global, "run", "--detach", "--network=none", "--name=" + id, "--cgroup-parent=" + o.Cgroup()}
				o.must(t, nil, append(append(argv, options...), imageRef)...)
				return func() { o.must(t, nil, "podman", global, "rm", "--force", id) }
			},
		}
	}
	return []outsider{
		run("shim", []int{1, 2, 7}, "--runtime="+shimPath, append(byList("7"), "--annotation=metax-tech.com/gpu=1,2")...),
		run("prestart", []int{3, 4}, "--hooks-dir="+o.hooksDir(t, []string{"metax-prestart-podman-crio.json"}), "--annotation=metax-tech.com/gpu=3,4"),
	}
}

// shimLeasing is Docker with containers that ask the shim, beside others that take leases.
type shimLeasing struct{ desk }

func (s shimLeasing) docker(t *testing.T, verb, name string, options ...string) {
	t.Helper()
	argv := []string{"docker", verb, "--network=none", "--runtime=metax", "--name=" + name}
	if verb == "run" {
		argv = append(argv, "--detach")
	}
	s.must(t, nil, append(append(argv, options...), imageRef, "/probe", "pause")...)
}

func (s shimLeasing) avoided(t *testing.T) {
	s.docker(t, "run", "annotated", "--annotation=metax-tech.com/gpu=0,3")
	s.docker(t, "run", "listed", byList("1", s.gpus[5].UUID)...)
	s.holds(t, 0, 1, 3, 5)
	s.has(t, s.detach(t, "--gpus=4"), 2, 4, 6, 7)
	s.refused(t, []string{"--gpus=1"}, "cannot get 1 GPU: all 8 are in use (metax-ctk ps)")
	s.refused(t, []string{"--gpus=[3]"}, "GPU 3 is in use by container annotated (docker)")
	s.refused(t, []string{"--gpus=[5]"}, "GPU 5 is in use by container listed (docker)")
	s.must(t, nil, "docker", "rm", "--force", "annotated")
	s.has(t, s.detach(t, "--gpus=2"), 0, 3)
}

// inherited asserts that a mount counts which docker takes over from another container.
func (s shimLeasing) inherited(t *testing.T) {
	s.docker(t, "create", "first", byList("2", "4")...)
	s.docker(t, "run", "second", "--volumes-from=first")
	s.must(t, nil, "docker", "rm", "first")
	s.holds(t, 2, 4)
}

func (s shimLeasing) life(t *testing.T) {
	s.docker(t, "create", "made", "--annotation=metax-tech.com/gpu=0,1")
	s.holds(t, 0, 1)
	s.must(t, nil, "docker", "start", "made")
	s.holds(t, 0, 1)
	s.must(t, nil, "docker", "pause", "made")
	s.holds(t, 0, 1)
	s.must(t, nil, "docker", "kill", "made")
	s.free(t)
	s.docker(t, "run", "again", "--restart=always", "--annotation=metax-tech.com/gpu=2")
	s.must(t, nil, "docker", "stop", "again")
	s.holds(t, 2)
	s.must(t, nil, "docker", "rm", "again")
	s.free(t)
}

// nothing asserts what counts for nothing: what the shim does not read, and what it refuses.
func (s shimLeasing) nothing(t *testing.T) {
	s.docker(t, "run", "other", "--label=metax-tech.com/gpu=0", "--env=METAX_VISIBLE_DEVICES=1", "--annotation=metax-tech.com/gpus=2",
		"--volume=/dev/null:/tmp/metax-container-devices/3", "--annotation=metax-tech.com/maca=none")
	s.holds(t)
	for _, word := range []string{"99", "0,,1", "metax-tech.com/gpu=0"} {
		r := s.run(t, nil, "docker", "run", "--network=none", "--runtime=metax", "--annotation=metax-tech.com/gpu="+word, imageRef)
		if r.code == 0 {
			t.Errorf("%q is served: %v", word, r)
		}
	}
	s.holds(t)
}
