package label

import "github.com/metax-ctk/container-toolkit/k8s/internal/protocol"

// The labels that the vendor's programs do not set.
const (
	GPUCount    = protocol.LabelPrefix + "gpu.count"
	LinkDomains = protocol.LabelPrefix + "gpu.link.domains" // number of MetaXLink domains
	LinkSize    = protocol.LabelPrefix + "gpu.link.size"    // GPUs in the largest domain
	MACAVersion = protocol.LabelPrefix + "maca.version"
)

// Names returns all labels that metax-gpu-label may give, in the order of the documentation. A node without
// a GPU has only the first.
func Names() []string {
	return []string{
		protocol.LabelInstalled, GPUCount, protocol.LabelFamily, protocol.LabelProduct, protocol.LabelMemory,
		protocol.LabelSRIOV, protocol.LabelVFNum, LinkDomains, LinkSize,
		protocol.LabelDriverReady, protocol.LabelDriverMajor, protocol.LabelDriverMinor, protocol.LabelDriverPatch,
		protocol.LabelDriverMode, protocol.LabelDriverHost, MACAVersion, protocol.LabelValidated, protocol.LabelReason,
	}
}
