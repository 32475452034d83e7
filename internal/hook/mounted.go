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

// ErrNoRoot reports a mount namespace in which a container's root cannot be told.
var ErrNoRoot = errors.New("no container's root can be told from the mounts")

// mounted opens the root of the container whose mount namespace this is, without
// the bundle. A hook that a runtime runs in a user namespace may not read that:
// it is the engine's, mode 0600. What it can do is not more than the container's
// own root, so a wrong answer would harm the container alone.
func mounted() (*inroot.Root, error) {
	table, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("find container's root: %w", err)
	}
	defer table.Close()
	cwd, err := os.Getwd()
	if err != nil {
		cwd = ""
	}
	at, err := rootAmong(table, cwd)
	if err != nil {
		return nil, fmt.Errorf("find container's root: %w", err)
	}
	return inroot.Open(at)
}

// rootAmong returns the directory on which a file system is mounted that has a
// /proc and a /dev of its own, but for our own root: that of a container which
// has not been entered yet. Of several, the working directory decides, which
// some runtimes make it.
func rootAmong(table io.Reader, cwd string) (string, error) {
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
	return "", fmt.Errorf("%w: it may be any of %s", ErrNoRoot, strings.Join(found, ", "))
}

// hidden reports whether an error is that of a bundle which this process may not
// read for the reason that mounted is there.
func hidden(err error) bool {
	return errors.Is(err, unix.EACCES) && userns.RunningInUserNS()
}
