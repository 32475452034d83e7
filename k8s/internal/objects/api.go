// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/pager"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Reader reads Objects from the API server.
type Reader struct {
	Client corev1client.CoreV1Interface
	// Namespace is that of whose pods are read if the user may not read those of all.
	Namespace string
}

// Cluster reads all Nodes and pods. It fails if the user may not list Nodes.
func (r Reader) Cluster(ctx context.Context) (Objects, error) {
	var o Objects
	err := forEachListed(ctx, func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		return r.Client.Nodes().List(ctx, opts)
	}, metav1.ListOptions{}, func(n *corev1.Node) {
		if HasGPUs(n) {
			n.Status.Images, n.ManagedFields = nil, nil
			o.Nodes = append(o.Nodes, *n)
		}
	})
	if err != nil {
		return Objects{}, fmt.Errorf("list the Nodes: %w", explained(err))
	}
	running := fields.ParseSelectorOrDie("status.phase!=Succeeded,status.phase!=Failed").String()
	keep := func(p *corev1.Pod) {
		if RequestsGPUs(p) || IsProgram(p) {
			p.ManagedFields = nil
			o.Pods = append(o.Pods, *p)
		}
	}
	err = r.pods(ctx, metav1.NamespaceAll, running, keep)
	if apierrors.IsForbidden(err) && r.Namespace != "" {
		o.Pods = nil
		o.Missing = append(o.Missing,
			fmt.Sprintf("pods of other namespaces than %s are not counted: you may not list them", r.Namespace))
		err = r.pods(ctx, r.Namespace, running, keep)
	}
	if apierrors.IsForbidden(err) {
		o.Missing = append(o.Missing, "pods are not counted: you may not list them")
	} else if err != nil {
		return Objects{}, fmt.Errorf("list the pods: %w", err)
	}
	o.filterAndSort()
	if err := r.addUnread(ctx, &o); err != nil {
		return Objects{}, fmt.Errorf("list the ConfigMaps: %w", err)
	}
	return o, nil
}

func (r Reader) pods(ctx context.Context, namespace, selector string, see func(*corev1.Pod)) error {
	return forEachListed(ctx, func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		return r.Client.Pods(namespace).List(ctx, opts)
	}, metav1.ListOptions{FieldSelector: selector}, see)
}

// Node reads one Node, and the pods on it.
func (r Reader) Node(ctx context.Context, name string) (Objects, error) {
	n, err := r.Client.Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return Objects{}, explained(err)
	}
	o := Objects{Nodes: []corev1.Node{*n}}
	err = r.pods(ctx, metav1.NamespaceAll, fields.OneTermEqualSelector("spec.nodeName", name).String(),
		func(p *corev1.Pod) {
			o.Pods = append(o.Pods, *p)
		})
	if apierrors.IsForbidden(err) {
		o.Missing = append(o.Missing, "the pods of the node are not known: you may not list them")
	} else if err != nil {
		return Objects{}, fmt.Errorf("list the pods of the node: %w", err)
	}
	o.filterAndSort()
	return o, nil
}

// Pod reads one pod, also one that has ended.
func (r Reader) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	p, err := r.Client.Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	return p, explained(err)
}

// AddEvents adds the Events about an object; about all objects for the zero reference.
func (r Reader) AddEvents(ctx context.Context, o *Objects, about corev1.ObjectReference) error {
	namespace, opts := about.Namespace, metav1.ListOptions{}
	if about.Kind == "Node" {
		namespace = metav1.NamespaceDefault
	}
	if about.Kind != "" {
		opts.FieldSelector = fields.Set{
			"involvedObject.kind": about.Kind,
			"involvedObject.name": about.Name,
		}.AsSelector().String()
	}
	err := forEachListed(ctx, func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		return r.Client.Events(namespace).List(ctx, opts)
	}, opts, func(e *corev1.Event) { o.Events = append(o.Events, *e) })
	if apierrors.IsForbidden(err) {
		o.Missing, err = append(o.Missing, "Events are not shown: you may not list them"), nil
	}
	o.filterAndSort()
	return err
}

// AddConfigs adds the ConfigMaps that the programs among the pods follow, of those programs
// that follows reports.
func (r Reader) AddConfigs(ctx context.Context, o *Objects, follows func(*corev1.Pod) bool) error {
	seen := map[string]bool{}
	for i := range o.Pods {
		p := &o.Pods[i]
		edited := configOf(p)
		if !follows(p) || seen[p.Namespace+"/"+edited] {
			continue
		}
		seen[p.Namespace+"/"+edited] = true
		for _, name := range []string{edited, protocol.ValuesOf(edited)} {
			c, err := r.Client.ConfigMaps(p.Namespace).Get(ctx, name, metav1.GetOptions{})
			switch {
			case err == nil:
				o.Configs = append(o.Configs, *c)
			case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
				o.Missing = append(o.Missing, fmt.Sprintf("the ConfigMap %s is not read: %v", name, err))
			default:
				return fmt.Errorf("read the ConfigMap %s: %w", name, err)
			}
		}
	}
	return nil
}

// AddAsked adds what the scheduler extenders among the pods know of the schedulers.
func (r Reader) AddAsked(ctx context.Context, o *Objects) error {
	i := slices.IndexFunc(o.Pods, func(p corev1.Pod) bool { return IsAware(&p) })
	if i < 0 {
		return nil
	}
	c, err := r.Client.ConfigMaps(o.Pods[i].Namespace).Get(ctx, protocol.AskedConfigMap, metav1.GetOptions{})
	switch {
	case err == nil:
		o.Asked = protocol.ParseAsked(c.Data)
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err): // of a version before, or without gpuAware.schedulers
	default:
		return fmt.Errorf("read the ConfigMap %s: %w", protocol.AskedConfigMap, err)
	}
	return nil
}

// Config returns the data that holds of a ConfigMap that people edit, with the chart's values
// for it.
func (o Objects) Config(namespace, name string) map[string]string {
	parts := map[string]map[string]string{}
	for _, c := range o.Configs {
		if c.Namespace == namespace {
			parts[c.Name] = c.Data
		}
	}
	data, _ := protocol.Edit(parts[protocol.ValuesOf(name)], parts[name])
	return data
}

// forEachListed calls see with each object, page by page.
func forEachListed[T any](ctx context.Context, page pager.ListPageFunc, opts metav1.ListOptions, see func(*T)) error {
	p := pager.New(page)
	return p.EachListItem(ctx, opts, func(object runtime.Object) error {
		if o, ok := object.(any).(*T); ok {
			see(o)
		}
		return nil
	})
}

// explained adds to an error what to do about it.
func explained(err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w; an administrator can allow it: value readers of the chart", err)
	}
	return err
}

// IsRefusal reports whether the API server answered an error that asking again does not
// change.
func IsRefusal(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code < http.StatusInternalServerError &&
		status.Status().Code != http.StatusTooManyRequests
}
