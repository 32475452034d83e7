// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// The cgroup drivers, as kubelet and the engines name them.
const (
	systemdDriver  = "systemd"
	cgroupfsDriver = "cgroupfs"
)

// cgroupDriver is the cgroup driver of an engine that kubelet may use, and the edit
// that makes it systemd.
type cgroupDriver struct{ engine, driver, edit string }

// cgroupDrivers are the known ones. An engine whose configuration leaves it to the
// host, or cannot be read, is not included.
func (f *Facts) cgroupDrivers() []cgroupDriver {
	of := map[engine.Switch]string{engine.On: systemdDriver, engine.Off: cgroupfsDriver}
	var all []cgroupDriver
	if d := f.Engines.Containerd; d.There() && !d.NoCRI && of[d.Systemd] != "" {
		all = append(all, cgroupDriver{d.Name, of[d.Systemd], fmt.Sprintf(
			"# in %s: SystemdCgroup = true for its runtimes; then: systemctl restart containerd", f.localPath(d.Config))})
	}
	if c := f.Engines.CRIO; c.There() && c.Broken == "" {
		driver := cmp.Or(of[c.Systemd], systemdDriver) // CRI-O's default
		all = append(all, cgroupDriver{c.Name, driver, fmt.Sprintf(
			"grep -rl cgroup_manager %s   # in these files: cgroup_manager = \"systemd\"; then: systemctl restart crio", f.localPath("/etc/crio"))})
	}
	if d := f.Engines.Docker; d.There() && d.CRI {
		driver := of[d.Systemd]
		if d.Info != nil {
			driver = d.Info.CgroupDriver // the running daemon's, not the file's
		}
		if driver == systemdDriver || driver == cgroupfsDriver {
			all = append(all, cgroupDriver{d.Name, driver, fmt.Sprintf(
				`# in %s: "exec-opts": ["native.cgroupdriver=systemd"]; then: systemctl restart docker`, f.localPath(d.Config))})
		}
	}
	return all
}

var cgroupChecks = []Check{
	{
		ID: "cgroup-driver", Title: "kubelet and its engine have the same cgroup driver",
		applies: func(f *Facts) bool { return f.System.Kubelet != "" && len(f.cgroupDrivers()) > 0 }, run: func(f *Facts,
			found *findings,
		) {
			if f.System.Kubelet == "" {
				return
			}
			var names, edits []string
			other := ""
			for _, c := range f.cgroupDrivers() {
				if (c.driver == systemdDriver) != (f.System.Kubelet == systemdDriver) {
					names, edits, other = append(names, c.engine+"'s"), append(edits, c.edit), c.driver
				}
			}
			if names == nil {
				return
			}
			// Where systemd manages some cgroups, it should manage all.
			fix := strings.Join(edits, "\n")
			if other == systemdDriver {
				fix = fmt.Sprintf("# in %s: cgroupDriver: systemd; then: systemctl restart kubelet",
					f.localPath("/var/lib/kubelet/config.yaml"))
			}
			found.add(Warning, fmt.Sprintf("kubelet's cgroup driver is %s, %s is %s", f.System.Kubelet,
				strings.Join(names, " and "), other), "pods lose devices and limits when systemd reloads", fix)
		},
	},
}
