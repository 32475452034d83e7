// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// KoordletDir is where koordlet, the agent of Koordinator, reads what devices its node has. It
// reads each file there, but no directory, as a list of KoordletGPU, and makes the Device
// object of the node from them.
const KoordletDir = "/var/run/koordlet/xpu-device-infos"

// KoordletFile is the file of metax-gpu-device there. KoordletTemporary is a directory beside
// it, where the file is written before it is renamed: koordlet would read an unfinished file,
// but reads no directory.
const (
	KoordletFile      = protocol.Device + ".json"
	KoordletTemporary = "tmp-" + protocol.Device
)

// KoordletGPU is a GPU for koordlet, which wants numbers as strings.
type KoordletGPU struct {
	Vendor    string            `json:"vendor"`
	Model     string            `json:"model"`
	UUID      gpu.UUID          `json:"uuid"`
	Minor     string            `json:"minor"`
	Resources map[string]string `json:"resources"`
	Topology  KoordletTopology  `json:"topology"`
	Status    KoordletStatus    `json:"status"`
}

// KoordletTopology is where a GPU is. Koordinator reads a missing NodeID as -1.
type KoordletTopology struct {
	NodeID   string         `json:"nodeID,omitempty"`
	PCIEID   string         `json:"pcieID,omitempty"`
	BusID    string         `json:"busID,omitempty"`
	P2PLinks []KoordletLink `json:"p2pLinks,omitempty"`
}

// KoordletLink is a group of GPUs that jobs should get together: the GPU that has it, and
// those whose minors are in PeerMinor, with commas.
type KoordletLink struct {
	PeerMinor string `json:"peerMinor"`
	Type      string `json:"type"`
}

// KoordletStatus is the health of a GPU. ErrCode becomes the reason of a condition.
type KoordletStatus struct {
	Healthy    bool   `json:"healthy"`
	ErrCode    string `json:"errCode,omitempty"`
	ErrMessage string `json:"errMessage,omitempty"`
}

// NewKoordletGPU returns a healthy GPU without links. Koordinator labels the node with the
// model of the first GPU; a name that cannot be a label is left empty.
func NewKoordletGPU(g gpu.GPU, minor int) KoordletGPU {
	k := KoordletGPU{
		Vendor: "metax", UUID: g.UUID, Minor: strconv.Itoa(minor),
		Resources: map[string]string{"koordinator.sh/gpu-core": "100"},
		Topology:  KoordletTopology{PCIEID: g.PCIeRoot},
		Status:    KoordletStatus{Healthy: true},
	}
	if len(validation.IsValidLabelValue(g.Product)) == 0 {
		k.Model = g.Product
	}
	if g.MemoryMiB > 0 {
		k.Resources["koordinator.sh/gpu-memory"] = strconv.Itoa(g.MemoryMiB) + "Mi"
	}
	if g.NUMA >= 0 {
		k.Topology.NodeID = strconv.Itoa(g.NUMA)
	}
	if (g.BDF != gpu.BDF{}) {
		k.Topology.BusID = g.BDF.String()
	}
	return k
}

// KoordletReason returns a code of this project, such as "no-device-nodes", as the API server
// takes it for the reason of a condition: "NoDeviceNodes". Of another form, it would refuse
// the Device.
func KoordletReason(code string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(code,
		func(r rune) bool { return r > unicode.MaxASCII || (!unicode.IsLetter(r) && !unicode.IsDigit(r)) }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return strings.TrimLeft(b.String(), "0123456789")
}

// KoordletLinks returns, by GPU, the groups of 2, 4 and 8 GPUs that the picker finds best on a
// node without jobs: those under one MetaXLink domain or, if there are none of that size,
// under one PCIe switch. Where a size is left out because there are more than maxGroups,
// Koordinator goes by NUMA nodes and PCIe. The minors are those of the GPUs of the Graph.
func KoordletLinks(g *topology.Graph, minors []int) map[int][]KoordletLink {
	links := map[int][]KoordletLink{}
	for _, n := range []int{2, 4, 8} {
		class, groups := bestGroups(g, n)
		for _, group := range groups {
			for _, i := range group {
				var peers []string
				for _, j := range group {
					if j != i {
						peers = append(peers, strconv.Itoa(minors[j]))
					}
				}
				links[i] = append(links[i], KoordletLink{PeerMinor: strings.Join(peers, ","), Type: groupType[class]})
			}
		}
	}
	return links
}

// groupType has the types of links by the class of a group.
var groupType = map[topology.Kind]string{topology.MX: "MetaXLink", topology.Switch: "PCIe"}
