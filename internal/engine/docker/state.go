// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// cgroupDriver begins the option of dockerd that names the manager of cgroups.
const cgroupDriver = "native.cgroupdriver="

func (f file) engineState() engine.State {
	s := engine.State{
		Runtimes: map[string]string{},
		Default:  f.root.At(defaultKey).Text(),
		CDI:      f.cdiSwitch(),
		SpecDirs: f.specDirs(),
	}
	for name, entry := range f.root.At(runtimesKey).Members() {
		_, path := valueOf(entry, pathKey)
		s.Runtimes[name.Text()] = path.Text()
	}
	for e := range f.root.At(execKey).Elements() {
		if who, ok := strings.CutPrefix(e.Text(), cgroupDriver); ok {
			s.Systemd = engine.Off
			if who == "systemd" {
				s.Systemd = engine.On
			}
		}
	}
	return s
}

// cdiSwitch is the switch; dockerd reads null as false.
func (f file) cdiSwitch() engine.Switch {
	v := f.root.At(featuresKey, cdiKey)
	switch {
	case v.Kind() == jsontree.Absent:
		return engine.Unset
	case v.True():
		return engine.On
	}
	return engine.Off
}

// specDirs are the directories of CDI specs. For dockerd a list with one empty string means
// its defaults.
func (f file) specDirs() []string {
	var dirs []string
	for e := range f.root.At(dirsKey).Elements() {
		dirs = append(dirs, e.Text())
	}
	if len(dirs) == 1 && dirs[0] == "" {
		return nil
	}
	return dirs
}
