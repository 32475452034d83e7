// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
)

// HideAfter is how long a device is listed as unhealthy before a list without unhealthy
// devices leaves it out. The kubelet (1.34) crashes if a device leaves the list while it
// allocates it.
const HideAfter = 10 * time.Second

// List makes the lists for the kubelet. It is for one goroutine.
type List struct {
	// HideUnhealthy leaves unhealthy devices out, so that the node's capacity falls with them.
	HideUnhealthy bool

	since map[string]time.Time // when a device was first seen unhealthy
	last  []*v1beta1.Device
}

// Next returns the list of devices now. Devices that are gone, as after a change of the mode,
// are unhealthy for HideAfter.
func (l *List) Next(devices []inventory.Device, now time.Time) (list []*v1beta1.Device) {
	since := map[string]time.Time{}
	for _, d := range devices {
		if !d.Healthy {
			since[d.ID] = cmp.Or(l.since[d.ID], now)
			if l.HideUnhealthy && now.Sub(since[d.ID]) >= HideAfter {
				continue
			}
		}
		list = append(list, device(d))
	}
	for _, d := range l.last {
		first := cmp.Or(l.since[d.ID], now)
		isThere := slices.ContainsFunc(devices, func(now inventory.Device) bool { return now.ID == d.ID })
		if !isThere && now.Sub(first) < HideAfter {
			since[d.ID] = first
			list = append(list, &v1beta1.Device{ID: d.ID, Health: v1beta1.Unhealthy, Topology: d.Topology})
		}
	}
	l.since, l.last = since, list
	return list
}

// device is a device in the API's terms. The NUMA node of a device without one is left out:
// the kubelet would take -1 for a node.
func device(d inventory.Device) *v1beta1.Device {
	out := &v1beta1.Device{ID: d.ID, Health: v1beta1.Unhealthy}
	if d.Healthy {
		out.Health = v1beta1.Healthy
	}
	if d.NUMA != nil && *d.NUMA >= 0 {
		out.Topology = &v1beta1.TopologyInfo{Nodes: []*v1beta1.NUMANode{{ID: int64(*d.NUMA)}}}
	}
	return out
}
