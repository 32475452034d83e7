// SPDX-License-Identifier: Apache-2.0

package labeler

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/metax-ctk/container-toolkit/k8s/internal/label"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Node writes labels to a node object by server-side apply. It needs the verbs get and patch
// on that node.
type Node struct {
	Client metadata.Interface
	Name   string
	Log    *slog.Logger

	written label.Written
}

var nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}

// Write gives the node object these labels, and the annotation with reports unless they are
// "". It writes only if the object differs. Without labels, those that it wrote stay.
func (n *Node) Write(ctx context.Context, labels map[string]string, reports string) (changed bool, err error) {
	// Version 0 is what the API server has in memory; a look every minute need not be newer.
	now, err := n.Client.Resource(nodes).Get(ctx, n.Name, metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return false, fmt.Errorf("read node %q: %w", n.Name, err)
	}
	if labels == nil {
		if now.Annotations[protocol.ReportsAnnotation] == reports {
			return false, nil
		}
		return true, n.apply(ctx, label.Own(now.ObjectMeta), reports)
	}
	plan := label.NewPlan(now.ObjectMeta, labels, n.written)
	changed = plan.Changes || now.Annotations[protocol.ReportsAnnotation] != reports
	if changed {
		if err := n.apply(ctx, plan.Apply, reports); err != nil {
			return false, err
		}
	}
	n.written = plan.Written
	for _, warning := range plan.Warnings {
		n.Log.Warn(warning)
	}
	return changed, nil
}

func (n *Node) apply(ctx context.Context, labels map[string]string, reports string) error {
	meta := map[string]any{"name": n.Name, "labels": labels}
	if reports != "" {
		meta["annotations"] = map[string]string{protocol.ReportsAnnotation: reports}
	}
	object, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": meta})
	if err != nil {
		return err
	}
	force := true
	_, err = n.Client.Resource(nodes).Patch(ctx, n.Name, types.ApplyPatchType, object,
		metav1.PatchOptions{FieldManager: protocol.Label, Force: &force})
	if err != nil {
		return fmt.Errorf("label node %q: %w", n.Name, err)
	}
	return nil
}
