package plugin

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// joinTime is the time in which changes are taken together.
const joinTime = 20 * time.Millisecond

// follow calls see with the objects that a selector finds, at first when the API server has listed
// them and then whenever they change, until ctx ends. strip makes them smaller. While the API server
// is away nothing is called.
func follow[L runtime.Object, T runtime.Object](
	ctx context.Context, selector fields.Selector,
	list func(context.Context, metav1.ListOptions) (L, error), watcher func(context.Context, metav1.ListOptions) (watch.Interface, error),
	kind T, strip cache.TransformFunc, see func([]T),
) {
	objects := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector.String()
			return list(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector.String()
			return watcher(ctx, o)
		},
	}, kind, 0, nil)
	_ = objects.SetTransform(strip) // fails only after the start
	changed := make(chan struct{}, 1)
	mark := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	objects.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { mark() }, UpdateFunc: func(any, any) { mark() }, DeleteFunc: func(any) { mark() },
	})
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
