// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/test/report"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// TestHolders asserts that a user of a GPU without a lease is found, named and not
// disturbed, and that the GPU is free after that.
func TestHolders(t *testing.T) {
	t.Run("sid", func(t *testing.T) {
		t.Parallel()
		h := newHost(t, "sid", sandbox.Hybrid)
		h.plant(t)
		containerd := h.containerd(t, "2.", containerd2)
		h.podman(t, "5.", "runc")
		h.docker(t, "28.", nil, "--containerd=/run/containerd/containerd.sock")
		o := onlookers{desk{host: h, client: "docker", root: nodeDir}}
		pod, err := containerd.Pod(t.Context(), h.Cgroup())
		if err != nil {
			t.Fatal(err)
		}
		o.each(t, slices.Concat(o.docker(), o.dockerCDI(), o.ctr(), o.cri(pod), o.podman(true), o.processes()))
		t.Run("strangers", o.strangers)
	})
	t.Run("sid/no docker", func(t *testing.T) {
		t.Parallel()
		h := newHost(t, "sid", sandbox.V2)
		h.plant(t)
		h.containerd(t, "2.", containerd2)
		o := onlookers{desk{host: h, client: "podman", root: nodeDir}}
		o.each(t, slices.Concat(o.ctr(), o.processes()))
	})
	t.Run("trixie", func(t *testing.T) {
		t.Parallel()
		h := newHost(t, "trixie", sandbox.V1)
		h.docker(t, "26.1.", nil)
		h.podman(t, "5.4.", "crun")
		o := onlookers{desk{host: h, client: "docker", root: nodeDir}}
		o.each(t, slices.Concat(o.docker(), o.podman(true)))
	})
	t.Run("bookworm", func(t *testing.T) {
		t.Parallel()
		h := newHost(t, "bookworm", sandbox.Hybrid, "--no-groups")
		h.plant(t)
		h.docker(t, "20.10.", nil)
		h.podman(t, "4.3.", "runc")
		o := onlookers{desk{host: h, client: "docker", root: nodeDir}}
		o.each(t, slices.Concat(o.docker(), o.podman(true), o.processes()))
	})
	t.Run("sid/real root", func(t *testing.T) {
		t.Parallel()
		h := newHost(t, "sid", sandbox.Hybrid)
		h.plant(t)
		h.replant(t)
		containerd := h.containerd(t, "2.", containerd2)
		h.podman(t, "5.", "runc")
		h.docker(t, "28.", nil, "--containerd=/run/containerd/containerd.sock")
		o := onlookers{desk{host: h, client: "docker", root: "/"}}
		pod, err := containerd.Pod(t.Context(), h.Cgroup())
		if err != nil {
			t.Fatal(err)
		}
		o.each(t, slices.Concat(o.docker(), o.dockerCDI(), o.ctr(), o.cri(pod), o.podman(true), o.processes(), o.inside()))
		t.Run("privileged and idle", func(t *testing.T) {
			o.must(t, nil, "docker", "run", "--detach", "--network=none", "--privileged", "--name=idle", imageRef)
			o.must(t, nil, "podman", "run", "--detach", "--network=none", "--privileged", "--name=idle", "--cgroup-parent="+o.Cgroup(), imageRef)
			o.holds(t)
		})
	})
}

// openable is the GPU whose card has the number of /dev/full here, a device with a driver
// behind it that nobody else opens. The simulated nodes have none, so that they can be given
// and never opened.
const openable = 5

// plant creates the device node of that GPU, and its files in sysfs.
func (h *host) plant(t *testing.T) {
	t.Helper()
	path := h.gpus[openable].Nodes[0]
	at := h.Path(nodeDir + path)
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mknod(at, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 7))); err != nil {
		t.Fatal(err)
	}
	told := 0
	number := filepath.Join("drm", filepath.Base(path), "dev")
	err := filepath.WalkDir(h.Path(nodeDir+"/sys"), func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, number) {
			return err
		}
		told++
		return os.WriteFile(file, []byte("1:7\n"), 0o644)
	})
	if err != nil || told == 0 {
		t.Fatalf("%d files of the simulated sysfs end in %s: %v", told, number, err)
	}
}

// replant makes the simulated node the machine's own: /sys, /dev and /opt are its.
func (h *host) replant(t *testing.T) {
	t.Helper()
	bind := func(from, to string) {
		t.Helper()
		h.must(t, nil, "probe", "bind", from, to)
	}
	h.write(t, "/dev/mxcd", "")
	for _, dir := range []string{"/dev/dri", "/opt", nodeDir + "/sys/fs/cgroup"} {
		if err := os.MkdirAll(h.Path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	bind("/sys/fs/cgroup", nodeDir+"/sys/fs/cgroup")
	for _, path := range []string{"/dev/dri", "/dev/mxcd", "/opt", "/sys"} {
		bind(nodeDir+path, path)
	}
	h.must(t, nil, "metax-ctk", "cdi", "generate", "--output", "/run/cdi/metax-tech.com-gpu.json")
}

// onlookers see what others do on a machine.
type onlookers struct{ desk }

// each begins, sees and ends one after another.
func (o onlookers) each(t *testing.T, all []outsider) {
	for _, who := range all {
		t.Run(who.name, func(t *testing.T) {
			o.free(t)
			end := who.begin(t)
			ended := false
			defer func() {
				if !ended {
					end()
				}
			}()
			o.seen(t, who)
			if t.Failed() {
				return
			}
			end()
			ended = true
			o.free(t)
			o.must(t, o.env(), "metax-docker", "run", "--dry-run", "--gpus="+list(who.gpus), imageRef)
		})
	}
}

// list is a value for --gpus that names these GPUs.
func list(gpus []int) string {
	return strings.ReplaceAll(fmt.Sprint(gpus), " ", ",")
}

// seen asserts that everybody knows of who has GPUs.
func (o onlookers) seen(t *testing.T, who outsider) {
	t.Helper()
	var all occupancy
	// An engine under load may be too late with its answer once.
	until(t, func() (bool, string) {
		all = o.ps(t)
		return slices.Equal(all.held(), who.gpus), fmt.Sprintf("the GPUs %v are held, want %v\n%v", all.held(), who.gpus, all)
	})
	for _, gpu := range who.gpus {
		holders := all.GPUs[gpu].Holders
		if len(holders) != 1 {
			t.Errorf("GPU %d has %d holders\n%v", gpu, len(holders), all)
			continue
		}
		h := holders[0]
		if !slices.Equal(h.Sources, who.sources) {
			t.Errorf("GPU %d is told by %v, want %v\n%v", gpu, h.Sources, who.sources, all)
		}
		switch {
		case who.container == "" && h.Container != nil:
			t.Errorf("GPU %d is held by a container\n%v", gpu, all)
		case who.container == "":
		case h.Container == nil || h.Container.Engine != who.engine || h.Container.Name != who.container && h.Container.ID != who.container:
			t.Errorf("GPU %d is not held by container %s of %s\n%v", gpu, who.container, who.engine, all)
		}
		name := who.container
		if name == "" {
			name = "process"
		} else if len(name) == 64 {
			name = name[:12]
		}
		words := []string{fmt.Sprintf("GPU %d is in use by ", gpu), name, "(metax-ctk ps)"}
		one := list([]int{gpu})
		o.refused(t, []string{"--dry-run", "--gpus=" + one}, words...)
		o.refused(t, []string{"--gpus=" + one}, words...)
	}
	why := fmt.Sprintf("only %d of 8 ", nodeGPUs-len(who.gpus))
	if len(who.gpus) == nodeGPUs {
		why = "all 8 are in use "
	}
	o.refused(t, []string{"--dry-run", "--gpus=all"}, "cannot get 8 GPUs: "+why)
}

// strangers asserts that a simulated node sees nothing of those who use the machine's
// own DRM nodes, which have the numbers of its nodes: containers of every engine, and
// a process.
func (o onlookers) strangers(t *testing.T) {
	own := func(gpu, n int) string {
		t.Helper()
		path, simulated := o.Path(o.gpus[gpu].Nodes[n]), o.Path(o.node(gpu, n))
		var stat unix.Stat_t
		if err := unix.Stat(simulated, &stat); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(stat.Rdev)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(path) })
		return o.gpus[gpu].Nodes[n]
	}
	card, render, open := own(0, 0), own(1, 1), own(openable, 0)
	all := []outsider{
		o.container("docker", "of others", nil, "--device="+card, "--device="+render),
		o.container("podman", "of others", nil, "--device="+card, "--device="+render),
	}
	for _, who := range all {
		defer who.begin(t)()
	}
	o.must(t, nil, "ctr", "--namespace", "k8s.io", "run", "--detach", "--cgroup", o.Cgroup()+"/others", "--device", card, imageRef, "others")
	defer func() {
		o.must(t, nil, "ctr", "--namespace", "k8s.io", "task", "delete", "--force", "others")
		o.must(t, nil, "ctr", "--namespace", "k8s.io", "container", "delete", "others")
	}()
	in := o.inbox(t)
	defer o.process(t, in, "probe", "open", open, filepath.Join(in.dir, report.Waiting))()
	o.free(t)
	o.must(t, o.env(), "metax-docker", "run", "--dry-run", "--gpus=all", imageRef)
}
