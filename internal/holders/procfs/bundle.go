package procfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	pathrs "github.com/cyphar/filepath-securejoin/pathrs-lite"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/cause"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// maxBundle is the size in bytes beyond which a bundle's config.json is not read.
const maxBundle = 4 << 20

var (
	errBundleFile  = errors.New("not a regular file")
	errBundleOwner = errors.New("neither root's nor the container's user's")
	errBundleSize  = fmt.Errorf("over %d bytes", maxBundle)
)

// facts reads a container's bundle, where its monitor sees it.
func (p *Proc) facts(m monitor, devices holders.Devices) (usage.Facts, error) {
	text, err := p.bundle(m)
	var facts usage.Facts
	if err == nil {
		facts, err = devices.Bundle(text, !holders.PlainRuntime(m.order.runtime))
	}
	if err != nil {
		return usage.Facts{}, fmt.Errorf("read %s of container %s: %w", filepath.Join(m.order.bundle, configName), m.id[:12], err)
	}
	facts.Name = m.name
	return facts, nil
}

const configName = "config.json"

// bundle returns the text of a bundle's config.json. The path is the word of a
// user: it leads nowhere but below the monitor's own root, and what is there is
// looked at before it is opened, as opening a device can do things.
func (p *Proc) bundle(m monitor) ([]byte, error) {
	if !filepath.IsAbs(m.order.bundle) {
		return nil, unix.ENOENT
	}
	root, err := os.OpenFile(p.dir+"/"+strconv.Itoa(m.client.PID)+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, cause.Of(err)
	}
	defer root.Close()
	dir, err := pathrs.OpenatInRoot(root, m.order.bundle)
	if err != nil {
		return nil, cause.Of(err)
	}
	defer dir.Close()
	fd, err := openAt(int(dir.Fd()), configName, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	handle := os.NewFile(uintptr(fd), configName)
	defer handle.Close()
	var st unix.Stat_t
	switch err := unix.Fstat(fd, &st); {
	case err != nil:
		return nil, err
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, errBundleFile
	case st.Uid != 0 && st.Uid != m.uid:
		return nil, errBundleOwner
	}
	file, err := pathrs.Reopen(handle, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC)
	if err != nil {
		return nil, cause.Of(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxBundle+1))
	if err == nil && len(text) > maxBundle {
		err = errBundleSize
	}
	return text, cause.Of(err)
}
