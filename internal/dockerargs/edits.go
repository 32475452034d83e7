// SPDX-License-Identifier: Apache-2.0

package dockerargs

import (
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/edits"
)

// FromEdits returns docker's options for edits: those that may stand before the user's
// own, and those that count only behind them. Docker makes no links in a container.
func FromEdits(e edits.Edits) (before, behind []string) {
	for _, name := range e.Names {
		before = append(before, "--device="+name)
	}
	for _, d := range e.Devices {
		before = append(before, "--device="+d.HostPath+":"+d.Path+":"+d.Permissions)
	}
	for _, m := range e.Mounts {
		mode := "rw"
		if m.ReadOnly() {
			mode = "ro"
		}
		before = append(before, "--volume="+m.HostPath+":"+m.Path+":"+mode)
	}
	for _, gid := range e.Groups {
		before = append(before, "--group-add="+strconv.FormatUint(uint64(gid), 10))
	}
	for _, variable := range e.GPUEnv {
		before = append(before, "--env="+variable)
	}
	for _, variable := range e.Env {
		behind = append(behind, "--env="+variable)
	}
	return before, behind
}
