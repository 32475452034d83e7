package main

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/plugin"
	"github.com/metax-ctk/container-toolkit/k8s/internal/publish"
)

// factsOf returns what is published of a Status. A GPU with virtual functions is in use if one of
// them is.
func factsOf(s plugin.Status) publish.Facts {
	f := publish.Facts{Node: s.Node, State: s.State, Mode: s.Mode, Blocked: s.Blocked, Registration: s.Registration}
	for _, d := range s.Devices {
		if d.GPU >= 0 && slices.Contains(s.InUse, d.ID) && !slices.Contains(f.InUse, d.GPU) {
			f.InUse = append(f.InUse, d.GPU)
		}
	}
	for _, b := range s.Outside {
		if at := slices.IndexFunc(s.Node.GPUs, func(g gpu.GPU) bool { return g.BDF == b }); at >= 0 {
			f.Outside = append(f.Outside, at)
		}
	}
	return f
}
