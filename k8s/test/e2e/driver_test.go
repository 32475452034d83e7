// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// installSlices installs the chart in the mode sgpu, and waits until the GPUs are published to
// schedulers. Those are the user admin.
func (n *node) installSlices(t *testing.T, more ...string) {
	t.Helper()
	n.push(t)
	n.must(t, "helm", slices.Concat([]string{
		"install", "slices", "oci://" + project + "/metax-gpu-extensions", "--version", "<999", "-n", namespace, "--create-namespace", "--wait",
		"--set", "gpuDevice.config.mode=sgpu", "--set", "admissionPolicy.schedulers={admin}",
	}, values, more)...)
	n.serves(t, sliceResource, int64(16*len(n.gpus)))
	wait(t, "the registration", func(context.Context) error { return n.registered(t, true) })
}

// slice is a slice in the simulated driver.
type slice struct{ gpu, compute, memory int }

// slices are those in the simulated driver. One that is just made or removed has no size.
func (n *node) slices() (all []slice, err error) {
	for i, g := range n.gpus {
		dirs, err := filepath.Glob(n.Path(cluster.NodeDir+"/sys/bus/pci/devices/"+g.BDF) + "/sgpu/sgpu*")
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			s := slice{gpu: i}
			for file, value := range map[string]*int{"sched_quota": &s.compute, "vram_quota": &s.memory} {
				if text, err := os.ReadFile(dir + "/" + file); err == nil {
					fmt.Sscan(string(text), value)
				}
			}
			all = append(all, s)
		}
	}
	return all, nil
}

// sliced waits until the driver has exactly these slices, each "COMPUTE/MEMORY" in percent and
// MiB.
func (n *node) sliced(t *testing.T, want ...string) {
	t.Helper()
	slices.Sort(want)
	wait(t, "the slices of the driver", func(context.Context) error {
		all, err := n.slices()
		if err != nil {
			return err
		}
		var got []string
		for _, s := range all {
			got = append(got, fmt.Sprintf("%d/%d", s.compute, s.memory))
		}
		slices.Sort(got)
		if !slices.Equal(want, got) {
			return fmt.Errorf("-want +got:\n%s", cmp.Diff(want, got))
		}
		return nil
	})
}

// locked waits until a scheduler has bound the pod and locked the node for it.
func (n *node) locked(t *testing.T, pod string) {
	t.Helper()
	n.bound(t, pod)
	wait(t, "the lock", func(context.Context) error { return n.hasLock(t, pod) })
}

// unlocked waits until no scheduler has locked the node.
func (n *node) unlocked(t *testing.T) {
	t.Helper()
	wait(t, "the end of the lock", func(context.Context) error { return n.hasLock(t, "") })
}

func (n *node) hasLock(t *testing.T, pod string) error {
	t.Helper()
	lock := n.object(t).Annotations[hamiLock]
	if lock[strings.LastIndex(lock, ",")+1:] != pod {
		return fmt.Errorf("the lock is %q, want pod %q", lock, pod)
	}
	return nil
}

// bindPhase waits until HAMi knows what became of a pod.
func (n *node) bindPhase(t *testing.T, pod, want string) {
	t.Helper()
	wait(t, "the phase of pod "+pod, func(ctx context.Context) error {
		p, err := n.pods().Get(ctx, pod, metav1.GetOptions{})
		if err == nil && p.Annotations["hami.io/bind-phase"] != want {
			err = fmt.Errorf("it is %q, want %q", p.Annotations["hami.io/bind-phase"], want)
		}
		return err
	})
}
