// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/plan"
	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/rollout"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// readSnapshot reads what the cluster is like.
func (u *Upgrader) readSnapshot(ctx context.Context, o *v1alpha1.ClusterOperator) (s rollout.Snapshot, err error) {
	s.Now = u.Now()
	if o.Status.DriverUpgrade != nil {
		for _, n := range o.Status.DriverUpgrade.Nodes {
			s.Taken = append(s.Taken, rollout.Take{Name: n.Name, Turn: n.Turn})
		}
	}
	if s.Nodes, err = u.listRolloutNodes(ctx); err != nil {
		return s, err
	}
	var list appsv1.DaemonSetList
	if err := u.Client.List(ctx, &list, client.InNamespace(u.Namespace)); err != nil {
		return s, fmt.Errorf("list the DaemonSets: %w", err)
	}
	sets := map[string]*appsv1.DaemonSet{}
	for i := range list.Items {
		sets[list.Items[i].Name] = &list.Items[i]
	}
	d, set := o.Spec.Driver, sets[protocol.Driver]
	if !u.Upgrades || set == nil || !set.DeletionTimestamp.IsZero() || d == nil || d.DeployPolicy == "Never" ||
		o.Spec.MinimalMode {
		return s, nil
	}
	s.Desired = int(set.Status.DesiredNumberScheduled)
	s.Deployed, s.Validates = true, plan.Validates(o.Spec, sets[protocol.Label])
	if set.Status.ObservedGeneration == set.Generation {
		s.Revision = set.Spec.Template.Annotations[plan.RevisionAnnotation]
	}
	if d.Payload != nil {
		s.Version = d.Payload.Version
	}
	s.Policy, s.Invalid = rollout.NewPolicy(d.UpgradePolicy)
	return s, u.pods(ctx, &s, set.Spec.Template.Annotations[plan.TemplateAnnotation])
}

// listRolloutNodes are those with a GPU or with something left of an upgrade, without their
// pods.
func (u *Upgrader) listRolloutNodes(ctx context.Context) (nodes []rollout.Node, err error) {
	var list corev1.NodeList
	if err := u.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the Nodes: %w", err)
	}
	for _, n := range list.Items {
		record := rollout.ParseRecord(n.Annotations[protocol.UpgradeAnnotation])
		if n.Labels[protocol.LabelInstalled] != "true" && record.State == "" {
			continue
		}
		nodes = append(nodes, rollout.Node{
			Name: n.Name, Version: n.ResourceVersion, Unschedulable: n.Spec.Unschedulable, Ready: isReady(n.Status.Conditions),
			Validated: n.Labels[protocol.LabelValidated] == "true", Record: record,
			DriverReady: n.Labels[protocol.LabelDriverReady] == "true", HostDriver: n.Labels[protocol.LabelDriverHost] == "true",
			Report: report.Parse(n.Annotations[protocol.ReportsAnnotation])[report.Driver],
		})
	}
	slices.SortFunc(nodes, func(a, b rollout.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes, nil
}

func isReady(conditions []corev1.NodeCondition) bool {
	return slices.ContainsFunc(conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// pods adds their pods to the nodes: the driver's, those with GPUs and, to drain, all. Nodes
// that have neither a driver pod nor a record are left out. The template is what a driver pod
// is made from now.
func (u *Upgrader) pods(ctx context.Context, s *rollout.Snapshot, template string) error {
	var list corev1.PodList
	if err := u.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the Pods: %w", err)
	}
	byName := map[string]*rollout.Node{}
	for i := range s.Nodes {
		byName[s.Nodes[i].Name] = &s.Nodes[i]
	}
	for i := range list.Items {
		p := &list.Items[i]
		n := byName[p.Spec.NodeName]
		if n == nil || objects.HasEnded(p) {
			continue
		}
		pod := rollout.Pod{
			Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), GPU: usesGPU(p),
			Ending: p.DeletionTimestamp != nil,
		}
		if owner := metav1.GetControllerOfNoCopy(p); owner != nil {
			pod.Daemon = owner.Kind == "DaemonSet" || owner.Kind == "Node"
			pod.Managed = !pod.Daemon
		}
		switch {
		case u.isDriver(p):
			if n.Driver == nil || n.Driver.Ending {
				n.Driver = &rollout.Driver{
					Pod: pod, Revision: p.Annotations[plan.RevisionAnnotation],
					Old:     p.Annotations[plan.TemplateAnnotation] != template,
					Running: p.Status.Phase == corev1.PodRunning,
				}
			}
		case pod.GPU || s.Policy.Drain.Enabled:
			n.Pods = append(n.Pods, pod)
		}
	}
	for i := range s.Nodes {
		slices.SortFunc(s.Nodes[i].Pods, func(a, b rollout.Pod) int {
			return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
		})
	}
	s.Nodes = slices.DeleteFunc(s.Nodes, func(n rollout.Node) bool { return n.Driver == nil && n.Record.State == "" })
	return nil
}

// isDriver reports whether a pod is of the driver's DaemonSet.
func (u *Upgrader) isDriver(p *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(p)
	return p.Namespace == u.Namespace && owner != nil && owner.Kind == "DaemonSet" && owner.Name == protocol.Driver
}

// usesGPU reports whether a pod requests something of the vendor's for which the driver is
// needed. GPUs that are bound to vfio-pci have another.
func usesGPU(p *corev1.Pod) bool {
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for _, c := range list {
			for name := range c.Resources.Limits {
				if strings.HasPrefix(string(name), protocol.LabelPrefix) && name != protocol.VFIOResource {
					return true
				}
			}
		}
	}
	return false
}
