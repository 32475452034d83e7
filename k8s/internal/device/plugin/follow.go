// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// joinTime is the time in which changes are taken together.
const joinTime = 20 * time.Millisecond

// follow calls see with the objects that a selector finds, at first when the API server has
// listed them and then whenever they change, until ctx ends. strip makes them smaller. While
// the API server is away nothing is called. client, whose methods list and watcher are, says
// whether a watch of it can begin with what there is; those of tests cannot.
func follow[L runtime.Object, T runtime.Object](
	ctx context.Context, client any, selector fields.Selector,
	list func(context.Context, metav1.ListOptions) (L, error),
	watcher func(context.Context, metav1.ListOptions) (watch.Interface, error),
	kind T, strip cache.TransformFunc, see func([]T),
) {
	objects := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector.String()
			return list(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector.String()
			return watcher(ctx, o)
		},
	}, client), kind, 0, nil)
	_ = objects.SetTransform(strip) // fails only after the start
	changed := make(chan struct{}, 1)
	mark := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	_, _ = objects.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { mark() }, UpdateFunc: func(any, any) { mark() }, DeleteFunc: func(any) { mark() },
	}) // fails only after the end
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { objects.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), objects.HasSynced) {
		return
	}
	mark() // there may be no objects
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		var all []T
		for _, object := range objects.GetStore().List() {
			all = append(all, object.(T))
		}
		see(all)
		select {
		case <-ctx.Done():
			return
		case <-time.After(joinTime):
		}
	}
}

// WatchConfig calls see with the DeviceConfig of a namespace, at first when the API server has
// answered about the chart's values and about the edits, and then whenever one of them
// changes, until ctx ends. The calls come one after the other.
func WatchConfig(ctx context.Context, client corev1client.ConfigMapsGetter, namespace string,
	see func(protocol.DeviceConfig),
) {
	all := client.ConfigMaps(namespace)
	var one sync.Mutex
	parts := map[string]map[string]string{}
	watchOne := func(name string) {
		named := fields.OneTermEqualSelector(metav1.ObjectNameField, name)
		follow(ctx, client, named, all.List, all.Watch, &corev1.ConfigMap{}, nil,
			func(found []*corev1.ConfigMap) {
				one.Lock()
				defer one.Unlock()
				parts[name] = nil
				for _, m := range found {
					if m.Name == name {
						parts[name] = m.Data
					}
				}
				if len(parts) < 2 {
					return
				}
				data, over := protocol.Edit(parts[protocol.ValuesOf(protocol.ConfigMapName)], parts[protocol.ConfigMapName])
				c := protocol.ParseDeviceConfig(data)
				c.Over = over
				see(c)
			})
	}
	var both sync.WaitGroup
	both.Go(func() { watchOne(protocol.ValuesOf(protocol.ConfigMapName)) })
	both.Go(func() { watchOne(protocol.ConfigMapName) })
	both.Wait()
}

// WatchNode calls see with a Node, as WatchConfig does with its object.
func WatchNode(ctx context.Context, client corev1client.NodesGetter, name string, see func(*corev1.Node)) {
	all := client.Nodes()
	named := fields.OneTermEqualSelector(metav1.ObjectNameField, name)
	follow(ctx, client, named, all.List, all.Watch, &corev1.Node{}, nil,
		func(found []*corev1.Node) {
			for _, n := range found {
				see(n)
			}
		})
}
