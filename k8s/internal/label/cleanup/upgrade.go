// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/rollout"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// endUpgrade puts a node back into service that an upgrade of the driver cordoned, where the
// operator's controller did not do so before it ended.
func (n Nodes) endUpgrade(ctx context.Context, node metav1.ObjectMeta) error {
	text, ok := node.Annotations[protocol.UpgradeAnnotation]
	if !ok {
		return nil
	}
	record := rollout.ParseRecord(text)
	patch := map[string]any{"metadata": map[string]any{
		"uid": node.UID, "resourceVersion": node.ResourceVersion,
		"annotations": map[string]any{protocol.UpgradeAnnotation: nil},
	}}
	if record.Cordoned {
		patch["spec"] = map[string]any{"unschedulable": nil}
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = n.Client.Resource(resource).Patch(ctx, node.Name, types.MergePatchType, body, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("end the driver's upgrade of node %q: %w", node.Name, err)
	}
	n.Log.Info("the driver's upgrade ends", "node", node.Name, "uncordoned", record.Cordoned)
	return nil
}
