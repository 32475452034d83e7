package edits

import (
	"path"

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
		e.Links = []Link{program(path.Join(d.Path, "bin", smi))}
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
	return Join(append(all, Common(node))...)
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
