// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestInstall follows the vendor's manual: its commands and its pod as they are printed there.
func TestInstall(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	before := n.trace(t)
	release := n.install(t)
	t.Run("labels", func(t *testing.T) {
		n.labels(t, "gpu.installed=true", "gpu.product=C500", "gpu.vfnum=0", "gpu.family=MXC", "gpu.memory=64GB")
	})
	t.Run("pod of the manual", func(t *testing.T) {
		n.create(t, example(t, "manual.yaml", "manual", "look"))
		n.phase(t, "manual", corev1.PodSucceeded)
		if r := n.report(t, "manual"); len(r.Driver) == 0 || r.DriverWrite != "EROFS" {
			t.Errorf("/opt/mxdriver/bin of the container has %q, and writing below it gives %q", r.Driver, r.DriverWrite)
		}
	})
	for _, count := range []int{0, 1, 2, 4, 8} {
		t.Run(fmt.Sprint("sees ", count), func(t *testing.T) {
			name := fmt.Sprint("sees-", count)
			if seen := n.seen(t, n.look(t, name, count)); len(seen) != count {
				t.Errorf("the pod has the GPUs %d, want %d", seen, count)
			}
			n.remove(t, name)
		})
	}
	t.Run("specs that somebody removed", func(t *testing.T) {
		spec := n.Path("/run/cdi/metax-tech.com-gpu.json")
		before, err := os.ReadFile(spec)
		if err == nil {
			err = os.Remove(spec)
		}
		if err != nil {
			t.Fatal(err)
		}
		wait(t, "the CDI spec", func(context.Context) error {
			now, err := os.ReadFile(spec)
			if err == nil && !bytes.Equal(now, before) {
				err = fmt.Errorf("it is another one:\n%s", now)
			}
			return err
		})
	})
	t.Run("helm test", func(t *testing.T) {
		n.must(t, "helm", "test", release, "-n", namespace)
	})
	t.Run("a stolen token", func(t *testing.T) { n.stolenToken(t, "manual") })
	n.remove(t, "manual")
	n.uninstall(t, release)
	t.Run("uninstall leaves nothing", func(t *testing.T) {
		if diff := cmp.Diff(before, n.trace(t)); diff != "" {
			t.Errorf("what the cluster and the node had before (-) and have afterwards (+):\n%s", diff)
		}
	})
}

// trace is what an installation could leave behind: names of objects, labels, annotations and
// conditions of the node, and files outside of the simulated node.
func (n *node) trace(t *testing.T) map[string][]string {
	t.Helper()
	object := n.object(t)
	ours := func(names []string) []string {
		return slices.DeleteFunc(names, func(name string) bool { return !strings.Contains(strings.ToLower(name), "metax") })
	}
	var conditions []string
	for _, c := range object.Status.Conditions {
		conditions = append(conditions, string(c.Type))
	}
	kinds := "clusterroles,clusterrolebindings,priorityclasses,customresourcedefinitions"
	if fixtures.AtLeast("1.30") {
		kinds += ",validatingadmissionpolicies,validatingadmissionpolicybindings"
	}
	kept := func(args ...string) []string {
		list := strings.Fields(n.must(t, "kubectl", append([]string{"get", "-o", "name"}, args...)...))
		// Every namespace has these two.
		list = slices.DeleteFunc(list, func(name string) bool {
			return name == "configmap/kube-root-ca.crt" || name == "serviceaccount/default"
		})
		return slices.Sorted(slices.Values(list))
	}
	allocatable := object.Status.Allocatable[gpuResource]
	return map[string][]string{
		"labels":      ours(slices.Sorted(maps.Keys(object.Labels))),
		"annotations": ours(slices.Sorted(maps.Keys(object.Annotations))),
		"conditions":  ours(conditions),
		"allocatable": {allocatable.String()},
		"cluster":     ours(kept(kinds)),
		"namespace":   kept("-n", namespace, "daemonsets,deployments,services,configmaps,secrets,serviceaccounts,roles,rolebindings,pods,leases"),
		"sockets":     n.sockets(t),
		"files":       ours(n.files(t)),
	}
}

// files are the files of the node that are not the engine's, a pod's log or an image. Empty
// directories do not count: no pod may write where they could be removed from.
func (n *node) files(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, dir := range []string{"/etc", "/opt/cni", "/run", "/var/lib", "/var/log"} {
		err := filepath.WalkDir(n.Path(dir), func(at string, entry fs.DirEntry, err error) error {
			at = strings.TrimPrefix(at, n.Path("/"))
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case at == "/run/containerd", at == "/run/netns", at == "/var/lib/containerd", at == "/var/log/containers", at == "/var/log/pods", at == reports:
				return fs.SkipDir
			}
			if err == nil && !entry.IsDir() {
				list = append(list, at)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return list
}
