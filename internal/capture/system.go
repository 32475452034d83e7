// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
	"github.com/metax-ctk/container-toolkit/internal/lazyregexp"
	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
)

// single are files that are kept as they are, but for stand-ins.
var single = strings.Fields(`/proc/sys/kernel/osrelease /proc/sys/kernel/random/boot_id /proc/devices
	/proc/sys/user/max_user_namespaces
	/sys/module/metax/version /sys/module/metax/srcversion /sys/module/metax/initstate /sys/module/metax/taint
	/sys/module/mxgvm/version /sys/module/MXGVM/version
	/sys/devices/system/node/online /sys/devices/system/node/possible
	/sys/fs/selinux/enforce /sys/module/apparmor/parameters/enabled /sys/fs/cgroup/cgroup.controllers`)

var numaNode = lazyregexp.New(`^node[0-9]+$`)

// captureSystem takes what the host says of itself.
func (t *taker) captureSystem() {
	for _, p := range single {
		t.captureFile(p, maxConfig, nil)
	}
	for _, dir := range []string{"/sys/module/metax", "/sys/module/mxgvm", "/sys/module/MXGVM"} {
		if t.Root.Exists(dir) {
			t.captureDir(dir)
		}
	}
	if text, err := t.readLimited("/etc/hostname", maxAttribute); err == nil {
		t.Scrub.Learn(scrub.Host, hostOf(text))
	}
	t.captureFile("/etc/hostname", maxAttribute, func(s *scrub.Scrubber, text string) string {
		return s.Word(scrub.Host, hostOf(text)) + "\n"
	})
	t.captureFile("/etc/os-release", maxConfig, release)
	const nodes = "/sys/devices/system/node"
	for _, name := range t.listNames(nodes) {
		if numaNode().MatchString(name) {
			t.captureFile(path.Join(nodes, name, "cpulist"), maxAttribute, nil)
			t.captureFile(path.Join(nodes, name, "distance"), maxAttribute, nil)
		}
	}
	t.module()
}

// hostOf is the name in /etc/hostname, beside which there may be comments.
func hostOf(text string) string {
	for line := range strings.Lines(text) {
		if name := strings.TrimSpace(line); name != "" && !strings.HasPrefix(name, "#") {
			return name
		}
	}
	return ""
}

// release keeps of os-release which system it is.
func release(s *scrub.Scrubber, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		key, _, _ := strings.Cut(line, "=")
		if slices.Contains([]string{"ID", "ID_LIKE", "NAME", "PRETTY_NAME", "VERSION", "VERSION_ID", "VERSION_CODENAME"},
			key) {
			b.WriteString(strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	return s.Parsed(b.String())
}

// module keeps which file of the running kernel is the driver's.
func (t *taker) module() {
	kernel, err := t.readLimited("/proc/sys/kernel/osrelease", maxAttribute)
	if kernel = strings.TrimSpace(kernel); err != nil || kernel == "" || strings.Contains(kernel, "/") {
		return
	}
	const most = 16 << 20 // a distribution's has some hundred KiB
	p := path.Join("/lib/modules", kernel, "modules.dep")
	real, e, err := t.followLinks(p)
	if err != nil || !e.Mode.IsRegular() {
		return
	}
	text, err := t.readLimited(real, most)
	if err != nil {
		t.noteUnreadable(p, err)
		return
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		file, _, _ := strings.Cut(line, ":")
		if strings.HasPrefix(path.Base(file), "metax.ko") {
			b.WriteString(strings.TrimSuffix(file, "\n") + ":\n")
		}
	}
	t.addEntry(real, hosttree.File{Data: b.String()}, scrubParsed)
}

var metaxNode = lazyregexp.New(`^mx[a-z0-9]+$`)

// captureDevices takes MetaX's nodes, all DRM nodes, and the links by number and place.
func (t *taker) captureDevices() {
	for _, name := range t.listNames("/dev/dri") {
		if drm().MatchString(name) {
			t.device("/dev/dri/" + name)
		}
	}
	for _, name := range t.listNames("/dev") {
		if metaxNode().MatchString(name) {
			t.device("/dev/" + name)
		}
	}
	for _, name := range t.numbers() {
		t.device("/dev/" + name)
	}
	const byPath = "/dev/dri/by-path"
	for _, name := range t.listNames(byPath) {
		t.node(path.Join(byPath, name))
	}
	if t.Root.Exists("/dev/char") {
		t.captureDir("/dev/char")
	}
}

// numbers are the paths below /dev of the devices of slices, which have numbers and
// names of their own.
func (t *taker) numbers() []string {
	var names []string
	for p, i := range t.found {
		if file, ok := i.entry.(hosttree.File); ok && strings.Contains(p, "/sgpu/") && path.Base(p) == "dev" {
			uevent := path.Join("/sys/dev/char", path.Base(strings.TrimSpace(file.Data)), "uevent")
			text, err := t.readLimited(uevent, maxAttribute)
			if err != nil {
				continue
			}
			for line := range strings.Lines(text) {
				if name, ok := strings.CutPrefix(strings.TrimSpace(line), "DEVNAME="); ok && path.Clean("/"+name) == "/"+name {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// device keeps a character device, and what stands for its number.
func (t *taker) device(p string) {
	t.node(p)
	d, err := t.Root.Device(p)
	if err != nil {
		return
	}
	number := numberOf(d)
	if char := "/dev/char/" + number; t.Root.Exists(path.Dir(char)) {
		t.node(char)
	}
	sys := "/sys/dev/char/" + number
	if real, _, err := t.followLinks(sys); err == nil {
		t.captureFile(real+"/uevent", maxAttribute, nil)
	}
}

// node keeps what stands at a path of /dev: a device, a link, or that it is neither.
func (t *taker) node(p string) {
	real, e, err := t.followLinks(p)
	if err != nil {
		t.noteUnreadable(p, err)
		return
	}
	if d, err := t.Root.Device(real); err == nil {
		t.addEntry(real, hosttree.Device(d), nil)
		return
	}
	if e.Mode.IsDir() {
		t.captureDir(real)
	} else {
		t.addEntry(real, hosttree.File{}, nil) // such as an empty file that an engine made
	}
}

func numberOf(d hostfs.Device) string { return fmt.Sprintf("%d:%d", d.Major, d.Minor) }
