package plugin

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// WatchConfig calls see with the DeviceConfig of a namespace, at first when the API server has
// answered about the chart's values and about the edits, and then whenever one of them changes, until ctx ends. The
// calls come one after the other.
func WatchConfig(ctx context.Context, client corev1client.ConfigMapsGetter, namespace string, see func(protocol.DeviceConfig)) {
	all := client.ConfigMaps(namespace)
	var one sync.Mutex
	parts := map[string]map[string]string{}
	watch := func(name string) {
		follow(ctx, fields.OneTermEqualSelector(metav1.ObjectNameField, name), all.List, all.Watch, &corev1.ConfigMap{}, nil, func(found []*corev1.ConfigMap) {
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
	both.Go(func() { watch(protocol.ValuesOf(protocol.ConfigMapName)) })
	both.Go(func() { watch(protocol.ConfigMapName) })
	both.Wait()
}

// WatchNode calls see with a Node, as WatchConfig does with its object.
func WatchNode(ctx context.Context, client corev1client.NodesGetter, name string, see func(*corev1.Node)) {
	all := client.Nodes()
	follow(ctx, fields.OneTermEqualSelector(metav1.ObjectNameField, name), all.List, all.Watch, &corev1.Node{}, nil, func(found []*corev1.Node) {
		for _, n := range found {
			see(n)
		}
	})
}
