package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/moby/sys/userns"

	"github.com/metax-ctk/container-toolkit/internal/hook/mount"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/oci"
)

// errClosed reports a node that the container's process could not open.
var errClosed = errors.New("the container's user may not open it")

// mayOpen fails if the container's process could not open a node: it would start
// and find the GPU closed, and a hook cannot give it a group. Without privilege
// over the machine, ids say too little, so that it is a warning.
func (j *job) mayOpen(list gifts, process *mount.Process, user oci.User) error {
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
		err := access(g.source.Device(), readOnly(g.node), user, uids, gids)
		if err == nil {
			continue
		}
		err = fmt.Errorf("device node %s: %w", g.at, err)
		if !userns.RunningInUserNS() {
			return err
		}
		j.warn(err.Error())
	}
	return nil
}

// access reports whether a node may be opened, by its permission bits.
func access(d hostfs.Device, readOnly bool, user oci.User, uids, gids mount.IDs) error {
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
	case d.Perm>>3&need == need && slices.ContainsFunc(append([]uint32{user.GID}, user.AdditionalGIDs...), func(gid uint32) bool {
		host, ok := gids.Host(gid)
		return ok && host == d.GID
	}):
		return nil
	}
	advice := "give it to everyone, or use CDI"
	if gid, ok := gids.Container(d.GID); ok && d.Perm>>3&need == need {
		advice = fmt.Sprintf("add --group-add %d", gid)
	}
	return fmt.Errorf("%w (user %d, the node is %d:%d %04o): %s", errClosed, user.UID, d.UID, d.GID, d.Perm, advice)
}
