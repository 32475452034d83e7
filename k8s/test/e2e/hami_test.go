// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

const (
	scores   = "metax-tech.com/gpu.topology.scores"
	losses   = "metax-tech.com/gpu.topology.losses"
	hamiLock = "hami.io/mutex.lock"
)

// TestHAMi lets HAMi's scheduler choose between the node, whose plugin publishes scores and
// losses, and a node without a kubelet, whose values do not change: for four GPUs the score
// 400 and the loss 200. A pod of four goes where its policy and what the plugin published last
// say.
func TestHAMi(t *testing.T) {
	t.Parallel()
	program := scheduler(t, hamiVariable)
	n := newNode(t, "c500-8")
	n.install(t)
	if err := n.RunHAMi(within(t), program); err != nil {
		t.Fatal(err)
	}
	const other = "other"
	n.createBare(t, other, map[string]string{
		scores: `{"1":0,"2":100,"3":300,"4":400,"5":420,"6":780,"7":1120,"8":1520}`,
		losses: `{"1":100,"2":160,"3":180,"4":200,"5":180,"6":160,"7":140,"8":0}`,
	}, corev1.ResourceList{gpuResource: resource.MustParse("8")})

	var before []int // the GPUs of the pod before
	for _, row := range []struct{ pod, example, values, want string }{
		{"preserves", "hami-binpack.yaml", "score 660, loss 320", other},
		{"linked", "hami-spread.yaml", "score 660, loss 320", cluster.NodeName},
		{"rest", "hami-binpack.yaml", "score 660, loss 0", cluster.NodeName},
	} {
		n.published(t, row.values)
		n.listed(t)
		pod := example(t, row.example, row.pod, "pause")
		pod.Spec.Tolerations = anywhere
		n.create(t, pod)
		if got := n.bound(t, row.pod).Spec.NodeName; got != row.want {
			t.Fatalf("pod %s of %s is on %s, want %s; the node has %s", row.pod, row.example, got, row.want, row.values)
		}
		if lock := n.object(t).Annotations[hamiLock]; lock != "" {
			t.Errorf("pod %s locks the node: %s", row.pod, lock)
		}
		if row.want == other {
			continue
		}
		n.phase(t, row.pod, corev1.PodRunning)
		gpus := n.given(t, row.pod)
		if len(gpus) != 4 || gpus[0]/4 != gpus[3]/4 || slices.Equal(gpus, before) {
			t.Errorf("pod %s has the GPUs %d, want a free domain", row.pod, gpus)
		}
		before = gpus
	}
}

// published waits until the node has these values for 4 GPUs.
func (n *node) published(t *testing.T, want string) {
	t.Helper()
	wait(t, "the node's scores and losses", func(context.Context) error {
		have := n.object(t).Annotations
		of := func(name string) string {
			_, text, _ := strings.Cut(have[name], `"4":`)
			return text[:max(0, strings.IndexAny(text, ",}"))]
		}
		if got := fmt.Sprintf("score %s, loss %s", of(scores), of(losses)); got != want {
			return fmt.Errorf("%s, want %s", got, want)
		}
		return nil
	})
}

// listed waits until HAMi has listed the nodes twice: the first list may have begun before. A
// new node makes it list them at once.
func (n *node) listed(t *testing.T) {
	t.Helper()
	count := func() int {
		text, err := os.ReadFile(n.Path("/var/log/" + cluster.HAMi + ".log"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), `"Listed nodes"`)
	}
	for range 2 {
		before := count()
		n.createBare(t, fmt.Sprint("without-gpus-", before), nil, nil)
		wait(t, "HAMi's list of nodes", func(context.Context) error {
			if count() == before {
				return fmt.Errorf("it has listed them %d times", before)
			}
			return nil
		})
	}
}
