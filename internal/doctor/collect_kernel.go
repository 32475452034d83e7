// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

func kernelFacts(_ context.Context, c Config, _ *Facts) (func(*Facts), error) {
	k := Kernel{CharDir: c.Root.Exists("/dev/char"), Systemd: c.Root.Exists("/run/systemd/system")}
	var err error
	if k.Report, err = sysfs.Read(c.Root); errors.Is(err, fs.ErrNotExist) {
		return func(f *Facts) { f.Kernel = k }, nil // no PCI bus
	} else if err != nil {
		return nil, err
	}
	k.Read = true
	installed, known := sysfs.ModuleInstalled(c.Root)
	k.Absent = !k.Module.Loaded && known && !installed
	for _, g := range k.GPUs {
		fn := readFunction(c.Root, path.Join(sysfs.DevicesDir, g.BDF.String()))
		fn.GPU = g
		k.Functions = append(k.Functions, fn)
		for _, name := range fn.DRM {
			numbers := readWord(c.Root, path.Join(sysfs.DevicesDir, g.BDF.String(), "drm", name, "dev"))
			k.Nodes = append(k.Nodes, deviceNode(c.Root, "/dev/dri/"+name, numbers))
		}
	}
	for _, p := range []string{"/dev/mxcd", "/dev/mxnd", "/dev/mxgd"} {
		if n := deviceNode(c.Root, p, ""); n.Present || p == "/dev/mxcd" {
			k.Nodes = append(k.Nodes, n)
		}
	}
	names, _ := c.Root.ReadDir("/sys/devices/system/node") // an error means a kernel without NUMA
	for _, name := range names {
		if number, ok := strings.CutPrefix(name, "node"); ok && isNumber(number) {
			k.NUMANodes++
		}
	}
	groups, _ := c.Root.ReadDir("/sys/kernel/iommu_groups") // an error means no IOMMU
	k.IOMMU = len(groups) > 0
	return func(f *Facts) { f.Kernel = k }, nil
}

func readFunction(host *hostfs.Root, dir string) Function {
	var fn Function
	if at, err := host.Resolve(dir + "/driver"); err == nil {
		fn.Driver = path.Base(at)
	}
	names, _ := host.ReadDir(dir + "/drm") // an error means that no driver has made any
	for _, name := range names {
		if strings.HasPrefix(name, "card") || strings.HasPrefix(name, "renderD") {
			fn.DRM = append(fn.DRM, name)
		}
	}
	fn.Width, fn.MaxWidth = readNumber(host, dir+"/current_link_width"), readNumber(host, dir+"/max_link_width")
	if config, err := host.Open(dir + "/config"); err == nil {
		defer config.Close()
		head := make([]byte, 4)
		_, err := io.ReadFull(config, head)
		fn.Dead = err == nil && string(head) == "\xff\xff\xff\xff"
	}
	return fn
}

func deviceNode(host *hostfs.Root, p, want string) DeviceNode {
	n := DeviceNode{Path: p, Numbers: want}
	if _, err := host.Lstat(p); err != nil {
		return n
	}
	n.Present = true
	d, err := host.Device(p)
	if err != nil {
		return n
	}
	n.Device = &d
	char := "/dev/char/" + deviceNumbers(d)
	at, err := host.Resolve(char)
	n.Link = err == nil && at == p
	_, err = host.Lstat(char)
	n.Astray = err == nil && !n.Link
	label := make([]byte, 256)
	if size, err := unix.Lgetxattr(host.Join(p), "security.selinux", label); err == nil {
		// user:role:type:level
		if parts := strings.Split(strings.TrimRight(string(label[:size]), "\x00"), ":"); len(parts) > 2 {
			n.Type = parts[2]
		}
	}
	return n
}

// readWord reads a short file of sysfs or /proc; "" if it cannot be read.
func readWord(host *hostfs.Root, p string) string {
	text, err := host.ReadFile(p)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// readNumber reads a whole number; 0 if there is none.
func readNumber(host *hostfs.Root, p string) int {
	n, _ := strconv.Atoi(readWord(host, p)) // 0 for another word
	return n
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 32)
	return err == nil
}

// processDirs are the directories of processes in /proc, sorted.
func processDirs(host *hostfs.Root, dir string) []string {
	names, _ := host.ReadDir(dir) // an error means that the tree has no /proc
	return slices.DeleteFunc(names, func(name string) bool { return !isNumber(name) })
}
