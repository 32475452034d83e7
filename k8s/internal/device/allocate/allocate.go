// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/request"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Form is how a container is given its devices.
type Form struct {
	// CDI gives names of CDI devices; otherwise device nodes and mounts are given one by one.
	CDI bool
	// EngineRoot is the directory below which the engine finds the host's files; empty or "/"
	// is the host itself. It does not matter with CDI, whose specs have it.
	EngineRoot string
	// MACA gives the container the host's MXMACA, which without CDI is Software.
	MACA     bool
	Software edits.Software
	// Fallback leaves an MXMACA that the image has as it is, for which it takes CDI.
	Fallback bool
}

// Answer is what a container gets. It has CDI names, or else devices and mounts, never both.
type Answer struct {
	CDI     []string // qualified names, in the order of the GPUs
	Devices []edits.Device
	Mounts  []edits.Mount
	Env     map[string]string
}

// Allocate returns what a container gets for the devices ids, in any order. An error names the
// GPU that is not known, not healthy or without device nodes.
func (s *Snapshot) Allocate(ids []string, f Form) (Answer, error) {
	devices, err := s.Check(ids)
	if err != nil {
		return Answer{}, err
	}
	var gpus []gpu.GPU
	var parts []gpu.Slice
	for _, d := range devices {
		g := s.node.GPUs[d.GPU]
		if d.VF == nil {
			if !slices.ContainsFunc(gpus, func(h gpu.GPU) bool { return h.Index == g.Index }) { // shares
				gpus = append(gpus, g)
			}
			continue
		}
		at := slices.IndexFunc(g.Slices, func(p gpu.Slice) bool { return p.Kind == gpu.SliceVF && p.Index == *d.VF })
		parts = append(parts, g.Slices[at])
	}
	answer, err := f.give(s.node, gpus, parts)
	if err == nil && slices.ContainsFunc(ids, func(id string) bool { return inventory.Serves(protocol.ModeShared, id) }) {
		name, value, _ := strings.Cut(edits.MPS, "=")
		answer.Env[name] = value // the pod's own variable comes after it
	}
	return answer, err
}

// give returns GPUs and slices of a node in the form.
func (f Form) give(n gpu.Node, gpus []gpu.GPU, parts []gpu.Slice) (Answer, error) {
	all := edits.Container(n, gpus, parts)
	if f.MACA {
		name := cdi.SoftwareDevice
		if f.Fallback && n.MACA != nil {
			name = cdi.FallbackDevice(n.MACA.Version)
		}
		software := edits.Edits{Names: []string{cdi.Qualified(request.SoftwareKind, name)}}
		if !f.CDI {
			var err error
			if software, err = edits.MACA(f.Software, cdi.SoftwareDevice); err != nil {
				return Answer{}, fmt.Errorf("give the host's MXMACA: %w", err)
			}
		}
		all = edits.Join(all, software)
	}
	return f.render(all), nil
}

// render returns the edits in the form.
func (f Form) render(all edits.Edits) Answer {
	a := Answer{Env: map[string]string{}}
	set := func(list []string) {
		for _, v := range list {
			name, value, _ := strings.Cut(v, "=")
			a.Env[name] = value
		}
	}
	set(all.GPUEnv)
	if f.CDI {
		a.CDI = all.Names
		return a
	}
	all = all.ByValue().Below(f.EngineRoot)
	a.Devices, a.Mounts = all.Devices, all.Mounts
	set(all.Env)
	if len(all.Libraries) > 0 {
		a.Env["LD_LIBRARY_PATH"] = strings.Join(all.Libraries, ":")
	}
	return a
}

// Check returns the devices of ids in the order of the devices. An error names the first that
// must not be given. A device whose health is unknown may be: nobody says that it is broken.
func (s *Snapshot) Check(ids []string) ([]inventory.Device, error) {
	devices, unknown := s.known(ids)
	if len(unknown) > 0 {
		return nil, fmt.Errorf("%.128q is not a GPU of this node", unknown[0])
	}
	for _, d := range devices {
		if !d.Healthy && d.Code != "" {
			return nil, fmt.Errorf("%s is unhealthy: %s (%s)", label(d), d.Reason, d.Code)
		}
		if d.GPU < 0 || d.GPU >= len(s.node.GPUs) {
			return nil, fmt.Errorf("%s is not on this node any more", label(d))
		}
		if len(s.nodesOf(d)) == 0 {
			return nil, fmt.Errorf("%s has no device nodes", label(d))
		}
	}
	return devices, nil
}

// DeviceNodes returns the device nodes, on the host, of checked devices and those that all
// GPUs share.
func (s *Snapshot) DeviceNodes(devices []inventory.Device) (paths []string) {
	if s.node.Shared != nil {
		paths = append(paths, s.node.Shared.Nodes...)
	}
	for _, d := range devices {
		paths = append(paths, s.nodesOf(d)...)
	}
	return paths
}

// nodesOf returns the device nodes of a device alone.
func (s *Snapshot) nodesOf(d inventory.Device) []string {
	g := s.node.GPUs[d.GPU]
	if d.VF == nil {
		return g.Nodes
	}
	for _, p := range g.Slices {
		if p.Kind == gpu.SliceVF && p.Index == *d.VF {
			return p.Nodes
		}
	}
	return nil
}

// label names a device in a message: "GPU 3 (GPU-3fd4…, 0000:0e:00.0)".
func label(d inventory.Device) string {
	if d.GPU < 0 {
		return fmt.Sprintf("GPU %s", d.ID)
	}
	return fmt.Sprintf("GPU %d (%s, %s)", d.GPU, d.ID, d.BDF)
}
