// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// MACA says which containers are given the host's MXMACA.
type MACA string

// The settings for MXMACA.
const (
	MACAOff    MACA = "off"
	MACAAuto   MACA = "auto" // those whose pod requests it
	MACAAlways MACA = "always"
	// MACAFallback is those whose image has none, by CDI, and those whose pod requests it.
	MACAFallback MACA = "fallback"
)

// ParseMACA reads the name of a setting.
func ParseMACA(s string) (MACA, error) {
	switch v := MACA(s); v {
	case MACAOff, MACAAuto, MACAAlways, MACAFallback:
		return v, nil
	}
	return "",
		fmt.Errorf("%q is not a setting for MXMACA; want %s, %s, %s or %s", s, MACAOff, MACAAuto, MACAAlways, MACAFallback)
}

// Settings are what an administrator decides about answers to the kubelet.
type Settings struct {
	Policy key.Policy
	// PodPolicies lets pods request a policy and GPUs.
	PodPolicies bool
	MACA        MACA
	EngineRoot  string // as in allocate.Form
	// Kunlunxin tells containers and pods the indices of their GPUs, as Kunlunxin's plugin
	// does.
	Kunlunxin bool
}

// form returns how a container gets its devices, by names of CDI devices if cdi is true.
// requested is what its pod says about MXMACA, if it is known and says something.
func (s Settings) form(v *nodeView, cdi bool, requested *bool, log *slog.Logger) allocate.Form {
	f := allocate.Form{CDI: cdi, EngineRoot: s.EngineRoot, Fallback: s.MACA == MACAFallback && requested == nil}
	if s.MACA == MACAOff || !*cmp.Or(requested, new(s.MACA == MACAAlways || f.Fallback)) {
		return f
	}
	switch {
	case f.Fallback && !cdi: // whether the image has one, only the hook of a CDI device sees
	case cdi:
		f.MACA = v.snapshot.Node().MACA != nil
	case v.software != nil:
		f.MACA, f.Software = true, *v.software
	}
	if !f.MACA {
		log.Warn("a container starts without MXMACA: this node has none, or cannot give it by CDI")
	}
	return f
}

// Allocator is the Backend of MetaX GPUs, whole ones and slices.
type Allocator struct {
	State   *NodeState
	Root    *hostfs.Root // of the host, to look at device nodes; nil if they are not to be seen
	Metrics *Metrics
	// Leases are those of this host. On a mixed node, they are also written.
	Leases *Leases
	// Slices are for ModeSGPU; nil if slices cannot be given.
	Slices *Slices
}

func isSlice(id string) bool { return inventory.Serves(protocol.ModeSGPU, id) }

func (a *Allocator) whole() wholeGPUs { return wholeGPUs{state: a.State, metrics: a.Metrics} }

// Preferred implements Backend.
func (a *Allocator) Preferred(available, required []string, n int) []string {
	s := a.State.view().snapshot
	if s == nil || slices.ContainsFunc(available, isSlice) {
		return nil // which slices count, a scheduler has chosen
	}
	return a.whole().prefer(s, available, required, n)
}

// Allocate implements Backend.
func (a *Allocator) Allocate(ids []string) (*v1beta1.ContainerAllocateResponse, error) {
	if a.State.Mixed {
		turn := a.Leases.takeTurn(a.State)
		defer turn.end()
		if err := turn.lease(ids); err != nil {
			a.Metrics.allocated(err)
			return nil, err
		}
	}
	answer, err := a.whole().give(ids)
	if !errors.Is(err, errSlices) {
		return answer, err
	}
	if a.Slices == nil {
		return nil, errors.New("slices cannot be given without an API server")
	}
	return a.Slices.Allocate(ids)
}

// SyncLeases makes the leases of pods those of all that pods use, and takes those of others.
func (a *Allocator) SyncLeases(ctx context.Context) error {
	turn := a.Leases.takeTurn(a.State)
	defer turn.end()
	return turn.sync(ctx)
}

// PreStart implements Backend: each GPU must not be known as unhealthy, and its device nodes
// must be there.
func (a *Allocator) PreStart(ids []string) error {
	v := a.State.view()
	if v.snapshot == nil {
		return errNoNode
	}
	check := v.snapshot.Check
	if slices.ContainsFunc(ids, isSlice) {
		check = v.checkSlices
	}
	devices, err := check(ids)
	if err != nil || a.Root == nil {
		return err
	}
	for _, d := range devices {
		for _, path := range v.snapshot.DeviceNodes([]inventory.Device{d}) {
			if _, err := a.Root.Device(path); err != nil {
				return fmt.Errorf("GPU %d (%s) cannot be used: %w", d.GPU, d.ID, err)
			}
		}
	}
	return nil
}

// response is an answer in the API's terms.
func response(a allocate.Answer) *v1beta1.ContainerAllocateResponse {
	r := &v1beta1.ContainerAllocateResponse{Envs: a.Env}
	for _, name := range a.CDI {
		r.CdiDevices = append(r.CdiDevices, &v1beta1.CDIDevice{Name: name})
	}
	for _, d := range a.Devices {
		r.Devices = append(r.Devices,
			&v1beta1.DeviceSpec{HostPath: d.HostPath, ContainerPath: d.Path, Permissions: d.Permissions})
	}
	for _, m := range a.Mounts {
		r.Mounts = append(r.Mounts, &v1beta1.Mount{HostPath: m.HostPath, ContainerPath: m.Path, ReadOnly: m.ReadOnly()})
	}
	return r
}
