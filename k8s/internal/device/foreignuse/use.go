// SPDX-License-Identifier: Apache-2.0

package foreignuse

import (
	"cmp"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
)

// Use is a GPU that pods cannot get.
type Use struct {
	GPU gpu.BDF
	// Why is such as "in use by lease 3f2a91bc0d1e of alice (docker)".
	Why string
}

// Of returns the GPUs of leases that are not those of pods, ascending, each once.
func Of(leases []usage.Lease) []Use {
	var uses []Use
	for _, l := range leases {
		if l.Engine == usage.Kubernetes {
			continue
		}
		why := "in use by lease " + l.ID
		if l.User != nil {
			why += " of " + l.User.String()
		}
		if l.Engine != "" {
			why += " (" + l.Engine + ")"
		}
		for _, g := range l.GPUs {
			uses = append(uses, Use{g, why})
		}
	}
	return sorted(uses)
}

// All returns all GPUs of a node whose leases are not known, with the reason: what cannot be
// seen is not free.
func All(node gpu.Node, why string) []Use {
	var uses []Use
	for _, g := range node.GPUs {
		uses = append(uses, Use{g.BDF, why})
	}
	return sorted(uses)
}

func sorted(uses []Use) []Use {
	slices.SortStableFunc(uses, func(a, b Use) int { return a.GPU.Compare(b.GPU) })
	return slices.CompactFunc(uses, func(a, b Use) bool { return a.GPU == b.GPU })
}

// GPUs returns the GPUs of uses.
func GPUs(uses []Use) []gpu.BDF {
	gpus := make([]gpu.BDF, len(uses))
	for i, u := range uses {
		gpus[i] = u.GPU
	}
	return gpus
}

// Leased is the code of a device that pods cannot get.
const Leased = "leased"

// Withdraw returns the devices of a node with those of the uses unhealthy, so that Allocatable
// falls. A device that a pod has already, as inUse says, stays: somebody else shares it, and
// it is counted.
func Withdraw(node gpu.Node, devices []inventory.Device, uses []Use, inUse []string) []inventory.Device {
	devices = slices.Clone(devices)
	for i, d := range devices {
		if !d.Healthy || d.GPU < 0 || d.GPU >= len(node.GPUs) || slices.Contains(inUse, d.ID) {
			continue
		}
		at := slices.IndexFunc(uses, func(u Use) bool { return u.GPU == node.GPUs[d.GPU].BDF })
		if at >= 0 {
			devices[i].Healthy, devices[i].Code, devices[i].Reason = false, Leased, uses[at].Why
		}
	}
	return devices
}

// Change is GPUs that were withdrawn from pods, or given back to them.
type Change struct {
	Withdrawn bool
	Message   string
}

// Changes returns what changed from one list of uses to the next: first what was given back,
// then what was withdrawn, one for each reason.
func Changes(node gpu.Node, before, after []Use) (changes []Change) {
	var back []int
	by := map[string][]int{}
	for _, g := range node.GPUs {
		was := slices.IndexFunc(before, func(u Use) bool { return u.GPU == g.BDF })
		is := slices.IndexFunc(after, func(u Use) bool { return u.GPU == g.BDF })
		switch {
		case is >= 0 && (was < 0 || before[was].Why != after[is].Why):
			by[after[is].Why] = append(by[after[is].Why], g.Index)
		case is < 0 && was >= 0:
			back = append(back, g.Index)
		}
	}
	if len(back) > 0 {
		changes = append(changes, Change{false, named(back) + " can be given to pods again"})
	}
	var reasons []string
	for reason := range by {
		reasons = append(reasons, reason)
	}
	slices.SortFunc(reasons, func(a, b string) int { return cmp.Or(slices.Compare(by[a], by[b]), strings.Compare(a, b)) })
	for _, reason := range reasons {
		changes = append(changes, Change{true, named(by[reason]) + " cannot be given to pods: " + reason})
	}
	return changes
}

func named(indices []int) string {
	if len(indices) == 1 {
		return "GPU " + wording.Ranges(indices)
	}
	return "GPUs " + wording.Ranges(indices)
}
