// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var daemonSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}

// Done fails as long as not every pod of the DaemonSet that removes the files is ready. It
// needs the verb get on it.
func Done(ctx context.Context, client dynamic.Interface, namespace, name string) error {
	set, err := client.Resource(daemonSets).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read DaemonSet %q: %w", name, err)
	}
	number := func(field string) int64 {
		n, _, _ := unstructured.NestedInt64(set.Object, "status", field)
		return n
	}
	if number("observedGeneration") < set.GetGeneration() {
		return fmt.Errorf("DaemonSet %q has no pods yet", name)
	}
	if wanted, ready := number("desiredNumberScheduled"), number("numberReady"); ready < wanted {
		return fmt.Errorf("files stay on %d of %d nodes; is a node not ready? (kubectl get nodes)", wanted-ready, wanted)
	}
	return nil
}

// Retry calls do every second until it succeeds, and returns why it did not if the context
// ends before.
func Retry(ctx context.Context, do func(context.Context) error) (last error) {
	for {
		err := do(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil { // the end of the context is not why
			last = err
		}
		select {
		case <-ctx.Done():
			return last
		case <-time.After(time.Second):
		}
	}
}
