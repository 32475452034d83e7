// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	pathrs "github.com/cyphar/filepath-securejoin/pathrs-lite"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// lookAtContainers returns the containers of the engine that have a monitor: those that
// run, are paused, or are about to start; all count as running. Containers that were only
// created, or have exited, have no monitor and are not seen. A container whose bundle
// cannot be read is left out, since its facts would be kept.
func (r *scan) lookAtContainers(ctx context.Context, q usage.Question, engine string) (usage.Sight, error) {
	list := r.cachedProcesses(ctx, q)
	var sight usage.Sight
	missed, why := 0, error(nil)
	for _, m := range list.monitors {
		if m.engine != engine {
			continue
		}
		if ctx.Err() != nil {
			sight.Partial = true
			return sight, ctx.Err()
		}
		c := usage.Container{
			Engine: engine, ID: m.id, State: usage.Running, Init: m.init,
			Started: strconv.FormatUint(m.client.Start, 10),
		}
		var known bool
		if c.Facts, known = q.Seen[c.Key()]; !known {
			var err error
			if c.Facts, err = r.proc.readFacts(m, r.devices); err != nil {
				if !r.proc.hasEnded(m, err) {
					missed, why = missed+1, err
				}
				continue
			}
		}
		sight.Containers = append(sight.Containers, c)
	}
	err := unreadBundles(engine, missed, why)
	if list.err != nil || list.hidden {
		err = incompleteError(list.err, list.hidden, 0)
	}
	sight.Partial = err != nil
	return sight, err
}

// hasEnded reports whether the bundle could not be read because the container has ended
// and been removed: the monitor lives until the engine has cleared everything away.
func (p *Proc) hasEnded(m monitor, err error) bool {
	if p.Liveness(m.client) == usage.Ended {
		return true
	}
	if !errors.Is(err, unix.ENOENT) {
		return false
	}
	var buf [16 << 10]byte
	// Without a first process this reads pid 0, which does not exist.
	text, err := readAt(unix.AT_FDCWD, p.dir+"/"+strconv.Itoa(m.init)+"/cgroup", buf[:])
	return isProcessGone(err) || (err == nil && parseCgroup(string(text)) != m.id)
}

// unreadBundles returns why the bundles of n containers were not read, nil for none.
func unreadBundles(engine string, n int, why error) error {
	if n == 0 {
		return nil
	}
	text := wording.Count(n, "container") + " of " + engine + " could not be inspected"
	if isAccessDenied(why) {
		text += rootHint()
	}
	return fmt.Errorf("%s: %w", text, why)
}

// maxBundle is the size in bytes beyond which a bundle's config.json is not read.
const maxBundle = 4 << 20

var (
	errBundleFile  = errors.New("not a regular file")
	errBundleOwner = errors.New("neither root's nor the container's user's")
	errBundleSize  = fmt.Errorf("over %d bytes", maxBundle)
)

// readFacts reads the facts of a container from its bundle.
func (p *Proc) readFacts(m monitor, devices holders.Devices) (usage.Facts, error) {
	text, err := p.readBundle(m)
	var facts usage.Facts
	if err == nil {
		facts, err = devices.Bundle(text, !holders.PlainRuntime(m.conmonArgs.runtime))
	}
	if err != nil {
		return usage.Facts{},
			fmt.Errorf("read %s of container %s: %w", filepath.Join(m.conmonArgs.bundle, configName), usage.ShortID(m.id), err)
	}
	facts.Name = m.name
	return facts, nil
}

const configName = "config.json"

// readBundle returns the text of a bundle's config.json. A user chose the path: it is
// resolved below the monitor's root, and what is there is inspected before it is opened,
// as opening a device has effects.
func (p *Proc) readBundle(m monitor) ([]byte, error) {
	if !filepath.IsAbs(m.conmonArgs.bundle) {
		return nil, unix.ENOENT
	}
	root, err := os.OpenFile(p.dir+"/"+strconv.Itoa(m.client.PID)+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, wording.Cause(err)
	}
	defer root.Close()
	dir, err := pathrs.OpenatInRoot(root, m.conmonArgs.bundle)
	if err != nil {
		return nil, wording.Cause(err)
	}
	defer dir.Close()
	fd, err := openAt(int(dir.Fd()), configName, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	handle := os.NewFile(uintptr(fd), configName)
	defer handle.Close()
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	switch {
	case err != nil:
		return nil, err
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, errBundleFile
	case st.Uid != 0 && st.Uid != m.uid:
		return nil, errBundleOwner
	}
	file, err := pathrs.Reopen(handle, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC)
	if err != nil {
		return nil, wording.Cause(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxBundle+1))
	if err == nil && len(text) > maxBundle {
		err = errBundleSize
	}
	return text, wording.Cause(err)
}
