// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/foreignuse"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/plugin"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/publish"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// factsOf returns what is published of a Status. A GPU with virtual functions is in use if one
// of them is.
func factsOf(s plugin.Status) publish.Facts {
	f := publish.Facts{
		Node: s.Node, State: s.State, Mode: s.Mode, Blocked: s.Blocked, Edited: s.Edited,
		Registration: s.Registration,
	}
	for _, h := range s.Holders {
		for _, u := range h.GPUs {
			f.Holders = append(f.Holders,
				publish.Holder{GPU: u, Pod: protocol.PodName{Namespace: h.Namespace, Name: h.Pod, UID: h.UID}})
		}
	}
	for _, d := range s.Devices {
		if d.GPU >= 0 && slices.Contains(s.InUse, d.ID) && !slices.Contains(f.InUse, d.GPU) {
			f.InUse = append(f.InUse, d.GPU)
		}
	}
	for _, u := range s.Outside {
		if at := slices.IndexFunc(s.Node.GPUs, func(g gpu.GPU) bool { return g.BDF == u.GPU }); at >= 0 {
			f.Outside = append(f.Outside, at)
		}
	}
	return f
}

// noticesOf returns the Events about GPUs that were withdrawn from pods and given back.
func noticesOf(changes []foreignuse.Change) (notices []publish.Notice) {
	for _, c := range changes {
		n := publish.Notice{Reason: "MetaXGPUReturned", Message: c.Message}
		if c.Withdrawn {
			n.Reason, n.Warning = "MetaXGPULeased", true
		}
		notices = append(notices, n)
	}
	return notices
}
