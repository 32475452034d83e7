package usage

import (
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// The labels that metax-docker puts on a container; engines that keep labels
// apart from the OCI bundle get them as annotations too.
const (
	LeaseLabel = "metax-tech.com/lease" // the lease's ID
	GPUsLabel  = "metax-tech.com/gpus"  // the indices of the GPUs, for people: "0,1"
	// SlicesLabel has the names of slices, with commas, where it has some of GPUs.
	SlicesLabel = "metax-tech.com/sgpus"
)

// ContainerState is the state of a container, in docker's words.
type ContainerState string

// The states; an engine that knows fewer uses the nearest.
const (
	Created    ContainerState = "created"
	Running    ContainerState = "running"
	Paused     ContainerState = "paused"
	Restarting ContainerState = "restarting"
	Removing   ContainerState = "removing"
	Exited     ContainerState = "exited"
	Dead       ContainerState = "dead"
)

// Facts is what never changes about a container once it is made. What was
// learned once is kept in the State, and asked no more.
type Facts struct {
	Name  string `json:"name,omitempty"`
	Image string `json:"image,omitempty"`
	// Lease is the value of LeaseLabel: a claim, which anybody can make.
	Lease string `json:"lease,omitempty"`
	// GPUs are those whose devices the engine gave it, and those that it asks the
	// runtime shim or a hook for, ascending.
	GPUs []gpu.BDF `json:"gpus,omitempty"`
	// Slices are the names of slices that it has, as far as its devices and what it
	// asks for tell, and those of SlicesLabel; ascending.
	Slices []string `json:"slices,omitempty"`
	// Privileged containers have the devices of the whole host; GPUs are those
	// that they ask for by name.
	Privileged bool `json:"privileged,omitempty"`
	// Created is when, by the engine's clock; for people only.
	Created time.Time `json:"created,omitzero"`
}

// Container is a container of some engine as a source sees it.
type Container struct {
	Engine    string // "docker", "containerd", "podman", "cri-o"
	Namespace string // containerd's namespace
	ID        string
	Facts
	State ContainerState
	// Keeps is true where a restart policy will start the container again.
	Keeps bool
	// Started is the engine's own word for when the container last started, to be
	// compared with itself only.
	Started string
	// Init is the pid of the container's first process, 0 if it has none or that is
	// not known.
	Init int
}

// Key names the container among those of all engines and daemons. A full ID is
// unique by itself, and docker's containers are containerd's too.
func (c Container) Key() string { return Key(c.Engine, c.Namespace, c.ID) }

// Key is Container.Key of a container that is known by these alone.
func Key(engine, namespace, id string) string {
	if len(id) == 64 {
		return id
	}
	return engine + "/" + namespace + "/" + id
}

// Holds reports whether a container in this state keeps others from its GPUs: it
// lives, or is about to, or its restart policy will bring it back.
func (c Container) Holds() bool {
	switch c.State {
	case Created, Running, Paused, Restarting:
		return true
	case Exited:
		return c.Keeps
	}
	return false
}
