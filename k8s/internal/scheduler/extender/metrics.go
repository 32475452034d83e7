// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore"
)

// Metrics are what the extender counts.
type Metrics struct {
	answers  *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	refusals prometheus.Counter
	measures *prometheus.CounterVec
	config   prometheus.Gauge
	unasked  *prometheus.CounterVec
}

// NewMetrics registers the metrics of an extender and of its Cluster.
func NewMetrics(r prometheus.Registerer, c *Cluster) *Metrics {
	m := &Metrics{
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "metax_gpu_aware_questions_total",
			Help: "Questions of schedulers, by verb and by whether they were answered.",
		}, []string{"verb", "result"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "metax_gpu_aware_answer_seconds",
			Help:    "Time to answer a question, from its first byte.",
			Buckets: []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1},
		}, []string{"verb"}),
		refusals: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "metax_gpu_aware_refused_nodes_total",
			Help: "Nodes that were refused for a pod.",
		}),
		measures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "metax_gpu_aware_judged_nodes_total",
			Help: "Nodes that were judged for a pod, by what: key, values (the vendor's annotations) or counts.",
		}, []string{"by"}),
		config: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "metax_gpu_aware_config_problems",
			Help: "What is wrong in the ConfigMap with the weights.",
		}),
	}
	m.unasked = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "metax_gpu_aware_unasked_pods_total",
		Help: "Pods with GPUs that a scheduler of --scheduler placed without a question.",
	}, []string{"scheduler"})
	r.MustRegister(m.answers, m.seconds, m.refusals, m.measures, m.config, m.unasked, collector{c})
	for _, verb := range []string{"filter", "prioritize", "volcano/predicate", "volcano/prioritize"} {
		for _, result := range []string{"ok", "error"} {
			m.answers.WithLabelValues(verb, result)
		}
		m.seconds.WithLabelValues(verb)
	}
	for by := nodescore.Key; by <= nodescore.Counts; by++ {
		m.measures.WithLabelValues(by.String())
	}
	return m
}

// SetConfigProblems counts what is wrong in the ConfigMap.
func (m *Metrics) SetConfigProblems(n int) { m.config.Set(float64(n)) }

func (m *Metrics) countAnswer(verb, result string, took time.Duration) {
	m.answers.WithLabelValues(verb, result).Inc()
	if result == "ok" {
		m.seconds.WithLabelValues(verb).Observe(took.Seconds())
	}
}

func (m *Metrics) countRefusals(nodes int) { m.refusals.Add(float64(nodes)) }

func (m *Metrics) countJudgements(all []nodescore.Judgement) {
	var by [nodescore.Counts + 1]int
	for i := range all {
		if all[i].Fits {
			by[all[i].By]++
		}
	}
	for measure, n := range by {
		m.measures.WithLabelValues(nodescore.Measure(measure).String()).Add(float64(n))
	}
}

// collector has the metrics of a Cluster.
type collector struct{ *Cluster }

var (
	nodesDesc  = prometheus.NewDesc("metax_gpu_aware_nodes", "Nodes with GPUs.", nil, nil)
	recentDesc = prometheus.NewDesc("metax_gpu_aware_recent_pods",
		"Pods that were placed a moment ago and that the state of their node does not count yet.", nil, nil)
	problemsDesc = prometheus.NewDesc("metax_gpu_aware_node_problems",
		"Nodes with GPUs that are judged by counts, because their annotations are missing, malformed or stale.", []string{"problem"}, nil)
)

// Describe implements prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) {
	to <- nodesDesc
	to <- recentDesc
	to <- problemsDesc
}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	nodes, recent := c.Counts()
	to <- prometheus.MustNewConstMetric(nodesDesc, prometheus.GaugeValue, float64(nodes))
	to <- prometheus.MustNewConstMetric(recentDesc, prometheus.GaugeValue, float64(recent))
	kinds := map[nodescore.ProblemKind]int{}
	for _, p := range c.Problems() {
		kinds[p.Kind]++
	}
	for _, kind := range []nodescore.ProblemKind{nodescore.Missing, nodescore.Malformed, nodescore.Stale} {
		to <- prometheus.MustNewConstMetric(problemsDesc, prometheus.GaugeValue, float64(kinds[kind]), string(kind))
	}
}
