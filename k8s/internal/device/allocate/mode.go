// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Use is what uses the GPUs of a node.
type Use struct {
	Containers []allocations.Listed
	Outside    int // GPUs that containers outside Kubernetes use
}

// NextMode returns the settings in which a node serves its GPUs, given those in which it does
// so now, without a Mode after a start, and the configured ones. They change only if nothing
// uses the GPUs; blocked says who does otherwise. After a start, the mode is that of the
// devices in use. Configured settings without a Mode change nothing.
func NextMode(now, configured protocol.ModeSettings, use Use) (next protocol.ModeSettings, blocked string) {
	if now.Mode == "" {
		now = configured
		modes := []protocol.Mode{
			cmp.Or(configured.Mode, protocol.ModeNative), protocol.ModeNative, protocol.ModeShared,
			protocol.ModeSGPU,
		}
		if at := slices.IndexFunc(modes, use.isOf); at >= 0 {
			now.Mode = modes[at]
		}
	}
	if configured.Mode == "" || now == configured || (now.Mode == configured.Mode && now.Mode != protocol.ModeShared) {
		return now, ""
	}
	if who := use.String(); who != "" {
		if now.Mode == configured.Mode {
			return now, fmt.Sprintf("shareNums stays %d, %d is configured: %s", now.Shares, configured.Shares, who)
		}
		return now, fmt.Sprintf("mode stays %s, %s is configured: %s", now.Mode, configured.Mode, who)
	}
	return configured, ""
}

// isOf reports whether all devices in use can be of the mode.
func (u Use) isOf(mode protocol.Mode) bool {
	return !slices.ContainsFunc(u.Containers, func(c allocations.Listed) bool {
		return slices.ContainsFunc(c.IDs, func(id string) bool { return !inventory.Serves(mode, id) })
	})
}

// String is such as "team/job (container main) has GPU-1, and 2 containers more"; empty
// if nothing uses the GPUs.
func (u Use) String() string {
	text := ""
	if len(u.Containers) > 0 {
		c := u.Containers[0]
		who := "a container that is not known"
		if c.Pod != "" {
			who = fmt.Sprintf("%s/%s (container %s)", c.Namespace, c.Pod, c.Name)
		}
		text = fmt.Sprintf("%s has %s", who, c.IDs[0])
		if more := len(u.Containers) - 1; more > 0 {
			text += fmt.Sprintf(", and %s more", wording.Count(more, "container"))
		}
	}
	if u.Outside > 0 {
		if text != "" {
			text += "; "
		}
		text += "containers outside Kubernetes use " + wording.Count(u.Outside, "GPU")
	}
	return text
}
