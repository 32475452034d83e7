// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"github.com/moby/sys/userns"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
)

// ErrNoRoot reports a mount table that does not show which directory is a container's
// root.
var ErrNoRoot = errors.New("cannot find the container's root in the mount table")

// mountedRoot opens the root of the container in whose mount namespace this process is,
// without the bundle. A hook that a runtime runs in a user namespace cannot read the
// bundle: it belongs to the engine, with mode 0600. Such a hook can do no more than the
// container's own root, so a wrong answer could harm only the container.
func mountedRoot() (*inroot.Root, error) {
	table, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("find container's root: %w", err)
	}
	defer table.Close()
	cwd, err := os.Getwd()
	if err != nil {
		cwd = ""
	}
	at, err := findRoot(table, cwd)
	if err != nil {
		return nil, fmt.Errorf("find container's root: %w", err)
	}
	return inroot.Open(at)
}

// findRoot returns the directory on which a file system with its own /proc and /dev is
// mounted, other than this process's root: that of a container that no process has
// entered yet. If there are several, it is the working directory, which some runtimes
// set to it.
func findRoot(table io.Reader, cwd string) (string, error) {
	mounts, err := mountinfo.GetMountsFromReader(table, nil)
	if err != nil {
		return "", fmt.Errorf("read the mount table: %w", err)
	}
	at := map[int]string{}
	for _, m := range mounts {
		at[m.ID] = m.Mountpoint
	}
	// on reports whether something is mounted on the directory name of a mount.
	on := func(root int, name string, isProc bool) bool {
		return slices.ContainsFunc(mounts, func(m *mountinfo.Info) bool {
			return m.Parent == root && m.Mountpoint == path.Join(at[root], name) && (m.FSType == "proc") == isProc
		})
	}
	var found []string
	for _, m := range mounts {
		if m.Mountpoint != "/" && on(m.ID, "proc", true) && on(m.ID, "dev", false) {
			found = append(found, m.Mountpoint)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case cwd != "" && slices.Contains(found, cwd):
		return cwd, nil
	case len(found) == 0:
		return "", ErrNoRoot
	}
	return "", fmt.Errorf("%w: several candidates: %s", ErrNoRoot, strings.Join(found, ", "))
}

// bundleHidden reports whether an error means that this process may not read the bundle
// because it is in a user namespace; see mountedRoot.
func bundleHidden(err error) bool {
	return errors.Is(err, unix.EACCES) && userns.RunningInUserNS()
}
