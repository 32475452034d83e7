// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// pciDir has the directories of PCI functions, in each of which smi is the driver's.
const pciDir = "/sys/bus/pci/devices/"

// Fill adds to readings what the driver's own attributes say about the node's GPUs and another
// source did not. An attribute is read only for a value that is missing. A GPU without a
// reading gets one if anything was read. After a file that does not answer, nothing more is
// read, and late is an ErrLate.
func Fill(files Files, n gpu.Node, readings []gpu.Reading) (filled []gpu.Reading, late error) {
	b := newBounded(files)
	defer b.close()
	filled = slices.Clone(readings)
	for _, g := range n.GPUs {
		r := gpu.Reading{BDF: g.BDF}
		at := slices.IndexFunc(filled, func(r gpu.Reading) bool { return r.BDF == g.BDF })
		if at >= 0 {
			r = filled[at]
		}
		fillReading(b, g, &r)
		r.Check()
		switch {
		case b.late != nil:
			return filled, b.late
		case at >= 0:
			filled[at] = r
		case !r.IsEmpty():
			filled = append(filled, r)
		}
	}
	slices.SortFunc(filled, func(a, b gpu.Reading) int { return a.BDF.Compare(b.BDF) })
	return filled, nil
}

func fillReading(b *bounded, g gpu.GPU, r *gpu.Reading) {
	readOf := func(of gpu.BDF, name string, use func(text string)) {
		var text string
		var err error
		if b.readInTime(func() { text, err = b.readFile(pciDir + of.String() + "/" + name) }) == nil && err == nil {
			use(text)
		}
	}
	read := func(name string, use func(text string)) { readOf(g.BDF, name, use) }
	for _, a := range attributes {
		if a.isMissing(*r) && !(len(g.VFs) > 0 && notOfSplit(a.name)) {
			read("smi/"+a.name, func(text string) { a.parse(parseTable(text), r) })
		}
	}
	countUp(r)
	if len(g.PCIePath) > 0 && !r.IsEmpty() && lacks(gpu.PCIeMaxGTps, gpu.PCIeMaxLanes)(*r) {
		// What PCIe can have is the kernel's to say: the less of the GPU and the bridge above
		// it.
		for name, m := range map[string]gpu.Measure{"max_link_speed": gpu.PCIeMaxGTps, "max_link_width": gpu.PCIeMaxLanes} {
			var of []float64
			for _, at := range []gpu.BDF{g.BDF, g.PCIePath[len(g.PCIePath)-1]} {
				readOf(at, name, func(text string) { of = append(of, parseTable(text).number(0, 0)) })
			}
			if len(of) == 2 {
				r.Measures.Set(m, min(of[0], of[1]))
			}
		}
	}
	for _, s := range g.Slices {
		if s.Kind != gpu.SliceSGPU || r.SliceOf(s.Index) == nil {
			continue
		}
		of := "sgpu" + strconv.Itoa(s.Index)
		slice := r.SliceOf(s.Index)
		if slice.Minor == nil {
			read("sgpu/"+of+"/minor", func(text string) {
				if minor, err := strconv.Atoi(firstLine(text)); err == nil {
					slice.Minor = &minor
				}
			})
		}
		if _, there := slice.Measures[gpu.SlicePercent]; !there {
			read("smi/"+of+"/utilization",
				func(text string) { slice.Measures.Set(gpu.SlicePercent, parseTable(text).number(0, 0)/100) })
		}
		if _, there := slice.Measures[gpu.UsedKiB]; !there {
			read("smi/"+of+"/meminfo", func(text string) {
				for i, m := range []gpu.Measure{gpu.TotalKiB, gpu.UsedKiB} {
					slice.Measures.Set(m, parseTable(text).number(i, 0)/1024)
				}
			})
		}
	}
}

// notOfSplit reports whether an attribute says nothing about a GPU that is split into virtual
// functions, as the vendor's library has it: it has no memory of its own and no MetaXLink.
func notOfSplit(name string) bool {
	return strings.HasPrefix(name, "showmem") || strings.Contains(name, "metalk") || name == "showtopology"
}

// countUp counts the ports that are trained, where they are known.
func countUp(r *gpu.Reading) {
	up, known := 0, false
	for _, p := range r.Ports {
		speed, ok := p.Measures[gpu.PortGTps]
		known = known || ok
		if speed > 0 && p.Measures[gpu.PortLanes] > 0 {
			up++
		}
	}
	if r.LinksUp == nil && known {
		r.LinksUp = &up
	}
}

// attribute is a file of the driver, and what it says.
type attribute struct {
	name      string
	isMissing func(gpu.Reading) bool // whether the reading lacks what it says
	parse     func(table, *gpu.Reading)
}

// attributes are those whose form the vendor's library shows.
var attributes = []attribute{
	{
		"showxcuse", func(r gpu.Reading) bool { return r.UtilizationPercent == nil },
		func(t table, r *gpu.Reading) { setInt(&r.UtilizationPercent, t.hex(0), 1, 100) },
	},
	{"showmeminfo", lacks(gpu.TotalKiB, gpu.SystemTotalKiB), func(t table, r *gpu.Reading) {
		r.Measures.Set(gpu.TotalKiB, t.number(1, 0))
		r.Measures.Set(gpu.SystemTotalKiB, t.number(2, 0))
		setInt(&r.MemoryTotalMiB, t.number(1, 0), 1<<10, 1<<36)
	}},
	{"showmemuse", lacks(gpu.UsedKiB, gpu.SystemUsedKiB), func(t table, r *gpu.Reading) {
		r.Measures.Set(gpu.UsedKiB, t.number(1, 0))
		r.Measures.Set(gpu.SystemUsedKiB, t.number(2, 0))
		setInt(&r.MemoryUsedMiB, t.number(1, 0), 1<<10, 1<<36)
	}},
	{"showtemp", lacks(gpu.HotspotC, gpu.HBMC, gpu.BoardC), func(t table, r *gpu.Reading) {
		for of, label := range map[gpu.Measure]string{gpu.HotspotC: "hotspot", gpu.HBMC: "hbm", gpu.BoardC: "core"} {
			r.Measures.Set(of, t.named(label)/100)
		}
		setInt(&r.TemperatureC, t.named("hotspot"), 100, 30000)
	}},
	{"showboardpowerinfo", lacks(gpu.Milliwatt), func(t table, r *gpu.Reading) {
		var sum float64
		for i := range t {
			sum += t.number(i, 2)
		}
		if len(t) > 0 {
			r.Measures.Set(gpu.Milliwatt, sum)
			setInt(&r.PowerW, sum, 1000, 1e8)
		}
	}},
	{
		"capability", func(r gpu.Reading) bool { return r.PowerLimitW == nil },
		func(t table, r *gpu.Reading) { setInt(&r.PowerLimitW, t.number(0, 0), 1000, 1e8) },
	},
	{"showuse", lacks(gpu.EncoderPercent, gpu.DecoderPercent), func(t table, r *gpu.Reading) {
		r.Measures.Set(gpu.EncoderPercent, t.number(0, 0))
		r.Measures.Set(gpu.DecoderPercent, t.mean(1))
	}},
	{"showclocks", lacks(gpu.ClockMHz, gpu.MemoryClockMHz, gpu.EncoderMHz, gpu.DecoderMHz), func(t table, r *gpu.Reading) {
		for _, c := range []struct {
			of    gpu.Measure
			label string
		}{
			{gpu.ClockMHz, "xcore"},
			{gpu.MemoryClockMHz, "mc0"},
			{gpu.MemoryClockMHz, "mc"},
			{gpu.EncoderMHz, "vpue"},
			{gpu.DecoderMHz, "vpud"},
		} {
			r.Measures.Set(c.of, t.named(c.label))
		}
	}},
	{
		"pmdecsrc", lacks(gpu.ThrottleReasons),
		func(t table, r *gpu.Reading) { r.Measures.Set(gpu.ThrottleReasons, t.number(0, 0)) },
	},
	{
		"pcicurrentlinkspeed", lacks(gpu.PCIeGTps),
		func(t table, r *gpu.Reading) { r.Measures.Set(gpu.PCIeGTps, t.number(0, 0)) },
	},
	{
		"pcicurrentlinkwidth", lacks(gpu.PCIeLanes),
		func(t table, r *gpu.Reading) { r.Measures.Set(gpu.PCIeLanes, t.number(0, 0)) },
	},
	{"showupstreambandwidth", lacks(gpu.PCIeRxMBps, gpu.PCIeTxMBps), func(t table, r *gpu.Reading) {
		r.Measures.Set(gpu.PCIeRxMBps, t.number(0, 0))
		r.Measures.Set(gpu.PCIeTxMBps, t.number(2, 0))
	}},
	{"showtopology", lacks(gpu.WiringID, gpu.SocketID), func(t table, r *gpu.Reading) {
		r.Measures.Set(gpu.WiringID, t.number(0, 0))
		r.Measures.Set(gpu.SocketID, t.number(1, 0))
	}},
	{"showmetalkspeed", lacksPort(gpu.PortGTps), ports(gpu.PortGTps)},
	{"showmetalkwidth", lacksPort(gpu.PortLanes), ports(gpu.PortLanes)},
	{"showmetalkibandwidth", lacksPort(gpu.PortRxMBps), pairs(gpu.PortRxMBps, "", table.decimal)},
	{"showmetalktbandwidth", lacksPort(gpu.PortTxMBps), pairs(gpu.PortTxMBps, "", table.decimal)},
	{"metalki_traffic_stat", lacksPort(gpu.PortRxBytes), pairs(gpu.PortRxBytes, "", table.hex)},
	{"metalkt_traffic_stat", lacksPort(gpu.PortTxBytes), pairs(gpu.PortTxBytes, "", table.hex)},
	{"showmetalkaer", lacksPort(gpu.PortCorrected), pairs(gpu.PortCorrected, gpu.PortUncorrected, table.decimal)},
	{"ras_show_mem_ecc_info", func(r gpu.Reading) bool { return r.ECC == nil }, parseECC},
}

func lacks(measures ...gpu.Measure) func(gpu.Reading) bool {
	return func(r gpu.Reading) bool {
		return slices.ContainsFunc(measures, func(m gpu.Measure) bool { _, there := r.Measures[m]; return !there })
	}
}

func lacksPort(m gpu.Measure) func(gpu.Reading) bool {
	return func(r gpu.Reading) bool {
		return !slices.ContainsFunc(r.Ports, func(p gpu.Port) bool { _, there := p.Measures[m]; return there })
	}
}

// linkPorts is how many ports of MetaXLink the driver's files have.
const linkPorts = 7

// ports parses a file with a line for each port, such as "port1: 16".
func ports(of gpu.Measure) func(table, *gpu.Reading) {
	return func(t table, r *gpu.Reading) {
		for k := 1; k <= linkPorts; k++ {
			setPort(r, k, of, t.named("port"+strconv.Itoa(k)))
		}
	}
}

// pairs parses a file with two lines for each port, of which the second is not used where it
// has no name.
func pairs(first, second gpu.Measure, value func(t table, line int) float64) func(table, *gpu.Reading) {
	return func(t table, r *gpu.Reading) {
		for k := range min(linkPorts, len(t)/2) {
			setPort(r, k+1, first, value(t, 2*k))
			if second != "" {
				setPort(r, k+1, second, value(t, 2*k+1))
			}
		}
	}
}

func setPort(r *gpu.Reading, number int, of gpu.Measure, value float64) {
	if !math.IsNaN(value) {
		r.PortOf(number).Measures.Set(of, value)
	}
}

func parseECC(t table, r *gpu.Reading) {
	var ecc gpu.ECC
	for i, count := range []*uint32{
		&ecc.SRAMCorrected, &ecc.SRAMUncorrected, &ecc.DRAMCorrected, &ecc.DRAMUncorrected,
		&ecc.RetiredPages,
	} {
		value := t.hex(i)
		if !(value <= math.MaxUint32) {
			return
		}
		*count = uint32(value)
	}
	r.ECC = &ecc
}

// setInt sets a value in a unit that is so many times as large, rounded, unless there is one
// or it is not between 0 and most.
func setInt(to **int, value float64, unit, most float64) {
	if *to == nil && value >= 0 && value <= most {
		rounded := int(math.Round(value / unit))
		*to = &rounded
	}
}

// table are the lines of an attribute: the label before the first colon, empty without a
// colon, and the words after it.
type table []struct {
	label string
	words []string
}

func parseTable(text string) (t table) {
	for line := range strings.Lines(text) {
		label, rest, ok := strings.Cut(line, ":")
		if !ok {
			label, rest = "", line
		}
		if words := strings.Fields(rest); len(words) > 0 {
			t = append(t, struct {
				label string
				words []string
			}{strings.TrimSpace(label), words})
		}
	}
	return t
}

// number returns a word as a decimal number, and NaN for any other word. In a line without a
// colon, words that are not numbers, such as labels, do not count.
func (t table) number(line, word int) float64 {
	if line >= len(t) {
		return math.NaN()
	}
	words := t[line].words
	if t[line].label == "" && len(words) > 1 {
		if _, err := strconv.ParseFloat(words[0], 64); err != nil {
			words = words[1:]
		}
	}
	if word >= len(words) {
		return math.NaN()
	}
	value, err := strconv.ParseFloat(words[word], 64)
	if err != nil {
		return math.NaN()
	}
	return value
}

func (t table) decimal(line int) float64 { return t.number(line, 0) }

// hex is the first word of a line as a hexadecimal number.
func (t table) hex(line int) float64 {
	if line >= len(t) {
		return math.NaN()
	}
	value, err := strconv.ParseUint(strings.TrimPrefix(t[line].words[0], "0x"), 16, 64)
	if err != nil {
		return math.NaN()
	}
	return float64(value)
}

// named is the first number of the line with a label.
func (t table) named(label string) float64 {
	for i, line := range t {
		if line.label == label {
			return t.number(i, 0)
		}
	}
	return math.NaN()
}

// mean is the mean of all words of a line.
func (t table) mean(line int) float64 {
	if line >= len(t) {
		return math.NaN()
	}
	var sum float64
	for i := range t[line].words {
		sum += t.number(line, i)
	}
	return sum / float64(len(t[line].words))
}
