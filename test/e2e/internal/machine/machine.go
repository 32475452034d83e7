// Package machine reports what this machine lacks of a real node. The tests and their
// low-level runtime use the same two checks.
package machine

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// CanRaise reports whether root may raise limits here: some virtual machines and containers
// start without CAP_SYS_RESOURCE, and nobody in them can have it.
func CanRaise() bool {
	set, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, unix.CAP_SYS_RESOURCE, 0, 0, 0)
	return err == nil && set == 1
}

// BareV2 reports whether the tree at root, such as /sys/fs/cgroup, is cgroup version 2 with
// its controllers elsewhere: they stay with version 1 on a machine that mounts both.
func BareV2(root string) bool {
	controllers, err := os.ReadFile(root + "/cgroup.controllers")
	return err == nil && !slices.Contains(strings.Fields(string(controllers)), "cpu")
}
