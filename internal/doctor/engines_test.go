// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// TestSystemdCgroups: a prestart hook is a problem only where systemd can reset device
// rules.
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
		{"docker with cgroupfs", true, Engines{Docker: Docker{Info: &dockerd.Info{CgroupDriver: "cgroupfs"}}}, false},
		{"docker with systemd", true, Engines{Docker: Docker{Info: &dockerd.Info{CgroupDriver: "systemd"}}}, true},
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

// TestVersions checks the known limitations of engines at the versions where they begin
// and end.
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

// TestCgroupDrivers: only a known driver of an engine that kubelet may use is compared
// with kubelet's.
func TestCgroupDrivers(t *testing.T) {
	docker := func(cri bool, file engine.Switch, info *dockerd.Info) Engines {
		return Engines{Docker: Docker{Engine: Engine{Name: "docker", Program: "/usr/bin/dockerd", State: engine.State{Systemd: file}}, CRI: cri, Info: info}}
	}
	crio := func(program, broken string, file engine.Switch) Engines {
		return Engines{CRIO: Engine{Name: "crio", Program: program, Broken: broken, State: engine.State{Systemd: file}}}
	}
	for _, tc := range []struct {
		name, kubelet string
		engines       Engines
		found         bool
	}{
		{"docker without cri-dockerd", "systemd", docker(false, engine.Off, nil), false},
		{"docker by its file", "systemd", docker(true, engine.Off, nil), true},
		{"docker, the same", "cgroupfs", docker(true, engine.Off, nil), false},
		{"docker, left to itself", "cgroupfs", docker(true, engine.Unset, nil), false},
		{"docker as it runs", "systemd", docker(true, engine.Off, &dockerd.Info{CgroupDriver: "systemd"}), false},
		{"docker without cgroups", "systemd", docker(true, engine.Unset, &dockerd.Info{CgroupDriver: "none"}), false},
		{"crio, the same", "cgroupfs", crio("/usr/bin/crio", "", engine.Off), false},
		{"crio, left to itself", "systemd", crio("/usr/bin/crio", "", engine.Unset), false},
		{"crio, left to itself, and kubelet not", "cgroupfs", crio("/usr/bin/crio", "", engine.Unset), true},
		{"crio, broken", "cgroupfs", crio("/usr/bin/crio", "line 1", engine.Unset), false},
		{"crio is not there", "cgroupfs", crio("", "", engine.On), false},
		{"no kubelet", "", crio("/usr/bin/crio", "", engine.Off), false},
	} {
		if got := Judge(cgroupChecks, &Facts{System: System{Kubelet: tc.kubelet}, Engines: tc.engines}); len(got) > 0 != tc.found {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// TestUserns: nodes that everyone may open do not need docker's ids.
func TestUserns(t *testing.T) {
	at := func(perm uint32) []DeviceNode {
		closed := &hostfs.Device{Perm: perm, GID: 44}
		return []DeviceNode{{Path: "/dev/mxcd", Device: closed}, {Path: "/dev/dri/card1", Device: closed}}
	}
	for _, tc := range []struct {
		name, program, userns string
		nodes                 []DeviceNode
		found                 bool
	}{
		{"everyone's", "/usr/bin/dockerd", "default", at(0o666), false},
		{"the group's", "/usr/bin/dockerd", "default", at(0o660), true},
		{"only to be read", "/usr/bin/dockerd", "default", at(0o664), true},
		{"not remapped", "/usr/bin/dockerd", "", at(0o660), false},
		{"no docker", "", "default", at(0o660), false},
		{"no node", "/usr/bin/dockerd", "default", []DeviceNode{{Path: "/dev/mxcd"}}, false},
	} {
		d := Docker{Engine: Engine{Name: "docker", Program: tc.program}, Userns: tc.userns}
		// One node says it all.
		if got := Judge(usernsChecks, &Facts{Kernel: Kernel{Nodes: tc.nodes}, Engines: Engines{Docker: d}}); (len(got) == 1) != tc.found || len(got) > 1 {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}
