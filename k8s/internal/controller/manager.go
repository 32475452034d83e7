package controller

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
	"github.com/metax-ctk/container-toolkit/k8s/internal/operator"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Options are those of the controller.
type Options struct {
	Namespace string // of the DaemonSets and the Lease
	Health    string // address of /healthz and /readyz
	Metrics   string // address of /metrics, "0" for none
	Manifests operator.Manifests
	Log       *slog.Logger
}

// Run runs the controller until the context ends. Of several, one leads; it needs get, create and update on
// leases of its namespace and create on events for that.
func Run(ctx context.Context, config *rest.Config, o Options) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	logger := logr.FromSlogHandler(o.Log.Handler())
	log.SetLogger(logger)
	m, err := manager.New(config, manager.Options{
		Scheme: scheme, Logger: logger,
		HealthProbeBindAddress: o.Health, Metrics: server.Options{BindAddress: o.Metrics},
		LeaderElection: true, LeaderElectionID: protocol.Operator, LeaderElectionNamespace: o.Namespace, LeaderElectionReleaseOnCancel: true,
		Cache: cache.Options{
			ByObject:         map[client.Object]cache.ByObject{&appsv1.DaemonSet{}: {Namespaces: map[string]cache.Config{o.Namespace: {}}}},
			DefaultTransform: slim,
		},
	})
	if err != nil {
		return fmt.Errorf("start the controller: %w", err)
	}
	for name, add := range map[string]func(string, healthz.Checker) error{"healthz": m.AddHealthzCheck, "readyz": m.AddReadyzCheck} {
		if err := add(name, healthz.Ping); err != nil {
			return err
		}
	}
	only := reconcile.Request{NamespacedName: types.NamespacedName{Name: v1alpha1.Name}}
	always := func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{only} }
	r := &Reconciler{Client: m.GetClient(), Manifests: o.Manifests, Namespace: o.Namespace, Log: o.Log, Now: time.Now}
	err = builder.ControllerManagedBy(m).
		For(&v1alpha1.ClusterOperator{}).
		Owns(&appsv1.DaemonSet{}).
		WatchesMetadata(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(always), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		Complete(r)
	if err != nil {
		return fmt.Errorf("watch the cluster: %w", err)
	}
	return m.Start(ctx)
}

// slim leaves out of the memory what is not read: of a node, everything but the labels.
func slim(object any) (any, error) {
	switch o := object.(type) {
	case *metav1.PartialObjectMetadata:
		o.Annotations, o.ManagedFields = nil, nil
	case client.Object:
		o.SetManagedFields(nil)
	}
	return object, nil
}
