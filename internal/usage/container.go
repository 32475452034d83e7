// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// The labels that metax-docker puts on a container. Engines that keep labels outside the
// OCI bundle also get them as annotations.
const (
	LeaseLabel = "metax-tech.com/lease" // the lease's ID
	GPUsLabel  = "metax-tech.com/gpus"  // the indices of the GPUs, for people: "0,1"
	// SlicesLabel has the names of the container's slices of GPUs, with commas.
	SlicesLabel = "metax-tech.com/sgpus"
	// IDsLabel has the UUIDs of the GPUs, or the PCI address of one whose UUID is not known.
	IDsLabel = "metax-tech.com/ids"
)

// ComposeService is the label by which compose knows the service of a container.
const ComposeService = "com.docker.compose.service"

// Kubernetes is the Engine of containers that the kubelet lists, and of the leases of pods.
// The ID and the name of such a container are "namespace/pod/container".
const Kubernetes = "kubernetes"

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

// Facts is what never changes about a container once it is made. The state file keeps
// facts, so that an engine is asked for them once.
type Facts struct {
	Name  string `json:"name,omitempty"`
	Image string `json:"image,omitempty"`
	// Lease is the value of LeaseLabel, which any user can set.
	Lease string `json:"lease,omitempty"`
	// GPUs are those whose devices the engine gave it, and those that it requests from the
	// runtime shim or a hook, ascending.
	GPUs []gpu.BDF `json:"gpus,omitempty"`
	// Slices are the names of its slices, by its devices, its requests and SlicesLabel;
	// ascending.
	Slices []string `json:"slices,omitempty"`
	// Privileged containers have the devices of the whole host; GPUs are those that they
	// request by name.
	Privileged bool `json:"privileged,omitempty"`
	// Ignored is a request in its environment that gives no GPU, because an image can set it,
	// as "METAX_VISIBLE_DEVICES=0". The text is the container's own.
	Ignored string `json:"ignored,omitempty"`
	// Created is when, by the engine's clock; for people only.
	Created time.Time `json:"created,omitzero"`
}

// WhyIgnored says why a request in a container's environment gives no GPU, and what does.
func WhyIgnored(request string) string {
	return request +
		" gives none, because an image can set it; request GPUs by metax-docker --gpus, --device metax-tech.com/gpu=N or the annotation metax-tech.com/gpu"
}

// Container is a container of some engine as a source sees it.
type Container struct {
	Engine    string // "docker", "containerd", "podman", "cri-o", or Kubernetes
	Namespace string // containerd's namespace
	ID        string
	Facts
	State ContainerState
	// Keeps is true where a restart policy will start the container again.
	Keeps bool
	// Started is when the container last started, in the engine's format; it is only
	// compared with itself.
	Started string
	// Given is what metax-docker recorded when it made the container, if the source shows it.
	Given Given
	// Init is the pid of the container's first process, 0 if it has none or it is not known.
	Init int
}

// Key identifies the container among those of all engines and daemons. A full ID is unique
// by itself, and the same in docker and in containerd.
func (c Container) Key() string { return Key(c.Engine, c.Namespace, c.ID) }

// Key returns Container.Key by its parts.
func Key(engine, namespace, id string) string {
	if len(id) == 64 {
		return id
	}
	return engine + "/" + namespace + "/" + id
}

// Holds reports whether the container uses its GPUs: it runs, is about to, or will be
// started again by its restart policy.
func (c Container) Holds() bool {
	switch c.State {
	case Created, Running, Paused, Restarting:
		return true
	case Exited:
		return c.Keeps
	case Removing, Dead: // cannot be started again
	}
	return false
}
