// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Nodes are the Node objects of a cluster. It needs the verbs list and patch on nodes, and
// patch on nodes/status.
type Nodes struct {
	Client metadata.Interface
	Log    *slog.Logger
}

var resource = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}

// page is how many Node objects are in one answer.
const page = 200

// Remove removes from all Node objects the labels, annotations and conditions that a program
// applied and nobody else did, and uncordons those that an upgrade of the driver cordoned.
func (n Nodes) Remove(ctx context.Context) error {
	var errs []error
	options := metav1.ListOptions{Limit: page}
	for {
		list, err := n.Client.Resource(resource).List(ctx, options)
		if err != nil {
			return errors.Join(append(errs, fmt.Errorf("list the Nodes: %w", err))...)
		}
		for _, node := range list.Items {
			errs = append(errs, n.endUpgrade(ctx, node.ObjectMeta), n.remove(ctx, node.ObjectMeta))
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return errors.Join(errs...)
		}
	}
}

// remove applies nothing under each name that something was applied under. That removes what
// was.
func (n Nodes) remove(ctx context.Context, node metav1.ObjectMeta) error {
	// With the UID, a Node that was made anew meanwhile is left alone.
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": node.Name, "uid": node.UID},
	})
	if err != nil {
		return err
	}
	force := true
	for _, entry := range node.ManagedFields {
		if entry.Operation != metav1.ManagedFieldsOperationApply ||
			!slices.Contains([]string{protocol.Device, protocol.Label, protocol.Runtime}, entry.Manager) {
			continue
		}
		var part []string
		if entry.Subresource != "" {
			part = append(part, entry.Subresource)
		}
		_, err := n.Client.Resource(resource).Patch(ctx, node.Name, types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: entry.Manager, Force: &force}, part...)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove what %s wrote to node %q: %w", entry.Manager, node.Name, err)
		}
		n.Log.Info("removed", "node", node.Name, "manager", entry.Manager, "part", entry.Subresource)
	}
	return nil
}
