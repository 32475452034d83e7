package docker

import (
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// driver begins the option of dockerd that says who manages cgroups.
const driver = "native.cgroupdriver="

func (f file) state() engine.State {
	s := engine.State{
		Runtimes: map[string]string{},
		Default:  f.root.At(defaultKey).Text(),
		CDI:      f.cdi(),
		SpecDirs: f.dirs(),
	}
	for name, entry := range f.root.At(runtimesKey).Members() {
		_, path := of(entry, pathKey)
		s.Runtimes[name.Text()] = path.Text()
	}
	for e := range f.root.At(execKey).Elements() {
		if who, ok := strings.CutPrefix(e.Text(), driver); ok {
			s.Systemd = engine.Off
			if who == "systemd" {
				s.Systemd = engine.On
			}
		}
	}
	return s
}

// cdi is the switch; null counts as false to dockerd, as it does to every bool.
func (f file) cdi() engine.Switch {
	switch v := f.root.At(featuresKey, cdiKey); {
	case v.Kind() == jsontree.Absent:
		return engine.Unset
	case v.True():
		return engine.On
	}
	return engine.Off
}

// dirs are the directories; one that is empty and alone stands for those that
// dockerd knows.
func (f file) dirs() []string {
	var dirs []string
	for e := range f.root.At(dirsKey).Elements() {
		dirs = append(dirs, e.Text())
	}
	if len(dirs) == 1 && dirs[0] == "" {
		return nil
	}
	return dirs
}
