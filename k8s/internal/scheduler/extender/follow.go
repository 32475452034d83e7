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
	// Weigh is called with the weights and with what is wrong with the ConfigMap, at first and
	// whenever that changes.
	Weigh func(protocol.Weights, []string)

	nodes, pods atomic.Bool // the first list is there
}

// Ready returns nil when the nodes and pods of the cluster are known.
func (f *Follower) Ready() error {
	if !f.nodes.Load() || !f.pods.Load() {
		return errors.New("the nodes and pods of the cluster are not listed yet")
	}
	return nil
}

// Run follows the nodes, the pods and the ConfigMap with that name until ctx ends.
func (f *Follower) Run(ctx context.Context, client corev1client.CoreV1Interface, namespace, configMap string) {
	var running sync.WaitGroup
	follow := func(resource, namespace string, selector fields.Selector, kind any, store cache.ReflectorStore) {
		lw := cache.NewListWatchFromClient(client.RESTClient(), resource, namespace, selector)
		running.Go(func() {
			cache.NewReflectorWithOptions(lw, kind, store, cache.ReflectorOptions{Name: resource}).RunWithContext(ctx)
		})
	}
	follow("nodes", metav1.NamespaceAll, fields.Everything(), &corev1.Node{}, listed{nodeStore{f.Cluster}, &f.nodes})
	// A pod that has ended has no GPUs. One that ends leaves the selection, which looks like its end.
	live := fields.AndSelectors(
		fields.OneTermNotEqualSelector("spec.nodeName", ""),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
	)
	follow("pods", metav1.NamespaceAll, live, &corev1.Pod{}, listed{podStore{f.Cluster}, &f.pods})
	if configMap != "" {
		follow("configmaps", namespace, fields.OneTermEqualSelector("metadata.name", configMap), &corev1.ConfigMap{}, weightStore(f.Weigh))
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

// weightStore reads the only ConfigMap that it is given.
type weightStore func(protocol.Weights, []string)

func (s weightStore) Add(object any) error { return s.Update(object) }

func (s weightStore) Update(object any) error {
	if m, ok := object.(*corev1.ConfigMap); ok {
		s(protocol.ParseWeights(m.Data))
	}
	return nil
}

func (s weightStore) Delete(any) error {
	s(protocol.Weights{}, nil)
	return nil
}

func (s weightStore) Replace(objects []any, _ string) error {
	if len(objects) == 0 {
		return s.Delete(nil)
	}
	return s.Update(objects[0])
}

func (s weightStore) Resync() error { return nil }
