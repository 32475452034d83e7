// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Unread is a ConfigMap that has the name of one that a program follows, in a namespace that
// the program does not read.
type Unread struct {
	Namespace, Name string
	Program         string
	Reads           string // the namespace that the program reads
}

// followed are the ConfigMaps that people edit, with the programs that follow them. Other
// projects have a driver-config too: only one with a key of ours is meant.
var followed = []struct {
	name, program string
	keys          []string
}{
	{protocol.ConfigMapName, protocol.Device, nil},
	{protocol.AwareConfigMapName, protocol.Aware, nil},
	{protocol.VFIOConfigMap, protocol.Operator, nil},
	{protocol.DriverConfigMap, protocol.Operator, []string{"node-vfnums", "nodes-config"}},
}

// addUnread reads, of all namespaces, the ConfigMaps that programs of the cluster would
// follow, if the user may.
func (r Reader) addUnread(ctx context.Context, o *Objects) error {
	var found []corev1.ConfigMap
	for _, f := range followed {
		if !slices.ContainsFunc(o.Pods,
			func(p corev1.Pod) bool { return IsProgram(&p) && p.Labels[nameLabel] == f.program }) {
			continue
		}
		// Version 0 is what the API server has in memory.
		err := forEachListed(ctx, func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return r.Client.ConfigMaps(metav1.NamespaceAll).List(ctx, opts)
		}, metav1.ListOptions{
			FieldSelector:   fields.OneTermEqualSelector(metav1.ObjectNameField, f.name).String(),
			ResourceVersion: "0",
		}, func(c *corev1.ConfigMap) {
			found = append(found, *c)
		})
		if err != nil && !apierrors.IsForbidden(err) {
			return err
		}
	}
	o.Unread = unreadConfigs(found, o.Pods)
	return nil
}

// unreadConfigs returns those of ConfigMaps that no program follows, although one runs in
// another namespace.
func unreadConfigs(configs []corev1.ConfigMap, pods []corev1.Pod) (all []Unread) {
	for _, f := range followed {
		var read []string
		for i := range pods {
			if p := &pods[i]; IsProgram(p) && p.Labels[nameLabel] == f.program && !slices.Contains(read, p.Namespace) {
				read = append(read, p.Namespace)
			}
		}
		for _, c := range configs {
			ours := len(f.keys) == 0 || slices.ContainsFunc(f.keys, func(key string) bool { return c.Data[key] != "" })
			if c.Name == f.name && ours && len(read) > 0 && !slices.Contains(read, c.Namespace) {
				all = append(all, Unread{Namespace: c.Namespace, Name: c.Name, Program: f.program, Reads: read[0]})
			}
		}
	}
	return all
}
