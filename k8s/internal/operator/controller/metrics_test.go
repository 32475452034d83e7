// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/plan"
)

// TestConditionMetrics: each condition is a series, until the ClusterOperator is gone.
func TestConditionMetrics(t *testing.T) {
	var c conditions
	if n := testutil.CollectAndCount(&c); n != 0 {
		t.Errorf("%d series before the first look", n)
	}
	var all []metav1.Condition
	for kind, status := range map[string]metav1.ConditionStatus{plan.Ready: metav1.ConditionFalse, plan.ConfigUnderstood: metav1.ConditionTrue} {
		meta.SetStatusCondition(&all, metav1.Condition{Type: kind, Status: status})
	}
	c.set(all)
	const want = `# HELP metax_operator_condition Whether a condition of the ClusterOperator is True (1) or False (0).
# TYPE metax_operator_condition gauge
metax_operator_condition{type="ConfigUnderstood"} 1
metax_operator_condition{type="Ready"} 0
`
	if err := testutil.CollectAndCompare(&c, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	c.set(nil)
	if n := testutil.CollectAndCount(&c); n != 0 {
		t.Errorf("%d series after its end", n)
	}
}
