// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
)

// Metrics are what the plugin counts. A nil *Metrics counts nothing.
type Metrics struct {
	guesses     *prometheus.CounterVec
	fallbacks   prometheus.Counter
	allocations *prometheus.CounterVec
	unhealthy   *prometheus.GaugeVec
	devices     prometheus.Gauge
}

// NewMetrics registers the metrics of a plugin, of which registered reports whether the
// kubelet follows its list of devices.
func NewMetrics(r prometheus.Registerer, registered func() bool) *Metrics {
	m := &Metrics{
		guesses: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "metax_gpu_device_pod_guesses_total",
			Help: "Questions of the kubelet for which the container could be told (hit) or not (miss).",
		}, []string{"result"}),
		fallbacks: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "metax_gpu_device_preference_fallbacks_total",
			Help: "Preferences in the order of GPUs, because the picker could not choose.",
		}),
		allocations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "metax_gpu_device_allocations_total",
			Help: "Answers to Allocate; leased: refused because somebody outside Kubernetes has a lease.",
		}, []string{"result"}),
		unhealthy: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "metax_gpu_device_unhealthy",
			Help: "Devices that are not healthy, by reason.",
		}, []string{"reason"}),
		devices: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "metax_gpu_device_devices",
			Help: "Devices, healthy or not.",
		}),
	}
	r.MustRegister(m.guesses, m.fallbacks, m.allocations, m.unhealthy, m.devices,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "metax_gpu_device_registered",
			Help: "1 while the kubelet follows the list of devices.",
		}, func() float64 { return map[bool]float64{true: 1}[registered()] }))
	for _, result := range []string{"hit", "miss"} {
		m.guesses.WithLabelValues(result)
	}
	for _, result := range []string{"ok", "error", "leased"} {
		m.allocations.WithLabelValues(result)
	}
	return m
}

// SetDevices counts devices by health.
func (m *Metrics) SetDevices(devices []inventory.Device) {
	if m == nil {
		return
	}
	m.devices.Set(float64(len(devices)))
	m.unhealthy.Reset()
	for _, d := range devices {
		if !d.Healthy {
			m.unhealthy.WithLabelValues(cmp.Or(d.Code, "unknown")).Inc()
		}
	}
}

func (m *Metrics) guessed(hit bool) {
	if m != nil {
		m.guesses.WithLabelValues(map[bool]string{true: "hit", false: "miss"}[hit]).Inc()
	}
}

func (m *Metrics) fallback() {
	if m != nil {
		m.fallbacks.Inc()
	}
}

func (m *Metrics) allocated(err error) {
	if m == nil {
		return
	}
	result := "ok"
	switch {
	case errors.Is(err, lease.ErrBusy) || errors.Is(err, lease.ErrNoState):
		result = "leased"
	case err != nil:
		result = "error"
	}
	m.allocations.WithLabelValues(result).Inc()
}
