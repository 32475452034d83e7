// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/containerd"
)

// Engines are the container engines of the host.
type Engines struct {
	Docker     Docker
	Containerd Containerd
	Podman     Engine
	CRIO       Engine
	// Distributions are the distributions of Kubernetes with their own containerd.
	Distributions []containerd.Place
	// Remotes are engines on other hosts that the environment selects.
	Remotes []Remote
}

// Engine is one engine, from its files and its program.
type Engine struct {
	// Name is the engine's name for metax-ctk runtime configure.
	Name string
	// Program is the path of its program in the host; empty if it does not exist.
	Program string
	Version engine.Version
	// Failed is why the program did not report its version; empty if it did, or was not
	// asked.
	Failed string
	// Config is the path of its configuration, Broken why that cannot be used.
	Config, Broken string
	engine.State
	// Missing are the names of runtimes whose program does not exist.
	Missing []string
}

// There reports whether the engine is installed.
func (e Engine) There() bool { return e.Program != "" }

// Docker is the docker daemon.
type Docker struct {
	Engine
	// Socket is whether the socket exists, Open whether the user may connect to it.
	Socket, Open bool
	// Info is the daemon's description of itself; nil if it does not answer. Silent is
	// the reason.
	Info   *dockerd.Info
	Silent string
	// Stopped is whether it is installed and nothing listens at its socket.
	Stopped bool
	// Userns is the user whose ids containers get by daemon.json (userns-remap); empty
	// if it is not set.
	Userns string
	// CRI is whether cri-dockerd is installed, through which kubelet uses docker.
	CRI bool
}

// Containerd is containerd.
type Containerd struct {
	Engine
	// NoCRI is whether its CRI plugin is disabled.
	NoCRI bool
	// Stale is whether our drop-in is out of date.
	Stale bool
	// Ours is the path of our drop-in.
	Ours string
	// Unread are the files of its configuration that are newer than the daemon's socket, which
	// the daemon makes when it starts.
	Unread []string
}

// Remote is an engine on another host.
type Remote struct {
	// Engine is "docker" or "podman".
	Engine string
	// Address is the engine's address, Origin the setting that selects it.
	Address, Origin string
	// Undo is the command that selects this host's engine again.
	Undo string
}

// allInstalled are the installed engines, in a fixed order.
func (e Engines) allInstalled() []Engine {
	return slices.DeleteFunc([]Engine{e.Docker.Engine, e.Containerd.Engine, e.CRIO, e.Podman},
		func(one Engine) bool { return !one.There() })
}

// systemdCgroups reports whether an engine has systemd manage its containers' cgroups,
// so that a reload of systemd resets the device rules of a container.
func (f *Facts) systemdCgroups() bool {
	if f.Engines.Docker.Info != nil && f.Engines.Docker.Info.CgroupDriver == "systemd" {
		return true
	}
	if slices.ContainsFunc(f.Engines.allInstalled(), func(e Engine) bool { return e.Systemd == engine.On }) {
		return true
	}
	// Podman and CRI-O use systemd by default where it runs.
	others := (f.Engines.Podman.There() && f.Engines.Podman.Systemd != engine.Off) ||
		(f.Engines.CRIO.There() && f.Engines.CRIO.Systemd != engine.Off)
	return f.Kernel.Systemd && others
}
