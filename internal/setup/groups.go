// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"os/user"
	"slices"
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Groups are the groups, other than root's, that may open the device nodes of GPUs: their
// names on this machine, their numbers below another root.
func (h Host) Groups(node gpu.Node) []string {
	var names []string
	for _, path := range deviceNodes(node) {
		device, err := h.Root.Device(path)
		if err != nil || device.GID == 0 || device.Perm&0o060 != 0o060 {
			continue
		}
		name := strconv.FormatUint(uint64(device.GID), 10)
		if group, err := user.LookupGroupId(name); err == nil && h.Root.Real() {
			name = group.Name
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
