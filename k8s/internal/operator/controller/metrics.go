// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conditions are the conditions of the ClusterOperator as metrics. It is safe for concurrent
// use.
type conditions struct {
	now atomic.Pointer[[]metav1.Condition]
}

var conditionDesc = prometheus.NewDesc("metax_operator_condition",
	"Whether a condition of the ClusterOperator is True (1) or False (0).", []string{"type"}, nil)

func (c *conditions) set(all []metav1.Condition) { c.now.Store(&all) }

// Describe implements prometheus.Collector.
func (c *conditions) Describe(to chan<- *prometheus.Desc) { to <- conditionDesc }

// Collect implements prometheus.Collector.
func (c *conditions) Collect(to chan<- prometheus.Metric) {
	all := c.now.Load()
	if all == nil {
		return
	}
	for _, condition := range *all {
		value := 0.0
		if condition.Status == metav1.ConditionTrue {
			value = 1
		}
		to <- prometheus.MustNewConstMetric(conditionDesc, prometheus.GaugeValue, value, condition.Type)
	}
}
