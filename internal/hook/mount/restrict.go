// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
)

// Unsupported reports whether an error of a system call can mean that the kernel lacks
// the call or a part of it, or that a filter refuses it: then an older call may do.
func Unsupported(err error) bool {
	return errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL)
}

// ErrHidden reports a mount that cannot be made read-only one by one.
var ErrHidden = errors.New("another mount hides it, and the kernel has no mount_setattr (Linux 5.12 has)")

// flagOptions are mount(2)'s flags by their names in a mount table. A remount keeps the
// mode of access times, but clears the others if it does not name them.
var flagOptions = map[string]uintptr{
	"ro": unix.MS_RDONLY, "nosuid": unix.MS_NOSUID, "nodev": unix.MS_NODEV, "noexec": unix.MS_NOEXEC,
	"nosymfollow": unix.MS_NOSYMFOLLOW,
}

func mountFlags(m *mountinfo.Info) (flags uintptr) {
	for option := range strings.SplitSeq(m.Options, ",") {
		flags |= flagOptions[option]
	}
	return flags
}

// Restrict adds flags (unix.MS_RDONLY and the like) to the mount of which top is the
// root and to all mounts below it, and makes them private. Kernels with mount_setattr
// (since 5.12) do that in one step; Restrict remounts one mount after the other, each
// by a handle, and then reads the mount table to see that all have the flags. A mount
// that it cannot reach is an error, unless nobody could ever reach it.
func (n *Namespace) Restrict(top *os.File, flags uintptr) error {
	if err := n.Mount(nil, top, "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	first, err := n.mountOf(top)
	if err != nil {
		return err
	}
	for _, m := range n.table.below(first) {
		if err := n.restrictOne(top, first, m, flags); err != nil {
			return fmt.Errorf("make mount %s read-only: %w", m.Mountpoint, err)
		}
	}
	after, err := n.readMounts()
	if err != nil {
		return err
	}
	return after.restricted(first.ID, flags)
}

// restricted fails unless a mount is still there and has the flags, with all mounts below it.
func (t mountTable) restricted(id int, flags uintptr) error {
	top, ok := t[id]
	if !ok {
		return ErrMoved
	}
	for _, m := range t.below(top) {
		if mountFlags(m)&flags != flags {
			return fmt.Errorf("make mount %s read-only: %w", m.Mountpoint, ErrHidden)
		}
	}
	return nil
}

// restrictOne adds flags to one mount at or below top, the root of the mount first. It
// leaves a mount that its path does not lead to, for the check at the end.
func (n *Namespace) restrictOne(top *os.File, first, m *mountinfo.Info, flags uintptr) error {
	own := mountFlags(m)
	if own&flags == flags {
		return nil
	}
	at := top
	if m.ID != first.ID {
		path := strings.TrimPrefix(m.Mountpoint, strings.TrimSuffix(first.Mountpoint, "/"))
		f, err := inroot.At(top).Open(path, unix.O_PATH|unix.O_NOFOLLOW)
		if err != nil {
			return nil
		}
		defer f.Close()
		at = f
	}
	if id, err := n.mountID(at); err != nil || id != m.ID {
		return err
	}
	return n.mountViaProc(nil, at, "", unix.MS_REMOUNT|unix.MS_BIND|own|flags, "")
}

// below returns a mount and all mounts below it. It leaves out those that nobody can
// ever reach, because another mount is on their root, or on the root of a mount that
// they are in.
func (t mountTable) below(top *mountinfo.Info) []*mountinfo.Info {
	children := map[int][]*mountinfo.Info{}
	for _, id := range slices.Sorted(maps.Keys(t)) {
		if m := t[id]; m.ID != m.Parent {
			children[m.Parent] = append(children[m.Parent], m)
		}
	}
	list := []*mountinfo.Info{top}
	for i := 0; i < len(list); i++ {
		for _, m := range children[list[i].ID] {
			list = append(list, uppermost(m, children))
		}
	}
	return list
}

// uppermost returns the mount that is seen where m is mounted: the last one of those
// that are mounted on each other's roots.
func uppermost(m *mountinfo.Info, children map[int][]*mountinfo.Info) *mountinfo.Info {
	for range len(children) {
		i := slices.IndexFunc(children[m.ID], func(c *mountinfo.Info) bool { return c.Mountpoint == m.Mountpoint })
		if i < 0 {
			break
		}
		m = children[m.ID][i]
	}
	return m
}
