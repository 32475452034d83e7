package sysfs

import (
	"fmt"
	"path"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/compat"
)

// The files that lead from the number of a character device to its path.
const (
	procDevices = "/proc/devices"
	charDir     = "/sys/dev/char"
)

// sliceNode finds the character device of an sGPU by its numbers ("511:3"): the
// major number is one that /proc/devices has for a name with "sgpu" in it, and
// the path is DEVNAME's in sysfs. That there are such devices is known from a
// script of the vendor's that admits them by their major number; where they are
// is not, and none of this has been tried on hardware.
func (r *reader) sliceNode(numbers string) (node string, gid uint32, open bool, err error) {
	bad := func(err error) (string, uint32, bool, error) { return "", 0, false, err }
	majors, err := r.sliceMajors()
	if err != nil {
		return bad(err)
	}
	major, _, ok := strings.Cut(numbers, ":")
	if !ok || !majors[major] {
		return bad(fmt.Errorf("dev is %.40q; want the major number of sGPUs in %s", numbers, procDevices))
	}
	file := path.Join(charDir, path.Base(numbers), "uevent")
	text, err := r.text(file)
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
		gid, open, err = r.device(node, numbers)
		return node, gid, open, err
	}
	return bad(fmt.Errorf("%s has no DEVNAME", file))
}

// sliceMajors are the major numbers of character devices whose drivers have
// "sgpu" in their names.
func (r *reader) sliceMajors() (map[string]bool, error) {
	text, err := r.text(procDevices)
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
