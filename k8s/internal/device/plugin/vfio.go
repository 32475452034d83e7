// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// VFIO is the Backend of GPUs that are bound to vfio-pci: it gives a container, such as that
// of a virtual machine of KubeVirt, the device nodes of their IOMMU groups.
type VFIO struct {
	Root       *hostfs.Root // of the host
	EngineRoot string       // as in allocate.Form

	devices atomic.Pointer[[]inventory.Device]
}

// The Codes of GPUs that no virtual machine can use.
const (
	NoGroup     = "no-vfio-group"
	SharedGroup = "shared-vfio-group"
)

// Set takes the devices, and returns them with their health. GPUs that share an IOMMU group
// are unhealthy: who opens the group first controls all of them, also those of another pod.
func (v *VFIO) Set(devices []inventory.Device) []inventory.Device {
	devices = slices.Clone(devices)
	first := map[string]int{} // GPU of each group
	share := func(d *inventory.Device, group string, with gpu.BDF) {
		d.Healthy, d.Code = false, SharedGroup
		d.Reason = fmt.Sprintf(
			"it shares IOMMU group %s with %s, and one virtual machine could control both: switch on ACS in the firmware", path.Base(group), with)
	}
	for i := range devices {
		d := &devices[i]
		group, err := v.group(*d)
		if err != nil {
			d.Healthy, d.Code, d.Reason = false, NoGroup, err.Error()
			continue
		}
		if at, ok := first[group]; ok {
			share(d, group, devices[at].BDF)
			share(&devices[at], group, d.BDF)
		} else {
			first[group] = i
		}
	}
	v.devices.Store(&devices)
	return devices
}

var groupNumber = regexp.MustCompile(`^[0-9]{1,9}$`)

// group returns the device node of the IOMMU group of a GPU.
func (v *VFIO) group(d inventory.Device) (string, error) {
	at, err := v.Root.Resolve("/sys/bus/pci/devices/" + d.BDF.String() + "/iommu_group")
	if err != nil || !groupNumber.MatchString(path.Base(at)) {
		return "",
			errors.New("it has no IOMMU group: the IOMMU of this host is off (kernel option intel_iommu=on or amd_iommu=on)")
	}
	node := "/dev/vfio/" + path.Base(at)
	if _, err := v.Root.Device(node); err != nil {
		return "", fmt.Errorf("look at its IOMMU group: %w", err)
	}
	return node, nil
}

// Preferred implements Backend: virtual machines do not use MetaXLink, and the kubelet chooses
// by NUMA node.
func (v *VFIO) Preferred([]string, []string, int) []string { return nil }

// Allocate implements Backend.
func (v *VFIO) Allocate(ids []string) (*v1beta1.ContainerAllocateResponse, error) {
	nodes, err := v.nodes(ids)
	if err != nil {
		return nil, err
	}
	answer := &v1beta1.ContainerAllocateResponse{Envs: map[string]string{protocol.VFIOVariable: strings.Join(
		slices.Sorted(slices.Values(ids)), ",")}}
	for _, node := range nodes {
		answer.Devices = append(answer.Devices,
			&v1beta1.DeviceSpec{HostPath: path.Join("/", v.EngineRoot, node), ContainerPath: node, Permissions: "rw"})
	}
	return answer, nil
}

// PreStart implements Backend.
func (v *VFIO) PreStart(ids []string) error {
	_, err := v.nodes(ids)
	return err
}

// nodes returns the device nodes for GPUs, each once.
func (v *VFIO) nodes(ids []string) ([]string, error) {
	known := v.devices.Load()
	if known == nil {
		return nil, errNoNode
	}
	nodes := []string{"/dev/vfio/vfio"}
	for _, id := range slices.Sorted(slices.Values(ids)) {
		at := slices.IndexFunc(*known, func(d inventory.Device) bool { return d.ID == id })
		if at < 0 {
			return nil, fmt.Errorf("%.128q is not a GPU of this node that is bound to vfio-pci", id)
		}
		node, err := v.group((*known)[at])
		if (*known)[at].Code == SharedGroup {
			err = errors.New((*known)[at].Reason)
		}
		if err != nil {
			return nil, fmt.Errorf("GPU %s cannot be used: %w", id, err)
		}
		nodes = append(nodes, node)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes), nil
}
