// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/faults"
	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/plan"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/status"
)

// Options are those of the controller.
type Options struct {
	Namespace string // of the DaemonSets and the Lease
	// AwareNamespace is that of the scheduler extender, which says there which schedulers ask;
	// empty without it.
	AwareNamespace string
	Health         string // address of /healthz and /readyz
	Metrics        string // address of /metrics, "0" for none
	Manifests      plan.Manifests
	// Upgrades reports whether the controller upgrades drivers, for which it needs more
	// rights. If not, it only puts nodes back into service that an upgrade took before.
	Upgrades bool
	// OnFatal is what follows where a GPU is lost to its pods. To evict needs more rights.
	OnFatal faults.Mode
	Log     *slog.Logger
	// Clock is what pauses and limits of time are measured by; nil is the real one. The Lease
	// has the real one always.
	Clock clock.WithTicker
}

func (o Options) clock() clock.WithTicker {
	if o.Clock == nil {
		return clock.RealClock{}
	}
	return o.Clock
}

// queue makes the queue of a controller, in which what is to be done later waits by the clock.
func (o Options) queue() controller.Options {
	several := true // in one process
	return controller.Options{
		SkipNameValidation: &several,
		NewQueue: func(name string,
			limiter workqueue.TypedRateLimiter[reconcile.Request],
		) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
				workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name, Clock: o.clock()})
		},
	}
}

// Run runs the controller until the context ends. Of several, one leads; it needs get, create
// and update on leases of its namespace and create on events for that.
func Run(ctx context.Context, config *rest.Config, o Options) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	logger := logr.FromSlogHandler(o.Log.Handler())
	log.SetLogger(logger)
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server has its own limits; with client-go's, a look at many nodes takes minutes
	m, err := manager.New(config, manager.Options{
		Scheme: scheme, Logger: logger,
		HealthProbeBindAddress: "0", Metrics: server.Options{BindAddress: "0"}, // serveStatus bounds who asks
		LeaderElection: true, LeaderElectionID: protocol.Operator, LeaderElectionNamespace: o.Namespace,
		LeaderElectionReleaseOnCancel: true,
		Cache: cache.Options{
			ByObject:         cached(o),
			DefaultTransform: trimForCache,
		},
	})
	if err != nil {
		return fmt.Errorf("start the controller: %w", err)
	}
	only := reconcile.Request{NamespacedName: types.NamespacedName{Name: v1alpha1.Name}}
	always := func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{only} }
	r := &Reconciler{
		Client: m.GetClient(), Manifests: o.Manifests, ConfigMaps: o.configMaps(), Namespace: o.Namespace,
		Log: o.Log, Now: o.clock().Now, Configs: map[string]client.Reader{},
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	evict := func(ctx context.Context, e *policyv1.Eviction) error {
		return kube.PolicyV1().Evictions(e.Namespace).Evict(ctx, e)
	}
	r.Upgrader = &Upgrader{
		Client: m.GetClient(), Namespace: o.Namespace, Upgrades: o.Upgrades, Log: o.Log,
		Now: o.clock().Now, Evict: evict,
	}
	if err = r.Upgrader.setupWithManager(m, only, o.queue()); err != nil {
		return fmt.Errorf("watch the nodes' drivers: %w", err)
	}
	r.Faults = &Faults{
		Client: m.GetClient(), Pods: m.GetAPIReader(), Mode: cmp.Or(o.OnFatal, faults.None), Log: o.Log,
		Now: o.clock().Now, Evict: evict,
	}
	if err = r.Faults.setupWithManager(m, only, o.queue()); err != nil {
		return fmt.Errorf("watch the nodes' GPUs: %w", err)
	}
	all := builder.ControllerManagedBy(m).
		WithOptions(o.queue()).
		For(&v1alpha1.ClusterOperator{}).
		Owns(&appsv1.DaemonSet{}).
		Owns(&corev1.Pod{}).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(always),
			builder.WithPredicates(predicate.Or(predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{},
				predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
					return pendingMode(e.ObjectOld) != pendingMode(e.ObjectNew) || isTainted(e.ObjectOld) != isTainted(e.ObjectNew)
				}})))
	all.Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(always), builder.WithPredicates(predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return isStuck(e.Object, o.Namespace) },
		DeleteFunc: func(e event.DeleteEvent) bool { return isStuck(e.Object, o.Namespace) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return isStuck(e.ObjectOld, o.Namespace) || isStuck(e.ObjectNew, o.Namespace)
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}))
	for name, namespace := range o.configMaps() {
		one, err := configCache(m, config, namespace, name)
		if err != nil {
			return err
		}
		r.Configs[name] = one
		all.WatchesRawSource(source.Kind(one, &corev1.ConfigMap{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(context.Context, *corev1.ConfigMap) []reconcile.Request { return []reconcile.Request{only} })))
	}
	if err = all.Complete(r); err != nil {
		return fmt.Errorf("watch the cluster: %w", err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	o.serveStatus(ctx, stop, &r.conditions)
	err = m.Start(ctx)
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return err
}

// serveStatus answers probes and serves metrics until the context ends, those of the
// conditions among them; a failure stops the controller.
func (o Options) serveStatus(ctx context.Context, stop func(error), own prometheus.Collector) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(own)
	for address, registry := range map[string]prometheus.Gatherer{
		o.Health:  nil,
		o.Metrics: prometheus.Gatherers{metrics.Registry, registry},
	} {
		if address == "" || address == "0" {
			continue
		}
		go func() {
			if err := status.Serve(ctx, address, registry, func() error { return nil }); err != nil {
				stop(err)
			}
		}()
	}
}

// configMaps are the names of the ConfigMaps that are read, with their namespaces.
func (o Options) configMaps() map[string]string {
	all := map[string]string{}
	for _, edited := range plan.EditedConfigMaps {
		all[edited], all[protocol.ValuesOf(edited)] = o.Namespace, o.Namespace
	}
	if o.AwareNamespace != "" {
		all[protocol.AskedConfigMap] = o.AwareNamespace
	}
	return all
}

// configCache is a cache of one ConfigMap, so that list and watch by its name are enough.
func configCache(m manager.Manager, config *rest.Config, namespace, name string) (cache.Cache, error) {
	one, err := cache.New(config, cache.Options{
		HTTPClient: m.GetHTTPClient(), Scheme: m.GetScheme(), Mapper: m.GetRESTMapper(), DefaultTransform: trimForCache,
		ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{
			namespace: {FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name)},
		}}},
	})
	if err == nil {
		err = m.Add(one)
	}
	if err != nil {
		return nil, fmt.Errorf("watch ConfigMap %s: %w", name, err)
	}
	return one, nil
}

// pendingMode says which change of the mode waits on a Node; empty if no change waits.
func pendingMode(o client.Object) string {
	if n, ok := o.(*corev1.Node); ok {
		for _, c := range n.Status.Conditions {
			if c.Type == protocol.ModePendingCondition {
				return c.Message
			}
		}
	}
	return ""
}

// isStuck reports whether a pod of a namespace has containers that cannot start.
func isStuck(o client.Object, namespace string) bool {
	p, ok := o.(*corev1.Pod)
	return ok && p.Namespace == namespace && len(waitingContainers(p)) > 0
}

// cached is what is followed: of pods, those of the components and those that look at GPUs,
// and all if their drivers are upgraded.
func cached(o Options) map[client.Object]cache.ByObject {
	objects := map[client.Object]cache.ByObject{
		&appsv1.DaemonSet{}: {Namespaces: map[string]cache.Config{o.Namespace: {}}},
	}
	if !o.Upgrades {
		own, err := labels.NewRequirement("app.kubernetes.io/name", selection.In,
			append(slices.Clone(plan.Components), protocol.Look))
		if err != nil {
			panic(err) // of constants
		}
		objects[&corev1.Pod{}] = cache.ByObject{Namespaces: map[string]cache.Config{
			o.Namespace: {LabelSelector: labels.NewSelector().Add(*own)},
		}}
	}
	return objects
}

// setupWithManager makes the manager call the Upgrader, about once in a second at most.
func (u *Upgrader) setupWithManager(m manager.Manager, only reconcile.Request, options controller.Options) error {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	soon := func(q queue) { q.AddAfter(only, time.Second) }
	later := handler.Funcs{
		CreateFunc: func(_ context.Context, _ event.CreateEvent, q queue) { soon(q) },
		DeleteFunc: func(_ context.Context, _ event.DeleteEvent, q queue) { soon(q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			if readFieldsDiffer(e.ObjectOld, e.ObjectNew) {
				soon(q)
			}
		},
	}
	all := builder.ControllerManagedBy(m).Named("driver-upgrade").
		WithOptions(options).
		Watches(&v1alpha1.ClusterOperator{}, later).
		Watches(&appsv1.DaemonSet{}, later).
		Watches(&corev1.Node{}, later)
	if u.Upgrades {
		all.Watches(&corev1.Pod{}, later)
	}
	return all.Complete(u)
}
