// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Follower keeps a Cluster and the Weights up to date. It is made by NewFollower.
type Follower struct {
	Cluster *Cluster
	// Weigh is called with the data of the ConfigMap that holds, and with the keys that the
	// chart's values say otherwise, at first and whenever that changes, one call after the
	// other.
	Weigh func(data map[string]string, over []string)
	// Share is called with the data of the ConfigMap protocol.AskedConfigMap, at first and
	// whenever it changes; nil: it is not followed.
	Share func(data map[string]string)

	nodes, pods atomic.Bool // the first list is there
}

// Ready returns nil when the nodes and pods of the cluster are known.
func (f *Follower) Ready() error {
	if !f.nodes.Load() || !f.pods.Load() {
		return errors.New("the nodes and pods of the cluster are not listed yet")
	}
	return nil
}

// Run follows the nodes, the pods, and the ConfigMap with that name and that of the chart's
// values for it, until ctx ends.
func (f *Follower) Run(ctx context.Context, client corev1client.CoreV1Interface, namespace, configMap string) {
	var running sync.WaitGroup
	follow := func(resource, namespace string, selector fields.Selector, kind any, store cache.ReflectorStore) {
		lw := cache.NewListWatchFromClient(client.RESTClient(), resource, namespace, selector)
		running.Go(func() {
			cache.NewReflectorWithOptions(lw, kind, store, cache.ReflectorOptions{Name: resource}).RunWithContext(ctx)
		})
	}
	follow("nodes", metav1.NamespaceAll, fields.Everything(), &corev1.Node{}, listed{nodeStore(f.Cluster), &f.nodes})
	// A pod that has ended has no GPUs. One that ends leaves the selection, which looks like
	// its end.
	live := fields.AndSelectors(
		fields.OneTermNotEqualSelector("spec.nodeName", ""),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
	)
	follow("pods", metav1.NamespaceAll, live, &corev1.Pod{}, listed{podStore(f.Cluster), &f.pods})
	if configMap != "" {
		w := &weights{weigh: f.Weigh, data: map[bool]map[string]string{}}
		for _, edits := range []bool{false, true} {
			name := configMap
			if !edits {
				name = protocol.ValuesOf(configMap)
			}
			follow("configmaps", namespace, fields.OneTermEqualSelector("metadata.name", name), &corev1.ConfigMap{},
				mapStore{func(data map[string]string) { w.set(edits, data) }})
		}
	}
	if f.Share != nil {
		follow("configmaps", namespace, fields.OneTermEqualSelector("metadata.name", protocol.AskedConfigMap),
			&corev1.ConfigMap{}, mapStore{f.Share})
	}
	running.Wait()
}

// listed marks that the first list is there.
type listed struct {
	cache.ReflectorStore
	there *atomic.Bool
}

func (l listed) Replace(objects []any, version string) error {
	err := l.ReflectorStore.Replace(objects, version)
	l.there.Store(true)
	return err
}

// weights are the data of two ConfigMaps, the chart's values and the edits, once they are
// known.
type weights struct {
	weigh func(data map[string]string, over []string)
	one   sync.Mutex
	data  map[bool]map[string]string // by whether they are the edits
}

func (w *weights) set(edits bool, data map[string]string) {
	w.one.Lock()
	defer w.one.Unlock()
	w.data[edits] = data
	if len(w.data) == 2 {
		w.weigh(protocol.Edit(w.data[false], w.data[true]))
	}
}

// mapStore tells the data of the only ConfigMap that it is given.
type mapStore struct{ tell func(map[string]string) }

func (s mapStore) Add(object any) error { return s.Update(object) }

func (s mapStore) Update(object any) error {
	if m, ok := object.(*corev1.ConfigMap); ok {
		s.tell(m.Data)
	}
	return nil
}

func (s mapStore) Delete(any) error {
	s.tell(nil)
	return nil
}

func (s mapStore) Replace(objects []any, _ string) error {
	if len(objects) == 0 {
		return s.Delete(nil)
	}
	return s.Update(objects[0])
}

func (s mapStore) Resync() error { return nil }
