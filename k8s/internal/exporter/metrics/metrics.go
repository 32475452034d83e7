// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Collector is a collector of Prometheus.
type Collector struct {
	// Take is called at every scrape, also at the same time as another.
	Take func() Snapshot
	// Hostname is the node's name in the metrics with the vendor's names; empty for none of
	// them.
	Hostname string
}

// Describe implements prometheus.Collector.
func (c Collector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range Families() {
		to <- f.desc()
	}
	if c.Hostname != "" {
		for _, f := range VendorFamilies() {
			to <- f.desc()
		}
	}
}

// Collect implements prometheus.Collector.
func (c Collector) Collect(to chan<- prometheus.Metric) {
	s := c.Take()
	descs := map[string]*prometheus.Desc{} // making one takes longer than a series of it
	send := func(f Family, value float64, labels ...string) {
		if descs[f.Name] == nil {
			descs[f.Name] = f.desc()
		}
		for i, l := range labels {
			labels[i] = strings.ToValidUTF8(l, "\uFFFD")
		}
		to <- prometheus.MustNewConstMetric(descs[f.Name], f.kind(), value, labels...)
	}
	s.node(send)
	lost := map[int]int{}
	for _, link := range topology.Lost(s.Node) {
		lost[link.GPUs[0]]++
		lost[link.GPUs[1]]++
	}
	for _, g := range s.Node.GPUs {
		s.gpu(send, g, lost[g.Index])
	}
	for _, c := range s.Health.GPUs {
		s.health(send, c)
	}
	if c.Hostname != "" {
		s.sendVendorMetrics(send, c.Hostname)
	}
}

// kind is untyped for metrics with the vendor's names that end as Prometheus has it for
// counters and histograms: the vendor calls them gauges.
func (f Family) kind() prometheus.ValueType {
	isVendors := strings.HasPrefix(f.Name, "mx_")
	isTotal := strings.HasSuffix(f.Name, "_total")
	switch {
	case isVendors && (isTotal || strings.HasSuffix(f.Name, "_count")):
		return prometheus.UntypedValue
	case isTotal:
		return prometheus.CounterValue
	}
	return prometheus.GaugeValue
}

func (f Family) desc() *prometheus.Desc {
	return prometheus.NewDesc(f.Name, f.Help+".", f.Labels, nil)
}

// send makes one series of a family.
type send func(f Family, value float64, labels ...string)

func (s Snapshot) node(send send) {
	for source, up := range s.Sources {
		send(SourceUp, boolValue(up), source)
	}
	if s.LookAt.IsZero() {
		return
	}
	send(LookTime, float64(s.LookAt.UnixMilli())/1000)
	send(LookFailed, boolValue(s.Health.Failed != ""))
	send(GPUs, float64(len(s.Health.GPUs)))
	var driver, mode, maca string
	if d := s.Node.Driver; d != nil {
		driver, mode = d.Version, d.Mode
	}
	if m := s.Node.MACA; m != nil {
		maca = m.Version
	}
	send(Software, 1, driver, mode, maca)
}

// gpu sends what is known of a GPU besides its health.
func (s Snapshot) gpu(send send, g gpu.GPU, lost int) {
	name := []string{strconv.Itoa(g.Index), string(g.UUID), g.BDF.String()}
	numa, domain := "", ""
	if g.NUMA != gpu.NUMAUnknown {
		numa = strconv.Itoa(g.NUMA)
	}
	if g.LinkDomain > 0 {
		domain = strconv.Itoa(g.LinkDomain)
	}
	send(Info, 1, append(name[:3:3], g.Model, g.Product, numa, domain)...)
	labels := s.labels(name, g.BDF)
	if !discover.LinksUnknown(s.Node) {
		send(LinksLost, float64(lost), labels...)
	}
	if s.usersKnown() {
		send(Users, float64(len(s.Users[g.BDF])), name...)
	}
	s.sendContainers(send, g, name)
	r := s.readingOf(g)
	of := func(f Family, value float64, more ...string) {
		send(f, value, append(labels[:len(labels):len(labels)], more...)...)
	}
	reading(of, r)
	sendMeasures(of, r)
	s.sendSlices(func(f Family, value float64, user User, more ...string) {
		send(f, value, append(append(name[:3:3], user.labelValues()...), more...)...)
	}, g, r)
}

// readingOf is what a GPU measures; without values if that is not known.
func (s Snapshot) readingOf(g gpu.GPU) gpu.Reading {
	for _, r := range s.Readings {
		if r.BDF == g.BDF {
			return r
		}
	}
	return gpu.Reading{}
}

// usersKnown reports whether each source of users that is asked has answered.
func (s Snapshot) usersKnown() bool {
	known := false
	for source, up := range s.Sources {
		if source == FromReader || source == FromReadings {
			continue
		}
		if !up {
			return false
		}
		known = true
	}
	return known
}

// reading sends what a GPU measures, in the base units of Prometheus.
func reading(send send, r gpu.Reading) {
	const mib = 1.0 / (1 << 20)
	for _, v := range []struct {
		family Family
		value  *int
		per    float64 // this many are one of the base unit
	}{
		{Utilization, r.UtilizationPercent, 100},
		{MemoryUsed, r.MemoryUsedMiB, mib},
		{MemoryTotal, r.MemoryTotalMiB, mib},
		{Temperature, r.TemperatureC, 1},
		{Power, r.PowerW, 1},
		{PowerLimit, r.PowerLimitW, 1},
		{LinksUp, r.LinksUp, 1},
	} {
		if v.value != nil {
			send(v.family, float64(*v.value)/v.per)
		}
	}
	if r.ECC == nil {
		return
	}
	send(ECCErrors, float64(r.ECC.SRAMCorrected), "sram", "corrected")
	send(ECCErrors, float64(r.ECC.SRAMUncorrected), "sram", "uncorrected")
	send(ECCErrors, float64(r.ECC.DRAMCorrected), "dram", "corrected")
	send(ECCErrors, float64(r.ECC.DRAMUncorrected), "dram", "uncorrected")
	send(Retired, float64(r.ECC.RetiredPages))
}

// health sends the health of a GPU, which may not be in the node any more.
func (s Snapshot) health(send send, c health.Condition) {
	index := ""
	if c.Index >= 0 {
		index = strconv.Itoa(c.Index)
	}
	labels := s.labels([]string{index, string(c.UUID), c.BDF.String()}, c.BDF)
	send(Healthy, boolValue(c.Health == health.Healthy), labels...)
	if c.Health != health.Healthy {
		send(Problem, 1, append(labels, cmp.Or(c.Code, health.Unknown))...)
	}
}

// labels adds the user of a GPU to its name, if it has exactly one.
func (s Snapshot) labels(name []string, b gpu.BDF) []string {
	var user User
	if of := s.Users[b]; len(of) == 1 {
		user = of[0]
	}
	return append(name[:len(name):len(name)], user.labelValues()...)
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
