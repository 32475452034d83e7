// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

// TestTopologyManager admits pods with the kubelet's own topology manager, on a node with four
// GPUs on each of two NUMA nodes. What it lets pass, the picker chooses from.
func TestTopologyManager(t *testing.T) {
	single, restricted, best := topologymanager.PolicySingleNumaNode, topologymanager.PolicyRestricted, topologymanager.PolicyBestEffort
	for _, row := range []struct {
		name, policy string
		counts       []int // of pods that come one after the other
		want         []string
	}{
		{"one NUMA node", single, []int{2, 4, 2}, []string{"2 of 0", "4 of 1", "2 of 0"}},
		{"more than a NUMA node has", single, []int{5}, []string{"refused"}},
		{"no NUMA node has enough", single, []int{3, 3, 2}, []string{"3 of 0", "3 of 1", "refused"}},
		{"more than a NUMA node has, where that is allowed", restricted, []int{5}, []string{"5 of 0+1"}},
		{"no NUMA node has enough, though one could", restricted, []int{3, 3, 2}, []string{"3 of 0", "3 of 1", "refused"}},
		{"no NUMA node has enough, which does not matter", best, []int{3, 3, 2}, []string{"3 of 0", "3 of 1", "2 of 0+1"}},
		{"all GPUs", restricted, []int{8}, []string{"8 of 0+1"}},
	} {
		t.Run(row.policy+"/"+row.name, func(t *testing.T) {
			k := startKubelet(t, row.policy)
			node, root := simulated(t, "c500-8")
			for i := range node.GPUs {
				node.GPUs[i].NUMA = i / 4
			}
			startPlugin(t, k, node, root)
			k.await(8, 8)
			for i, count := range row.counts {
				pod := newPod(fmt.Sprint("pod-", i), fmt.Sprint(count))
				got := "refused"
				if err := k.admit(pod); err == nil {
					ids := k.devices(pod, "c0")
					var on []string
					for at, g := range node.GPUs {
						if numa := fmt.Sprint(at / 4); slices.Contains(ids, string(g.UUID)) && !slices.Contains(on, numa) {
							on = append(on, numa)
						}
					}
					got = fmt.Sprintf("%d of %s", len(ids), strings.Join(on, "+"))
				} else if !strings.Contains(err.Error(), topologymanager.ErrorTopologyAffinity) {
					t.Error(err)
				}
				if got != row.want[i] {
					t.Errorf("pod %d has %s, want %s", i, got, row.want[i])
				}
			}
		})
	}
}

// twoNUMANodes are those of a simulated node.
var twoNUMANodes = []cadvisorapi.Node{{Id: 0}, {Id: 1}}
