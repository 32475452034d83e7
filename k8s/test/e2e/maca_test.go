// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
	"github.com/metax-ctk/container-toolkit/test/report"
)

const macaImages = cluster.Registry + "/test/maca-c500"

// TestMACA has a node without MXMACA. The operator installs it from images: containers get it,
// a new version is for new pods only, an image with a link that leads out is refused, and old
// versions go.
func TestMACA(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	n.must(t, "sh", "-c", "rm -r "+cluster.NodeDir+"/opt/maca*")
	n.installOperator(t, "--set", "maca.payload.images={maca-c500:3.8.0.1}", "--set", "maca.payload.registry="+path.Dir(macaImages))
	n.condition(t, "MACAReady=True Deployed")
	n.condition(t, "Ready=True Deployed")
	n.gives(t, "3.8.0.1")

	t.Run("pod of the manual", func(t *testing.T) {
		n.create(t, example(t, "manual.yaml", "manual", "look"))
		n.phase(t, "manual", corev1.PodSucceeded)
		n.hasMACA(t, "manual", "3.8.0.1")
		n.remove(t, "manual")
	})
	t.Run("a pod that declines", func(t *testing.T) {
		// The plugin does not ask the API server: a pod that it does not know yet gets what
		// others get. So the kubelet stands still until the plugin has had time to hear of it.
		signal := func(s syscall.Signal) {
			if err := n.Daemon("kubelet").Signal(s); err != nil {
				t.Fatal(err)
			}
		}
		wait(t, "a pod without MXMACA", func(context.Context) error {
			pod := probePod("without", 1, append([]string{"look"}, n.numbers(t)...)...)
			pod.Annotations = map[string]string{"metax-ctk.io/maca": "false"}
			signal(syscall.SIGSTOP)
			n.create(t, pod)
			time.Sleep(time.Second)
			signal(syscall.SIGCONT)
			n.phase(t, "without", corev1.PodSucceeded)
			links := n.links(t, "without")
			n.remove(t, "without")
			if len(links) > 0 {
				return fmt.Errorf("it has the links %q", links)
			}
			return nil
		})
	})

	n.runs(t, probePod("old", 1, "pause"))
	t.Run("a newer version is for new pods", func(t *testing.T) {
		n.patch(t, `{"maca": {"payload": {"images": ["maca-c500:3.9.0.2"]}, "cleanupConfig": {"threshold": 1, "cleanupPolicy": "OlderVersionFirst"}}}`)
		n.gives(t, "3.9.0.2")
		n.condition(t, "MACAReady=True Deployed")
		n.macaVersions(t, "3.8.0.1", "3.9.0.2") // the old one is in use
		n.look(t, "new", 1)
		n.hasMACA(t, "new", "3.9.0.2")
		n.remove(t, "new")
		if mounts := n.must(t, "sh", "-c", "cat /proc/[0-9]*/mountinfo || true"); !strings.Contains(mounts, " /opt/maca-3.8.0.1 ") {
			t.Error("the pod that runs has lost its MXMACA")
		}
	})
	t.Run("an image with a link that leads out", func(t *testing.T) {
		n.patch(t, `{"maca": {"payload": {"images": ["maca-c500:hostile"]}}}`)
		n.condition(t, "MACAReady=False Incomplete")
		said := n.must(t, "kubectl", "get", "clusteroperators", "cluster-operator", "-o", `jsonpath={.status.conditions[?(@.type=="MACAReady")].message}`)
		if !strings.Contains(said, "lib/libshadow.so of the payload does not stay inside") || !strings.Contains(said, "(BadPayload)") {
			t.Errorf("the condition says %q", said)
		}
		labels := n.object(t).Labels
		if labels["metax-tech.com/maca.ready"] != "false" || labels["metax-tech.com/maca.reason"] != "BadPayload" {
			t.Errorf("the labels are %v", labels)
		}
		n.macaVersions(t, "3.8.0.1", "3.9.0.2")
		n.look(t, "still", 1)
		n.hasMACA(t, "still", "3.9.0.2")
		n.remove(t, "still")
	})
	t.Run("an old version goes when nobody uses it", func(t *testing.T) {
		n.patch(t, `{"maca": {"payload": {"images": ["maca-c500:3.9.0.2"]}}}`)
		n.remove(t, "old")
		n.macaVersions(t, "3.9.0.2")
		n.condition(t, "Ready=True Deployed")
	})
	t.Run("without images", func(t *testing.T) {
		n.patch(t, `{"maca": {"payload": {"images": []}}}`)
		n.condition(t, "MACAReady=True Host")
		n.sets(t, "metax-gpu-device", "metax-gpu-label")
		wait(t, "the end of the label", func(context.Context) error {
			if ready, ok := n.object(t).Labels["metax-tech.com/maca.ready"]; ok {
				return fmt.Errorf("maca.ready is %s", ready)
			}
			return nil
		})
	})
	n.uninstall(t, n.release(t))
}

// gives waits until new containers get a version: gpu-device knows it, and gpu-label tells it.
func (n *node) gives(t *testing.T, version string) {
	t.Helper()
	n.argument(t, "metax-gpu-device", "--maca=fallback")
	wait(t, "MXMACA "+version, func(context.Context) error {
		if target, err := os.Readlink(n.Path(cluster.NodeDir + "/opt/maca")); err != nil || target != "/opt/maca-"+version {
			return fmt.Errorf("/opt/maca leads to %q: %v", target, err)
		}
		return nil
	})
	n.agent(t, "metax-gpu-device")
	wait(t, "a pod with MXMACA "+version, func(context.Context) error {
		n.look(t, "given", 1)
		mounts := n.report(t, "given").Mounts
		n.remove(t, "given")
		if !slices.ContainsFunc(mounts, func(m report.Mount) bool { return m.Path == "/opt/maca-"+version }) {
			return fmt.Errorf("it has %v", mounts)
		}
		return nil
	})
}

// hasMACA wants a pod that has looked to have a version.
func (n *node) hasMACA(t *testing.T, pod, version string) {
	t.Helper()
	want := []string{"/opt/maca → /opt/maca-" + version}
	if got := n.links(t, pod); !slices.Equal(got, want) {
		t.Errorf("pod %s has the links %q, want %q", pod, got, want)
	}
}

// links are those to MXMACA in a pod that has looked.
func (n *node) links(t *testing.T, pod string) (links []string) {
	t.Helper()
	for _, link := range n.report(t, pod).Links {
		if strings.HasPrefix(link, "/opt/maca ") {
			links = append(links, link)
		}
	}
	return links
}

// macaVersions waits until the host has these versions and no others.
func (n *node) macaVersions(t *testing.T, want ...string) {
	t.Helper()
	wait(t, "the versions of MXMACA", func(context.Context) error {
		paths, err := filepath.Glob(n.Path(cluster.NodeDir + "/opt/maca-*"))
		for i := range paths {
			paths[i] = strings.TrimPrefix(path.Base(paths[i]), "maca-")
		}
		if err == nil && !slices.Equal(paths, want) {
			err = fmt.Errorf("they are %q, want %q", paths, want)
		}
		return err
	})
}
