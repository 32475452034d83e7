// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/metax-ctk/container-toolkit/test/e2e/internal/cri"
	"github.com/metax-ctk/container-toolkit/test/report"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// TestHooksCRIO has CRI-O run the hook that the package brings for it, and start no more
// where it finds the other.
func TestHooksCRIO(t *testing.T) {
	for _, layout := range []sandbox.Layout{sandbox.V1, sandbox.V2} {
		t.Run(string(layout), func(t *testing.T) {
			t.Parallel()
			h := newHost(t, "sid", layout)
			h.write(t, "/etc/crio/crio.conf", fmt.Sprintf(crioConf, imageRef))
			h.installHook(t)
			// CRI-O reads this directory by default.
			const dir = "/usr/share/containers/oci/hooks.d"
			h.packagedHook(t, dir, "metax-prestart-podman-crio.json")
			client, d := h.crio(t)
			for _, runtime := range []string{"runc", "spare"} {
				t.Run(runtime, func(t *testing.T) { h.crioHooks(t, h.podBy(t, client, runtime)) })
			}
			t.Run("annotated pod", h.annotatedPod)
			o := onlookers{desk{host: h, client: "podman", root: nodeDir}}
			t.Run("holders", func(t *testing.T) { o.crio(t, h.podBy(t, client, "")) })
			t.Run("precreate must fail", func(t *testing.T) {
				d.stop(t)
				h.packagedHook(t, dir, "metax-precreate-podman.json")
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				r, err := h.try(ctx, nil, d.argv...)
				if err != nil || r.code == 0 || !strings.Contains(r.stderr, "precreate") {
					t.Errorf("want CRI-O to end and to name the stage that it does not know: %v, %v", r, err)
				}
				if err := os.Remove(h.Path(filepath.Join(dir, "metax-precreate-podman.json"))); err != nil {
					t.Fatal(err)
				}
				d.start(t)
			})
		})
	}
}

func (h *host) packagedHook(t *testing.T, dir, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "packaging", "hooks.d", name))
	if err != nil {
		t.Fatal(err)
	}
	h.write(t, filepath.Join(dir, name), string(text))
}

// crioHooks asks by annotations.
func (h *host) crioHooks(t *testing.T, pod containerd) {
	ask := func(gpus string) map[string]string { return map[string]string{"metax-tech.com/gpu": gpus} }
	h.sees(t, pod.look(t, cri.Container{Name: "none"}), nil)
	h.sees(t, pod.look(t, cri.Container{Name: "two", Annotations: ask("1,3")}), []int{1, 3})
	h.sees(t, pod.look(t, cri.Container{Name: "cdi", CDI: h.cdiNames([]int{6})}), []int{6})
	for name, c := range map[string]cri.Container{
		"unknown": {Annotations: ask("99")},
		// The hook comes too late for groups.
		"user": {Annotations: ask("1"), User: 1000},
	} {
		in := h.inbox(t)
		c.Name = name
		if _, err := pod.start(t, in, c, "look"); err == nil || !in.empty(t) {
			t.Errorf("%s: the container has started: %v", name, err)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

// crio asserts that who has GPUs in a pod of CRI-O, by CDI or by the hook, is seen and
// named, and that the GPUs are free after that.
func (o onlookers) crio(t *testing.T, pod containerd) {
	for _, c := range []cri.Container{
		{Name: "cdi", CDI: o.cdiNames([]int{2, 4})},
		{Name: "hook", Annotations: map[string]string{"metax-tech.com/gpu": "2,4"}},
	} {
		t.Run(c.Name, func(t *testing.T) {
			o.free(t)
			c.Image, c.Command = imageRef, []string{"/probe", "pause"}
			running, err := pod.pod.Start(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			o.holds(t, 2, 4)
			// CRI-O's own name: the container's, the pod's, its namespace and UID, the
			// attempt.
			name := "k8s_" + c.Name + "_"
			all := o.ps(t)
			for _, gpu := range []int{2, 4} {
				h := all.GPUs[gpu].Holders
				if len(h) != 1 || h[0].Container == nil || h[0].Container.Engine != "cri-o" || !strings.HasPrefix(h[0].Container.Name, name) {
					t.Errorf("GPU %d is not held by container %s… of CRI-O\n%v", gpu, name, all)
				}
			}
			o.refused(t, []string{"--gpus=4,2"}, "is in use by container "+name, "(cri-o)")
			if err := running.Stop(t.Context(), 0); err != nil {
				t.Error(err)
			}
			o.free(t)
		})
	}
}

// annotatedPod has the annotation on the pod. CRI-O passes that on to each container in it,
// so whoever may annotate pods can have GPUs where there is a hook or the runtime.
func (h *host) annotatedPod(t *testing.T) {
	conn, err := grpc.NewClient("unix://"+h.Path("/run/crio/crio.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	engine := api.NewRuntimeServiceClient(conn)
	config := &api.PodSandboxConfig{
		Metadata:    &api.PodSandboxMetadata{Name: "annotated", Uid: "annotated", Namespace: "default"},
		Annotations: map[string]string{"metax-tech.com/gpu": "5"},
		Linux: &api.LinuxPodSandboxConfig{
			CgroupParent: h.Cgroup(),
			SecurityContext: &api.LinuxSandboxSecurityContext{
				NamespaceOptions: &api.NamespaceOption{Network: api.NamespaceMode_NODE, Pid: api.NamespaceMode_CONTAINER},
			},
		},
	}
	pod, err := engine.RunPodSandbox(t.Context(), &api.RunPodSandboxRequest{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	in := h.inbox(t)
	made, err := engine.CreateContainer(t.Context(), &api.CreateContainerRequest{
		PodSandboxId: pod.PodSandboxId, SandboxConfig: config,
		Config: &api.ContainerConfig{
			Metadata: &api.ContainerMetadata{Name: "plain"},
			Image:    &api.ImageSpec{Image: imageRef},
			Command:  append([]string{"/probe", "look"}, h.numbers(t)...),
			Mounts:   []*api.Mount{{ContainerPath: report.Dir, HostPath: in.dir}},
			Linux: &api.LinuxContainerConfig{SecurityContext: &api.LinuxContainerSecurityContext{
				NamespaceOptions: config.Linux.SecurityContext.NamespaceOptions,
			}},
		},
	})
	if err == nil {
		_, err = engine.StartContainer(t.Context(), &api.StartContainerRequest{ContainerId: made.ContainerId})
	}
	if err != nil {
		t.Fatal(err)
	}
	until(t, func() (bool, string) {
		said, err := engine.ContainerStatus(t.Context(), &api.ContainerStatusRequest{ContainerId: made.ContainerId})
		return err == nil && said.Status.State == api.ContainerState_CONTAINER_EXITED, fmt.Sprint(said, err)
	})
	h.sees(t, in.report(t), []int{5})
	if _, err := engine.RemovePodSandbox(t.Context(), &api.RemovePodSandboxRequest{PodSandboxId: pod.PodSandboxId}); err != nil {
		t.Error(err)
	}
}
