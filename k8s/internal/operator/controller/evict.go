// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"log/slog"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Evict sends an Eviction to the API server.
type Evict func(context.Context, *policyv1.Eviction) error

// requestEviction evicts the pod that meta names, if it is the one of the UID. The labels and
// annotations of meta say what it is, for the policies of the chart. That a disruption budget
// forbids it for now, or that the pod has gone, is no mistake.
func (e Evict) requestEviction(ctx context.Context, meta metav1.ObjectMeta, uid types.UID, log *slog.Logger) error {
	err := e(ctx, &policyv1.Eviction{
		ObjectMeta:    meta,
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}},
	})
	pod := meta.Namespace + "/" + meta.Name
	switch {
	case apierrors.IsTooManyRequests(err):
		log.Info("a disruption budget keeps a pod from being evicted", "pod", pod)
	case err == nil:
		log.Info("evicted", "pod", pod)
	case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
		return fmt.Errorf("evict pod %s: %w", pod, err)
	}
	return nil
}
