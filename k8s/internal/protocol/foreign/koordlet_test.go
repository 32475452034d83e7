// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

func TestKoordletLinks(t *testing.T) {
	for name, c := range map[string]struct {
		node string
		size map[int]int // groups by size
		kind string
		of   string // the links of GPU 5, without its pairs
	}{
		"two quads":             {"c500-8", map[int]int{2: 12, 4: 2}, "MetaXLink", "4,6,7"},
		"a mesh of eight":       {"c550-8", map[int]int{2: 28, 4: 70, 8: 1}, "MetaXLink", ""},
		"switches only":         {"c500-8-pcie", map[int]int{2: 12, 4: 2}, "PCIe", "4,6,7"},
		"quads on a large node": {"sim:8x2x4", map[int]int{2: 96, 4: 16}, "MetaXLink", "4,6,7"},
		"meshes of eight":       {"superpod-64", map[int]int{2: 224, 4: 560, 8: 8}, "MetaXLink", ""},
		"a mesh of 31":          {"sim:1x1x31", map[int]int{2: 465}, "MetaXLink", ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := simtest.Node(t, c.node)
			graph, _ := topology.New(n)
			var minors []int
			for i := range n.GPUs {
				minors = append(minors, 10+i)
			}
			members := map[int]int{}
			for i, list := range KoordletLinks(graph, minors) {
				for _, l := range list {
					peers := strings.Split(l.PeerMinor, ",")
					members[len(peers)+1]++
					if l.Type != c.kind {
						t.Errorf("GPU %d has a link of type %s", i, l.Type)
					}
					if len(peers) == 3 && i == 5 && c.of != "" && l.PeerMinor != shift(c.of) {
						t.Errorf("GPU 5 is with %s", l.PeerMinor)
					}
				}
			}
			got := map[int]int{}
			for size, count := range members {
				got[size] = count / size
			}
			if diff := cmp.Diff(c.size, got); diff != "" {
				t.Errorf("groups by size (-want +got):\n%s", diff)
			}
		})
	}
}

// shift adds 10 to each number.
func shift(list string) string {
	parts := strings.Split(list, ",")
	for i, p := range parts {
		n, _ := strconv.Atoi(p)
		parts[i] = strconv.Itoa(n + 10)
	}
	return strings.Join(parts, ",")
}

func TestNewKoordletGPU(t *testing.T) {
	for want, g := range map[string]gpu.GPU{
		`{"vendor":"metax","model":"C500","uuid":"GPU-1","minor":"7",` +
			`"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":"65536Mi"},` +
			`"topology":{"nodeID":"3","pcieID":"pci0000:3a","busID":"0000:38:00.0"},"status":{"healthy":true}}`: {
			UUID: "GPU-1", Product: "C500", MemoryMiB: 65536, NUMA: 3, PCIeRoot: "pci0000:3a", BDF: gpu.BDF{Bus: 0x38},
		},
		`{"vendor":"metax","model":"","uuid":"","minor":"7","resources":{"koordinator.sh/gpu-core":"100"},` +
			`"topology":{},"status":{"healthy":true}}`: {Product: "not a label", NUMA: gpu.NUMAUnknown},
	} {
		if got, err := json.Marshal(NewKoordletGPU(g, 7)); err != nil || string(got) != want {
			t.Errorf("%v\nwant %s\ngot  %s", err, want, got)
		}
	}
}

// TestKoordletReason also compares with the pattern of a condition's reason in the API.
func TestKoordletReason(t *testing.T) {
	pattern := regexp.MustCompile(`^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?)?$`)
	for code, want := range map[string]string{
		"": "", "vendor": "Vendor", "vendor-12": "Vendor12", "no-device-nodes": "NoDeviceNodes", "é-x": "X", "12-a": "A", "--": "",
	} {
		if got := KoordletReason(code); got != want || !pattern.MatchString(got) {
			t.Errorf("%q is %q, want %q", code, got, want)
		}
	}
}
