package doctor

import (
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/containerd"
)

// Engines are the container engines of the host.
type Engines struct {
	Docker     Docker
	Containerd Containerd
	Podman     Engine
	CRIO       Engine
	// Distributions are those of Kubernetes that bring a containerd of their own.
	Distributions []containerd.Place
	// Remotes are engines that the environment chooses on other hosts.
	Remotes []Remote
}

// Engine is one engine as its files and its program tell of it.
type Engine struct {
	// Name is what metax-ctk runtime configure calls it.
	Name string
	// Program is the path of its program in the host; empty if it is not there.
	Program string
	Version engine.Version
	// Failed is why the program does not tell its version; empty if it was not
	// asked.
	Failed string
	// Config is the path of its configuration, and Broken what is wrong with it.
	Config, Broken string
	engine.State
	// Missing are the names of runtimes whose program is not there.
	Missing []string
}

// There reports whether the engine is installed.
func (e Engine) There() bool { return e.Program != "" }

// Docker is the docker daemon.
type Docker struct {
	Engine
	// Socket reports whether it is there, and Open whether the asker may talk to it.
	Socket, Open bool
	// Info is what the daemon says of itself; nil if it does not answer, for the
	// reason Silent.
	Info   *DockerInfo
	Silent string
	// Userns is whose ids daemon.json has containers run with (userns-remap); empty
	// if nobody's.
	Userns string
	// CRI reports whether cri-dockerd is there, through which kubelet uses docker.
	CRI bool
}

// DockerInfo is what is needed of the daemon's /info.
type DockerInfo struct {
	ServerVersion     string
	CgroupDriver      string
	SecurityOptions   []string
	CDISpecDirs       []string
	DiscoveredDevices []struct{ Source, ID string }
}

// Rootless reports whether the daemon is a user's own.
func (i *DockerInfo) Rootless() bool {
	return i != nil && slices.ContainsFunc(i.SecurityOptions, func(o string) bool { return strings.HasPrefix(o, "name=rootless") })
}

// userns reports whether the daemon runs containers in a user namespace.
func (i *DockerInfo) userns() bool {
	return i != nil && slices.ContainsFunc(i.SecurityOptions, func(o string) bool { return o == "name=userns" })
}

// Containerd is containerd.
type Containerd struct {
	Engine
	// NoCRI tells that its CRI plugin is disabled.
	NoCRI bool
	// Stale tells that our drop-in no longer has what the configuration says.
	Stale bool
	// Ours is the drop-in's path.
	Ours string
}

// Remote is an engine on another host.
type Remote struct {
	// Engine is "docker" or "podman".
	Engine string
	// Address is where it is, and Origin what says so.
	Address, Origin string
	// Undo is the command that turns back to this host's.
	Undo string
}

// all are the engines that are there, in a fixed order.
func (e Engines) all() []Engine {
	return slices.DeleteFunc([]Engine{e.Docker.Engine, e.Containerd.Engine, e.CRIO, e.Podman}, func(one Engine) bool { return !one.There() })
}

// systemdCgroups reports whether an engine has systemd manage its containers'
// cgroups, so that a reload of systemd puts the device rules of a container back.
func (f *Facts) systemdCgroups() bool {
	if f.Engines.Docker.Info != nil && f.Engines.Docker.Info.CgroupDriver == "systemd" {
		return true
	}
	if slices.ContainsFunc(f.Engines.all(), func(e Engine) bool { return e.Systemd == engine.On }) {
		return true
	}
	// Podman and CRI-O take systemd where it runs, unless told otherwise.
	others := f.Engines.Podman.There() && f.Engines.Podman.Systemd != engine.Off || f.Engines.CRIO.There() && f.Engines.CRIO.Systemd != engine.Off
	return f.Kernel.Systemd && others
}
