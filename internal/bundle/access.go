// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"fmt"
	"slices"

	"github.com/moby/sys/userns"

	"github.com/metax-ctk/container-toolkit/internal/hook/mount"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/oci"
)

// errNoAccess reports a node that the container's process could not open.
var errNoAccess = errors.New("the container's user may not open it")

// checkAccess fails if the container's process could not open a node: the container
// would start without access to the GPU, and a hook cannot give it a group. In a user
// namespace the ids are not certain, so there it only warns.
func (list injections) checkAccess(process *mount.Process, user oci.User, warn func(string)) error {
	uids, err := process.UIDs()
	if err != nil {
		return err
	}
	gids, err := process.GIDs()
	if err != nil {
		return err
	}
	for _, g := range list {
		if g.node == nil {
			continue
		}
		err := checkPermissions(g.source.Device(), readOnly(g.node), user, uids, gids)
		if err == nil {
			continue
		}
		err = fmt.Errorf("device node %s: %w", g.target, err)
		if !userns.RunningInUserNS() {
			return err
		}
		warn(err.Error())
	}
	return nil
}

// checkPermissions fails if the permission bits do not let a user open a node.
func checkPermissions(d hostfs.Device, readOnly bool, user oci.User, uids, gids mount.IDs) error {
	need := uint32(6)
	if readOnly {
		need = 4
	}
	uid, known := uids.Host(user.UID)
	switch {
	case d.Perm&need == need, user.UID == 0 && !uids.Foreign():
		return nil
	case known && uid == d.UID && d.Perm>>6&need == need:
		return nil
	case d.Perm>>3&need == need &&
		slices.ContainsFunc(append([]uint32{user.GID}, user.AdditionalGIDs...), func(gid uint32) bool {
			host, ok := gids.Host(gid)
			return ok && host == d.GID
		}):
		return nil
	}
	advice := "let everyone open it, or use CDI"
	if gid, ok := gids.Container(d.GID); ok && d.Perm>>3&need == need {
		advice = fmt.Sprintf("add --group-add %d", gid)
	}
	return fmt.Errorf("%w (user %d, the node is %d:%d %04o): %s", errNoAccess, user.UID, d.UID, d.GID, d.Perm, advice)
}
