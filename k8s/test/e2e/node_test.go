// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

const (
	// gpuResource is the name of a GPU for the kubelet, and sliceResource that of a slice.
	gpuResource   = "metax-tech.com/gpu"
	sliceResource = "metax-tech.com/sgpu"
	// patience bounds what a test waits for; it does not assert speed.
	patience = 2 * time.Minute
)

// node is a cluster of one node, with what the tests must know of its GPUs.
type node struct {
	*cluster.Cluster
	gpus    []gpu // by index
	audited int   // bytes of the audit log that were read
}

// gpu is what the tests need of a GPU in Node JSON.
type gpu struct {
	UUID  string   `json:"uuid"`
	BDF   string   `json:"bdf"`
	Nodes []string `json:"nodes"`
}

// newNode starts a cluster that ends with the test. The ends of its logs are shown if the test
// fails.
func newNode(t *testing.T, simulated string) *node {
	t.Helper()
	return newNodeWith(t, cluster.Containerd, simulated)
}

// newNodeWith is newNode with an engine.
func newNodeWith(t *testing.T, engine, simulated string) *node {
	t.Helper()
	ctx := within(t)
	c, err := cluster.Start(ctx, fixtures, engine, simulated)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	n := &node{Cluster: c}
	t.Cleanup(func() {
		if t.Failed() {
			for _, name := range []string{
				"kubelet", engine, "kube-scheduler", cluster.HAMi, cluster.Koordinator, cluster.Koordlet, cluster.Kueue, cluster.VolcanoScheduler,
			} {
				if d := c.Daemon(name); d != nil {
					t.Logf("end of the log of %s:\n%s", name, d.Tail(30))
				}
			}
		}
	})
	t.Cleanup(func() { n.useRights(t, false) })
	n.findGPUs(t)
	return n
}

// findGPUs makes gpus those that the simulated node has now.
func (n *node) findGPUs(t *testing.T) {
	t.Helper()
	text := n.must(t, "metax-ctk", "--root", cluster.NodeDir, "device", "list", "-o", "json")
	var list struct {
		GPUs []gpu `json:"gpus"`
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("read the list of GPUs: %v", err)
	}
	n.gpus = list.GPUs
}

// within is the context of one step of a test.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// must runs a program on the node that has to succeed, and returns what it prints.
func (n *node) must(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := n.Run(within(t), name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// wait waits until the answer is nil.
func wait(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	if err := cluster.Eventually(within(t), ask); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// numbers are the device numbers of all nodes of the GPUs, as arguments for the probe.
func (n *node) numbers(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, g := range n.gpus {
		for _, path := range g.Nodes {
			var st unix.Stat_t
			if err := unix.Stat(n.Path(cluster.NodeDir+path), &st); err != nil {
				t.Fatalf("stat %s of the simulated node: %v", path, err)
			}
			list = append(list, fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev)))
		}
	}
	return list
}
