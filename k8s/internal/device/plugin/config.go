package plugin

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// WatchConfig calls see with the DeviceConfig of a namespace, at first when the API server has
// answered, and then whenever it changes, until ctx ends.
func WatchConfig(ctx context.Context, client corev1client.ConfigMapsGetter, namespace string, see func(protocol.DeviceConfig)) {
	all := client.ConfigMaps(namespace)
	follow(ctx, fields.OneTermEqualSelector(metav1.ObjectNameField, protocol.ConfigMapName), all.List, all.Watch, &corev1.ConfigMap{}, nil, func(found []*corev1.ConfigMap) {
		var data map[string]string
		for _, m := range found {
			data = m.Data
		}
		see(protocol.ParseDeviceConfig(data))
	})
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
