// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// The metrics of metax-exporter that ParseClocks reads.
const (
	ClockMetric    = "metax_gpu_clock_hertz"
	ThrottleMetric = "metax_gpu_clock_throttle_reasons"
)

// MaxMetrics is the greatest size of what metax-exporter serves, in bytes: more than a node
// with 64 GPUs has, with as many registers and events as are counted.
const MaxMetrics = 32 << 20

// ErrMetrics reports a text that is not what metax-exporter serves.
var ErrMetrics = errors.New("not the metrics of metax-exporter")

// Clock is what a GPU says of its clock: gpu.ClockMHz and gpu.ThrottleReasons, each only if
// it is known.
type Clock struct {
	UUID     gpu.UUID
	Measures gpu.Measures
}

// ParseClocks reads the clocks of GPUs, by index, from the metrics of metax-exporter in
// Prometheus's text format. The error is an ErrMetrics.
func ParseClocks(text []byte) (map[int]Clock, error) {
	if len(text) > MaxMetrics {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrMetrics, MaxMetrics)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%w: %.200q", ErrMetrics, err.Error())
	}
	clocks := map[int]Clock{}
	for _, read := range []struct {
		metric string
		of     gpu.Measure
		unit   string // the value of the label
		per    float64
	}{
		{metric: ClockMetric, of: gpu.ClockMHz, unit: "compute", per: 1e6},
		{metric: ThrottleMetric, of: gpu.ThrottleReasons, per: 1},
	} {
		for _, m := range families[read.metric].GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["unit"] != read.unit {
				continue
			}
			index, err := strconv.Atoi(labels["gpu"])
			if err != nil || index < 0 || index >= gpu.MaxGPUs || m.Gauge == nil {
				return nil, fmt.Errorf("%w: %s of GPU %.40q", ErrMetrics, read.metric, labels["gpu"])
			}
			c := clocks[index]
			c.UUID = gpu.UUID(labels["uuid"])
			c.Measures.Set(read.of, m.GetGauge().GetValue()/read.per)
			clocks[index] = c
		}
	}
	return clocks, nil
}
