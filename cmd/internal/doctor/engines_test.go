package doctor

import (
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// TestSystemdCgroups: a prestart hook is a trouble only where systemd can put device
// rules back.
func TestSystemdCgroups(t *testing.T) {
	podman := Engine{Name: "podman", Program: "/usr/bin/podman"}
	off := podman
	off.Systemd = engine.Off
	containerd := Containerd{Engine: Engine{Name: "containerd", Program: "/usr/bin/containerd", State: engine.State{Systemd: engine.On}}}
	for _, tc := range []struct {
		name    string
		systemd bool
		engines Engines
		want    bool
	}{
		{"nothing", true, Engines{}, false},
		{"docker with cgroupfs", true, Engines{Docker: Docker{Info: &DockerInfo{CgroupDriver: "cgroupfs"}}}, false},
		{"docker with systemd", true, Engines{Docker: Docker{Info: &DockerInfo{CgroupDriver: "systemd"}}}, true},
		{"containerd with systemd", true, Engines{Containerd: containerd}, true},
		{"podman, left to itself", true, Engines{Podman: podman}, true},
		{"podman without systemd", false, Engines{Podman: podman}, false},
		{"podman, told otherwise", true, Engines{Podman: off}, false},
		{"crio, left to itself", true, Engines{CRIO: podman}, true},
	} {
		f := Facts{Kernel: Kernel{Systemd: tc.systemd}, Engines: tc.engines}
		if got := f.systemdCgroups(); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// TestVersions holds the gaps that engines are known for at their edges.
func TestVersions(t *testing.T) {
	version := func(text string) engine.Version { return engine.ParseVersion("v " + text) }
	for _, tc := range []struct {
		check, docker string
		cdi           engine.Switch
		found         bool
	}{
		{"docker-old", "24.0.9", engine.Unset, true},
		{"docker-old", "25.0.0", engine.Unset, false},
		{"docker-cdi", "24.0.9", engine.Unset, false},
		{"docker-cdi", "25.0.0", engine.Unset, true},
		{"docker-cdi", "25.0.0", engine.On, false},
		{"docker-cdi", "28.1.9", engine.Unset, true},
		{"docker-cdi", "28.2.0", engine.Unset, false},
		{"docker-cdi", "28.2.0", engine.Off, true},
		{"docker-cdi", "", engine.Unset, false},
		{"docker-boot", "28.1.9", engine.On, true},
		{"docker-boot", "28.2.0", engine.On, false},
		{"docker-boot", "25.0.0", engine.Unset, false},
		{"docker-groups", "29.4.9", engine.Unset, true},
		{"docker-groups", "29.5.0", engine.Unset, false},
	} {
		d := Docker{Engine: Engine{Name: "docker", Program: "/usr/bin/dockerd", Version: version(tc.docker), State: engine.State{CDI: tc.cdi}}}
		f := Facts{Root: "/", Engines: Engines{Docker: d}, Specs: Specs{Ours: []Spec{{Path: "/" + gpuSpec, Kind: gpuKind, Groups: true}}}}
		checks, err := Choose([]string{tc.check}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := Judge(checks, &f); len(got) > 0 != tc.found {
			t.Errorf("%s of docker %q, CDI %v: %v", tc.check, tc.docker, tc.cdi, got)
		}
	}
	for text, own := range map[string]bool{"5.4.9": false, "5.5.0": true, "5.5.2": true, "5.6.0": false, "": false} {
		e := Engine{Name: "podman", Program: "/usr/bin/podman", Version: version(text)}
		f := Facts{Specs: Specs{Dirs: []string{"/etc/cdi", "/var/run/cdi"}}}
		if _, got := f.dirsOf(e); got != own {
			t.Errorf("podman %q has directories of its own: %v", text, got)
		}
	}
}
