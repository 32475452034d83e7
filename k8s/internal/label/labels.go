// SPDX-License-Identifier: Apache-2.0

package label

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// ProductName says which name of a card the label of the product has.
type ProductName string

// The names of a card.
const (
	ProductManual ProductName = "manual" // C500, as in the examples of MetaX's manual
	ProductMXSMI  ProductName = "mx-smi" // MXC500, as mx-smi prints it
)

// Of returns the labels of a node with GPUs, by name, and a line for each label that is left
// out because it cannot be true or has no valid value.
func Of(n gpu.Node, product ProductName) (labels map[string]string, warnings []string) {
	s := &set{labels: map[string]string{}, gpus: n.GPUs}
	s.put(protocol.LabelInstalled, "true")
	s.put(GPUCount, strconv.Itoa(len(n.GPUs)))
	s.putShared(protocol.LabelFamily, func(g gpu.GPU) string { return family(g.Model) })
	s.putShared(protocol.LabelProduct, func(g gpu.GPU) string { return productOf(g, product) })
	s.putShared(protocol.LabelMemory, func(g gpu.GPU) string { return memory(g.MemoryMiB) })
	s.putShared(protocol.LabelSRIOV, func(g gpu.GPU) string { return g.SRIOV })
	s.putShared(protocol.LabelVFNum, vfnum)
	s.putLinks(n)
	s.put(protocol.LabelDriverReady, strconv.FormatBool(discover.NotLoaded(n) == "" && n.HasDevices()))
	if n.Driver != nil {
		s.putVersion(n.Driver.Version)
		s.put(protocol.LabelDriverMode, n.Driver.Mode)
	}
	if n.MACA != nil {
		s.put(MACAVersion, n.MACA.Version)
	}
	return s.labels, s.warnings
}

// set collects labels.
type set struct {
	labels   map[string]string
	gpus     []gpu.GPU
	warnings []string
}

func (s *set) warn(name, format string, a ...any) {
	s.warnings = append(s.warnings, fmt.Sprintf("label %s is left out: ", name)+fmt.Sprintf(format, a...))
}

// put adds a label if its value is known and valid.
func (s *set) put(name, value string) {
	if value == "" {
		return
	}
	if why := validation.IsValidLabelValue(value); len(why) > 0 {
		s.warn(name, "%.80q is not a valid value", value)
		return
	}
	s.labels[name] = value
}

// putShared adds a label whose value is the same for all GPUs for which it is known.
func (s *set) putShared(name string, of func(gpu.GPU) string) {
	var values []string
	for _, g := range s.gpus {
		if v := of(g); v != "" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	switch len(values) {
	case 0: // no label
	case 1:
		s.put(name, values[0])
	default:
		slices.Sort(values)
		s.warn(name, "the GPUs of this node differ (%.80q)", strings.Join(values, ", "))
	}
}

// putLinks adds the number of MetaXLink domains and the number of GPUs in the largest one.
// Neither is known without the vendor's software or a recorded node.
func (s *set) putLinks(n gpu.Node) {
	if discover.LinksUnknown(n) {
		return
	}
	graph, _ := topology.New(n)
	domains, largest := graph.Domains(), 0
	for _, d := range domains {
		largest = max(largest, len(d))
	}
	s.put(LinkDomains, strconv.Itoa(len(domains)))
	s.put(LinkSize, strconv.Itoa(largest))
}

// putVersion adds the parts of a driver's version, such as "3.4.4", as decimal numbers.
func (s *set) putVersion(version string) {
	if version == "" {
		return
	}
	parts := strings.Split(version, ".")
	for i, name := range []string{protocol.LabelDriverMajor, protocol.LabelDriverMinor, protocol.LabelDriverPatch} {
		if i >= len(parts) {
			return
		}
		number, err := strconv.ParseUint(parts[i], 10, 31)
		if err != nil {
			s.warn(name, "the driver's version is %.80q", version)
			return
		}
		s.put(name, strconv.FormatUint(number, 10))
	}
}

// family returns the letters with which a model begins: "MXC" for "MXC500".
func family(model string) string {
	digits := strings.IndexAny(model, "0123456789")
	if !strings.HasPrefix(model, "MX") || digits < 0 {
		return ""
	}
	return model[:digits]
}

func productOf(g gpu.GPU, name ProductName) string {
	if name == ProductMXSMI {
		return strings.TrimSuffix(g.Model, " VF")
	}
	return g.Product
}

// vfnum is the number of virtual functions that a GPU is split into.
func vfnum(g gpu.GPU) string {
	if g.SRIOV == "" {
		return ""
	}
	return strconv.Itoa(len(g.VFs))
}

// memory formats a size as the vendor does, "64GB" for 65536 MiB.
func memory(mib int) string {
	if mib <= 0 {
		return ""
	}
	return strconv.Itoa((mib+512)/1024) + "GB"
}
