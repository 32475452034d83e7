// SPDX-License-Identifier: Apache-2.0

package edits

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/request"
)

// Common returns the edits that go with any GPU or slice of a node: the device nodes that
// all GPUs share, and the driver's user part, with a name for mx-smi in ProgramDir where
// the image has none.
func Common(node gpu.Node) Edits {
	var e Edits
	if s := node.Shared; s != nil {
		e = nodes(s.Nodes, s.GIDs, s.NodeGIDs)
	}
	if d := node.Driver; d != nil && d.Path != "" {
		e.Mounts = []Mount{readOnly(d.Path)}
		e.Programs = []string{path.Join(d.Path, "bin")}
		e.Links = []Link{programLink(path.Join(d.Path, "bin", smi))}
	}
	return e
}

// GPU returns the edits of a whole GPU, without Common.
func GPU(g gpu.GPU) Edits {
	e := nodes(g.Nodes, g.GIDs, g.NodeGIDs)
	e.Names = []string{request.CDIKind + "=" + g.Name()}
	return e
}

// Slice returns the edits of a slice of a GPU, without Common.
func Slice(s gpu.Slice) Edits {
	e := nodes(s.Nodes, s.GIDs, s.NodeGIDs)
	e.Names = []string{request.SliceKind + "=" + s.Name()}
	return e
}

// Container returns the edits of a container with GPUs and slices of a node.
func Container(node gpu.Node, gpus []gpu.GPU, parts []gpu.Slice) Edits {
	var all []Edits
	for _, g := range gpus {
		all = append(all, GPU(g))
	}
	for _, s := range parts {
		all = append(all, Slice(s))
	}
	return Join(append(all, Common(node), Edits{GPUEnv: GPUVariables(gpus)})...)
}

// The variables that tell a container which GPUs of the host it has.
const (
	UUIDsVariable   = "METAX_GPU_UUIDS"   // "GPU-3fd4…,GPU-8e1a…"
	IndicesVariable = "METAX_GPU_INDICES" // "0,1"
)

// GPUVariables returns both variables for whole GPUs, in the order of their indices; the
// UUIDs only if all are known.
func GPUVariables(gpus []gpu.GPU) []string {
	var uuids, indices []string
	for _, g := range slices.SortedFunc(slices.Values(gpus), func(a, b gpu.GPU) int { return a.Index - b.Index }) {
		indices = append(indices, strconv.Itoa(g.Index))
		if g.UUID != "" {
			uuids = append(uuids, string(g.UUID))
		}
	}
	return Variables(uuids, indices)
}

// Variables returns the variables for UUIDs and indices of the same GPUs. One of which the
// list is empty, or shorter than the other, is left out.
func Variables(uuids, indices []string) (env []string) {
	if len(uuids) > 0 && len(uuids) >= len(indices) {
		env = append(env, UUIDsVariable+"="+strings.Join(uuids, ","))
	}
	if len(indices) > 0 && len(indices) >= len(uuids) {
		env = append(env, IndicesVariable+"="+strings.Join(indices, ","))
	}
	return env
}

func nodes(paths []string, gids []uint32, nodeGIDs map[string]uint32) Edits {
	e := Edits{Groups: gids}
	for _, p := range paths {
		// Without "m": a container has no reason to make further nodes of the device.
		e.Devices = append(e.Devices, Device{HostPath: p, Path: p, Permissions: "rw", GID: gpu.NodeGID(p, gids, nodeGIDs)})
	}
	return Join(e)
}

// readOnly mounts one directory under its own path. Every low-level runtime knows the
// options. The plain "bind" takes along no mount that stands below the directory, which
// "ro" would leave writable, and "rprivate" keeps later mounts of the host out.
func readOnly(dir string) Mount {
	return Mount{HostPath: dir, Path: dir, Options: []string{"bind", "ro", "nosuid", "nodev", "rprivate"}}
}
