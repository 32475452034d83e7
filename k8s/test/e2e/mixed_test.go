// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
	"github.com/metax-ctk/container-toolkit/test/report"
)

// TestMixed shares the GPUs of a node between pods and docker, which come and go at random.
// Each takes a kernel lock for each of its GPUs, so a GPU with two owners is noticed even if
// that lasts only a moment.
func TestMixed(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	n.docker(t)
	n.collect(t)
	n.install(t, "--set", "gpuDevice.mixedNodes=true")
	t.Run("a lease withdraws its GPUs", n.withdraws)
	t.Run("a pod has a lease", n.leases)

	length := 20 * time.Second
	if night {
		length = 10 * time.Minute
	}
	end := time.Now().Add(length)
	var pods, refused, containers, busy, number atomic.Int64
	var mutex sync.Mutex
	var failures []string
	fail := func(format string, args ...any) {
		mutex.Lock()
		defer mutex.Unlock()
		failures = append(failures, fmt.Sprintf(format, args...))
	}
	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			for time.Now().Before(end) {
				name := fmt.Sprintf("pod-%d", number.Add(1))
				switch reason, err := n.passes(t.Context(), 2*patience, name, rand.IntN(4)+1); {
				case err != nil:
					fail("pod %s: %v", name, err)
				case reason != "":
					refused.Add(1)
				default:
					pods.Add(1)
				}
			}
		})
		workers.Go(func() {
			for time.Now().Before(end) {
				name := fmt.Sprintf("docker-%d", number.Add(1))
				out, err := n.metaxDocker(t.Context(), rand.IntN(4)+1, "hold", name, fmt.Sprint(rand.IntN(400), "ms")).CombinedOutput()
				switch exit := (*exec.ExitError)(nil); {
				case err == nil:
					containers.Add(1)
				case errors.As(err, &exit) && exit.ExitCode() == 125 && strings.Contains(string(out), "cannot get"):
					busy.Add(1)
				default:
					fail("container %s: %v: %s", name, err, out)
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		workers.Wait()
		close(ended)
	}()
	for again := time.NewTicker(time.Second); ; {
		select {
		case <-again.C:
			n.collect(t) // pods wait for GPUs of containers that have ended
			continue
		case <-ended:
		}
		break
	}
	for _, failure := range failures {
		t.Error(failure)
	}
	t.Logf("in %s: %d pods, %d refused by the plugin or the kubelet; %d containers of docker, %d refused by metax-docker", length, pods.Load(), refused.Load(), containers.Load(), busy.Load())
	entries, err := os.ReadDir(n.Path(churnDir))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), report.Violation) {
			text, _ := os.ReadFile(n.Path(path.Join(churnDir, entry.Name())))
			t.Errorf("a GPU has two owners: %s", text)
		}
	}
	if pods.Load() == 0 || containers.Load() == 0 {
		t.Error("not both had GPUs")
	}
	n.collect(t)
	n.allocatable(t, len(n.gpus))
}

// withdraws leases GPUs to a container of docker: they leave Allocatable, an Event names the
// lease, and they come back.
func (n *node) withdraws(t *testing.T) {
	holds := n.metaxDocker(t.Context(), 2, "pause")
	if err := holds.Start(); err != nil {
		t.Fatal(err)
	}
	n.allocatable(t, len(n.gpus)-2)
	var list struct {
		Leases []struct{ ID string } `json:"leases"`
	}
	if err := json.Unmarshal([]byte(n.must(t, "metax-ctk", "--root", cluster.NodeDir, "lease", "list", "-o", "json")), &list); err != nil || len(list.Leases) != 1 {
		t.Fatalf("the leases are %v, %v", list.Leases, err)
	}
	n.event(t, "MetaXGPULeased", list.Leases[0].ID)
	if state := n.object(t).Annotations["topology.metax-ctk.io/state"]; !strings.Contains(state, `"unhealthy":"00"`) || strings.Contains(state, `"outside":"00"`) {
		t.Errorf("the node says %s, want two GPUs in use outside", state)
	}
	n.create(t, probePod("all", len(n.gpus), "pause"))
	n.insufficient(t, "all")
	n.remove(t, "all")
	n.must(t, "sh", "-c", "docker kill $(docker ps -q)")
	holds.Wait() // the container was killed
	n.collect(t)
	n.allocatable(t, len(n.gpus))
	n.event(t, "MetaXGPUReturned", "can be given to pods again")
}

// leases runs a pod with all GPUs: metax-docker refuses and names it.
func (n *node) leases(t *testing.T) {
	n.create(t, probePod("greedy", len(n.gpus), "pause"))
	n.phase(t, "greedy", corev1.PodRunning)
	wait(t, "the pod in metax-ctk ps", func(ctx context.Context) error {
		out, err := n.Run(ctx, "metax-ctk", "--root", cluster.NodeDir, "ps")
		if err == nil && !strings.Contains(out, "default/greedy/main") {
			err = fmt.Errorf("it says %s", out)
		}
		return err
	})
	out, err := n.metaxDocker(t.Context(), 0, "exit", "0").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "default/greedy/main") {
		t.Errorf("GPU 0 of a pod: %v, %s", err, out)
	}
	n.remove(t, "greedy")
	wait(t, "the end of its lease", func(ctx context.Context) error {
		out, err := n.Run(ctx, "metax-ctk", "--root", cluster.NodeDir, "lease", "list", "-o", "json")
		if err == nil && strings.Contains(out, "allocate") {
			err = fmt.Errorf("it is still there: %s", out)
		}
		return err
	})
}

// collect does what metax-leases-gc.timer does.
func (n *node) collect(t *testing.T) {
	t.Helper()
	n.must(t, "metax-ctk", "--root", cluster.NodeDir, "lease", "gc")
}

// metaxDocker prepares a container of docker with some GPUs, or with GPU 0 for none, that runs
// the probe.
func (n *node) metaxDocker(ctx context.Context, gpus int, probe ...string) *exec.Cmd {
	option := fmt.Sprintf("--gpus=%d", gpus)
	if gpus == 0 {
		option = "--gpus=[0]"
	}
	args := append([]string{
		"METAX_CTK_ROOT=" + cluster.NodeDir, "HOME=/root", "metax-docker", "run", "--rm", "--network=none",
		"--volume", churnDir + ":" + report.Dir, option, probeImage, "/probe",
	}, probe...)
	return n.Command(ctx, "env", args...)
}

// docker starts docker on the node, with the image of the probe.
func (n *node) docker(t *testing.T) {
	t.Helper()
	if err := n.StartDocker(within(t)); err != nil {
		t.Fatal(err)
	}
	n.must(t, "docker", "pull", "--quiet", probeImage)
	n.must(t, "mkdir", "-p", churnDir)
}

// event waits for an Event of the node with the reason and a part of its message.
func (n *node) event(t *testing.T, reason, says string) {
	t.Helper()
	wait(t, "the Event "+reason, func(ctx context.Context) error {
		list, err := n.Client.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if err != nil || slices.ContainsFunc(list.Items, func(e corev1.Event) bool { return e.Reason == reason && strings.Contains(e.Message, says) }) {
			return err
		}
		return fmt.Errorf("none says %q", says)
	})
}
