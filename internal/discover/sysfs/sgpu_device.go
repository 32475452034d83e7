// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"fmt"
	"path"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/compat"
)

// Files that map the numbers of a character device to its path.
const (
	procDevices = "/proc/devices"
	charDir     = "/sys/dev/char"
)

// sgpuDevice finds the character device of an sGPU by its device numbers ("511:3"):
// /proc/devices must list the major number under a name that contains "sgpu", and the
// path is DEVNAME in the uevent file in sysfs. A script of the vendor allows such
// devices by their major number, so they exist; their paths are not published, and this
// was not tried on hardware.
func (r *reader) sgpuDevice(numbers string) (node string, gid uint32, open bool, err error) {
	bad := func(err error) (string, uint32, bool, error) { return "", 0, false, err }
	majors, err := r.sgpuMajors()
	if err != nil {
		return bad(err)
	}
	major, _, ok := strings.Cut(numbers, ":")
	if !ok || !majors[major] {
		return bad(fmt.Errorf("dev is %.40q; want the major number of sGPUs in %s", numbers, procDevices))
	}
	file := path.Join(charDir, path.Base(numbers), "uevent")
	text, err := r.readText(file)
	if err != nil {
		return bad(err)
	}
	for line := range strings.Lines(text) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "DEVNAME=")
		if !ok {
			continue
		}
		if !compat.IsWord(name) || path.Clean("/"+name) != "/"+name || name == "" {
			return bad(fmt.Errorf("DEVNAME in %s is %.40q; want a path below /dev", file, name))
		}
		node = "/dev/" + name
		gid, open, err = r.checkDevice(node, numbers)
		return node, gid, open, err
	}
	return bad(fmt.Errorf("%s has no DEVNAME", file))
}

// sgpuMajors returns the major numbers of the character devices whose driver has "sgpu"
// in its name.
func (r *reader) sgpuMajors() (map[string]bool, error) {
	text, err := r.readText(procDevices)
	if err != nil {
		return nil, err
	}
	majors := map[string]bool{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if strings.HasPrefix(line, "Block") {
			break
		}
		if len(fields) == 2 && strings.Contains(strings.ToLower(fields[1]), "sgpu") {
			majors[fields[0]] = true
		}
	}
	return majors, nil
}
