// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/e2e/internal/cri"
	"github.com/metax-ctk/container-toolkit/test/report"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// outsider is somebody who has GPUs without metax-docker.
type outsider struct {
	name string
	gpus []int
	// engine and container are the expected ones, empty for none. A container may be
	// known by its name or its ID.
	engine, container string
	sources           []string
	// begin makes it, and returns how to end it.
	begin func(t *testing.T) (end func())
}

const (
	fromContainer = "container"
	fromProcess   = "process"
)

// container is an outsider made and ended by the commands of an engine.
func (o onlookers) container(engine, name string, gpus []int, options ...string) outsider {
	id := "outsider-" + strings.ReplaceAll(name, " ", "-")
	return outsider{
		name: engine + " " + name, gpus: gpus, engine: engine, container: id, sources: []string{fromContainer},
		begin: func(t *testing.T) func() {
			argv := []string{engine, "run", "--detach", "--network=none", "--name=" + id}
			if engine == "podman" {
				argv = append(argv, "--cgroup-parent="+o.Cgroup())
			}
			o.must(t, nil, append(append(argv, options...), imageRef)...)
			return func() { o.must(t, nil, engine, "rm", "--force", id) }
		},
	}
}

// node is the path of a GPU's node on this machine.
func (o onlookers) node(gpu, n int) string { return filepath.Join(o.root, o.gpus[gpu].Nodes[n]) }

func (o onlookers) docker() []outsider {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	return []outsider{
		o.container("docker", "card", []int{2}, "--device="+o.node(2, 0)),
		o.container("docker", "renderD", []int{4}, "--device="+o.node(4, 1)+":/dev/dri/renderD128:r"),
		o.container("docker", "two nodes", []int{1, 6}, "--device="+o.node(6, 0), "--device="+o.node(1, 1)),
		o.container("docker", "directory", all, "--device="+filepath.Join(o.root, "/dev/dri")),
	}
}

func (o onlookers) dockerCDI() []outsider {
	return []outsider{
		o.container("docker", "CDI", []int{3}, "--device=metax-tech.com/gpu=3"),
		o.container("docker", "CDI by UUID", []int{0, 7}, "--device="+o.cdiNames([]int{0})[0], "--device="+o.cdiNames([]int{7})[0]),
		o.container("docker", "CDI all", []int{0, 1, 2, 3, 4, 5, 6, 7}, "--device=metax-tech.com/gpu=all"),
	}
}

func (o onlookers) podman(cdi bool) []outsider {
	list := []outsider{
		o.container("podman", "card", []int{2}, "--device="+o.node(2, 0)),
		o.container("podman", "directory", []int{0, 1, 2, 3, 4, 5, 6, 7}, "--device="+filepath.Join(o.root, "/dev/dri")),
	}
	if cdi {
		list = append(list, o.container("podman", "CDI", []int{3}, "--device=metax-tech.com/gpu=3"))
	}
	return list
}

func (o onlookers) ctr() []outsider {
	run := func(name string, gpus []int, devices ...string) outsider {
		id := "outsider-" + name
		return outsider{
			name: "ctr " + name, gpus: gpus, engine: "containerd", container: id, sources: []string{fromContainer},
			begin: func(t *testing.T) func() {
				argv := []string{"ctr", "--namespace", "k8s.io", "run", "--detach", "--cgroup", o.Cgroup() + "/" + id}
				for _, device := range devices {
					argv = append(argv, "--device", device)
				}
				o.must(t, nil, append(argv, imageRef, id)...)
				return func() {
					o.must(t, nil, "ctr", "--namespace", "k8s.io", "task", "delete", "--force", id)
					o.must(t, nil, "ctr", "--namespace", "k8s.io", "container", "delete", id)
				}
			},
		}
	}
	return []outsider{
		run("CDI", []int{1}, "metax-tech.com/gpu=1"),
		run("two", []int{0, 7}, o.cdiNames([]int{7})[0], "metax-tech.com/gpu=0"),
		run("card", []int{2}, o.node(2, 0)),
	}
}

func (o onlookers) cri(pod *cri.Pod) []outsider {
	who := outsider{name: "CRI", gpus: []int{2, 4}, engine: "containerd", container: "default/" + pod.Name() + "/outsider", sources: []string{fromContainer}}
	who.begin = func(t *testing.T) func() {
		running, err := pod.Start(t.Context(), cri.Container{
			Name: "outsider", Image: imageRef, Command: []string{"/probe", "pause"}, CDI: o.cdiNames(who.gpus),
		})
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := running.Stop(t.Context(), 0); err != nil {
				t.Error(err)
			}
		}
	}
	return []outsider{who}
}

// processes are those outside of all containers.
func (o onlookers) processes() []outsider {
	return []outsider{{
		name: "process", gpus: []int{openable}, sources: []string{fromProcess},
		begin: func(t *testing.T) func() {
			in := o.inbox(t)
			return o.process(t, in, "probe", "open", o.node(openable, 0), filepath.Join(in.dir, report.Waiting))
		},
	}}
}

// process starts a command inside that says when it waits, and returns how to end it.
func (o onlookers) process(t *testing.T, in inbox, argv ...string) (end func()) {
	t.Helper()
	cmd := o.Command(context.Background(), nil, argv[0], argv[1:]...)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid, err := sandbox.Inner(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	end = func() {
		syscall.Kill(pid, syscall.SIGKILL)
		cmd.Wait()
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience/4)
	defer cancel()
	if err := in.waiting(ctx); err != nil {
		end()
		t.Fatalf("%v\n%s", err, said.String())
	}
	return end
}

// inside are processes in containers, whose mount namespaces have other paths; the
// numbers of the devices tell.
func (o onlookers) inside() []outsider {
	run := func(name string, sources []string, options ...string) outsider {
		id := "inside-" + name
		return outsider{
			name: "inside " + name, gpus: []int{openable}, engine: "docker", container: id, sources: sources,
			begin: func(t *testing.T) func() {
				in := o.inbox(t)
				argv := []string{"docker", "run", "--detach", "--network=none", "--name=" + id, "--volume=" + in.dir + ":" + report.Dir}
				argv = append(argv, options...)
				o.must(t, nil, append(argv, imageRef, "/probe", "open", o.gpus[openable].Nodes[0], filepath.Join(report.Dir, report.Waiting))...)
				ctx, cancel := context.WithTimeout(t.Context(), patience/4)
				defer cancel()
				end := func() { o.must(t, nil, "docker", "rm", "--force", id) }
				if err := in.waiting(ctx); err != nil {
					end()
					t.Fatal(err)
				}
				return end
			},
		}
	}
	return []outsider{
		run("privileged", []string{fromProcess}, "--privileged"),
		run("given", []string{fromContainer, fromProcess}, "--device="+o.node(openable, 0)),
	}
}
