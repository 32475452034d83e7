// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"log/slog"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Node follows the GPUs of a node: each look gives the next state of their health, and with it
// the devices that the kubelet is told and that the Allocator knows. It is for one goroutine.
type Node struct {
	Rules     health.Rules
	Options   inventory.Options // HideUnhealthy does not matter: List hides
	Resources []*Resource
	Allocator *Allocator
	Log       *slog.Logger
	Metrics   *Metrics
	// Software finds the files of the host's MXMACA, which containers need that do not get
	// names of CDI devices; nil if nobody needs them.
	Software func() *edits.Software

	node    gpu.Node
	state   health.State
	devices []inventory.Device
	told    []inventory.Device // by Tell
	unnamed []gpu.BDF
	// software is what Software found when the node's MXMACA last changed.
	software *edits.Software
}

// Seen is what a look changed.
type Seen struct {
	Node    gpu.Node
	State   health.State
	Devices []inventory.Device
	Changes []health.Change
}

// See takes a look at a node.
func (n *Node) See(node gpu.Node, look health.Look, now time.Time) Seen {
	rules := n.Rules
	rules.Exclude = look.Keys(n.Options.Exclude)
	var changes []health.Change
	n.state, changes = n.state.Next(look, rules)
	if n.Software != nil && !sameMACA(n.node.MACA, node.MACA) {
		n.software = nil
		if node.MACA != nil {
			n.software = n.Software()
		}
	}
	n.node = named(node, n.state)
	n.say(changes)
	n.makeDevices(now)
	return Seen{Node: n.node, State: n.state, Devices: n.devices, Changes: changes}
}

// named returns the node with the UUIDs that earlier looks knew: of an unhealthy GPU, nobody
// may say it any more.
func named(node gpu.Node, s health.State) gpu.Node {
	node.GPUs = slices.Clone(node.GPUs)
	for i := range node.GPUs {
		g := &node.GPUs[i]
		key := health.GPU{Index: g.Index, BDF: g.BDF}.Key()
		if at := slices.IndexFunc(s.GPUs, func(c health.Condition) bool { return c.Key() == key }); g.UUID == "" && at >= 0 {
			g.UUID = s.GPUs[at].UUID
		}
	}
	return node
}

// SetMode makes the devices of the mode.
func (n *Node) SetMode(m protocol.ModeSettings, now time.Time) []inventory.Device {
	n.Options.ModeSettings = m
	n.makeDevices(now)
	return n.devices
}

func (n *Node) makeDevices(now time.Time) {
	options := n.Options
	options.HideUnhealthy = false
	var unnamed []gpu.BDF
	n.devices, unnamed = inventory.Devices(n.node, n.state, options)
	if len(unnamed) > 0 && len(n.unnamed) == 0 {
		n.Log.Warn("GPUs without a known UUID are not devices", "bdf", unnamed)
	}
	n.unnamed = unnamed
	n.Allocator.State.SetNode(n.node, n.devices, n.software)
	n.Tell(now)
}

func sameMACA(a, b *gpu.MACA) bool { return a == b || (a != nil && b != nil && *a == *b) }

// Tell tells the kubelet which devices there are now. Between two looks it is called for
// devices that are to leave the list, and for those that are in use outside Kubernetes.
func (n *Node) Tell(now time.Time) {
	offered := n.Allocator.State.Offered(n.devices)
	if !slices.Equal(offered, n.told) {
		n.Metrics.SetDevices(offered)
	}
	n.told = offered
	for _, r := range n.Resources {
		var devices []inventory.Device
		switch {
		case r.VFIO != nil:
			devices = r.VFIO.Set(inventory.VFIO(n.node, n.Options))
		case r.serves(n.Options.Mode):
			devices = offered
		}
		r.SetDevices(r.List.Next(devices, now))
	}
}

// say logs what changed.
func (n *Node) say(changes []health.Change) {
	for _, c := range changes {
		if c.Health == health.Healthy {
			n.Log.Info("a GPU is healthy", "gpu", c.Index, "uuid", c.UUID, "bdf", c.BDF, "before", c.Before)
		} else {
			n.Log.Warn("a GPU cannot be given", "gpu", c.Index, "uuid", c.UUID, "bdf", c.BDF, "health", c.Health, "code", c.Code,
				"reason", c.Reason)
		}
	}
}
