// SPDX-License-Identifier: Apache-2.0

package label

import "github.com/metax-ctk/container-toolkit/k8s/internal/protocol"

// The labels that the vendor's programs do not set.
const (
	GPUCount    = protocol.LabelPrefix + "gpu.count"
	LinkDomains = protocol.LabelPrefix + "gpu.link.domains" // number of MetaXLink domains
	LinkSize    = protocol.LabelPrefix + "gpu.link.size"    // GPUs in the largest domain
	MACAVersion = protocol.LabelPrefix + "maca.version"
)
