package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/foreignuse"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// NodeState is what the plugin knows of its node and what containers were given. Changes come one after
// another, and each is kept in a file. Readers have a nodeView, and wait for nobody.
type NodeState struct {
	Settings
	// Mixed makes the node a mixed one: a device is given only with a lease.
	Mixed bool
	Store allocations.Store
	Log   *slog.Logger
	// Changed is called, if it is not nil, when what InUse returns may have changed.
	Changed func()
	// Ask is signalled, if it is not nil, when the kubelet's list may have changed. It has room for
	// one signal.
	Ask chan struct{}

	changing sync.Mutex
	current  atomic.Pointer[nodeView]
}

var errNoNode = errors.New("the GPUs of this node are not known yet")

// view returns what is known now.
func (n *NodeState) view() *nodeView { return cmp.Or(n.current.Load(), new(nodeView)) }

// change changes what is known. Nothing else changes it meanwhile, so by must not wait, nor call what changes
// it also: it has the nodeView alone.
func (n *NodeState) change(by func(*nodeView)) {
	n.changing.Lock()
	defer n.changing.Unlock()
	v := *n.view()
	before := v.record.Entries
	by(&v)
	if !reflect.DeepEqual(before, v.record.Entries) {
		n.save(v.record)
	}
	n.publish(v)
}

// save keeps the record. A file that cannot be written costs precision after a restart, and no container.
func (n *NodeState) save(record allocations.State) {
	if err := n.Store.Save(record); err != nil {
		n.Log.Warn("the record of allocations is only in memory", "reason", err)
	}
}

// publish completes a nodeView, and makes it what readers see.
func (n *NodeState) publish(v nodeView) {
	if v.snapshot != nil {
		s := *v.snapshot
		s.Policy, s.Outside, s.Mixed = n.Policy, foreignuse.GPUs(v.outside), n.Mixed
		s.Waiting = allocate.NewWaiting(v.requests, v.record, v.listed)
		v.snapshot = &s
	}
	n.current.Store(&v)
}

// learn takes something about the use of devices, brings the record in line with it, and reports it.
func (n *NodeState) learn(by func(*nodeView)) {
	n.change(func(v *nodeView) {
		by(v)
		v.settle(time.Now())
	})
	n.report()
}

// report says that devices in use may have changed.
func (n *NodeState) report() {
	if n.Changed != nil {
		n.Changed()
	}
}

func (n *NodeState) askKubelet() {
	select {
	case n.Ask <- struct{}{}:
	default: // it is signalled already, or nobody listens
	}
}

// Load reads the record of former answers. A record that cannot be used is logged, and begun
// anew.
func (n *NodeState) Load() {
	record, err := n.Store.Load()
	if err != nil {
		n.Log.Warn("the record of allocations begins anew", "reason", err)
	}
	n.changing.Lock()
	defer n.changing.Unlock()
	v := *n.view()
	v.record = record
	n.publish(v)
}

// SetNode takes a node and its devices, and the files of the host's MXMACA for containers that do
// not get names of CDI devices, nil if they are not known.
func (n *NodeState) SetNode(node gpu.Node, devices []inventory.Device, software *edits.Software) {
	n.change(func(v *nodeView) { v.software, v.snapshot = software, allocate.New(node, devices, v.snapshot) })
}

// SetRequests takes the containers of the node's pods that ask for devices.
func (n *NodeState) SetRequests(requests []allocate.Request) {
	n.learn(func(v *nodeView) { v.requests, v.podsKnown = requests, true })
	n.askKubelet()
}

// SetListed takes what the kubelet lists.
func (n *NodeState) SetListed(listed []allocations.Listed) {
	n.learn(func(v *nodeView) { v.listed = append([]allocations.Listed{}, listed...) })
}

// SetOutside takes the GPUs that containers outside Kubernetes use.
func (n *NodeState) SetOutside(uses []foreignuse.Use) {
	if !slices.Equal(n.view().outside, uses) {
		n.learn(func(v *nodeView) { v.outside = uses })
	}
}

// SetCDI says whether containers get names of CDI devices or device nodes and mounts. The zero
// value gives device nodes.
func (n *NodeState) SetCDI(cdi bool) {
	n.change(func(v *nodeView) { v.cdi = cdi })
}

// Switch chooses the mode as allocate.NextMode does, so that no container gets GPUs meanwhile. It
// returns the mode, and why it is not the configured one. As long as no configured one is known, the
// mode is a guess: the first that becomes known counts as at the start. A lease is of whole GPUs, so a
// mixed node gives whole GPUs.
func (n *NodeState) Switch(configured protocol.ModeSettings) (now protocol.ModeSettings, blocked string) {
	mixed := ""
	if mode := configured.Mode; n.Mixed && mode != "" && mode != protocol.ModeNative {
		mixed = fmt.Sprintf("mode %s is configured: a mixed node gives whole GPUs", mode)
		configured = protocol.ModeSettings{Mode: protocol.ModeNative}
	}
	n.change(func(v *nodeView) {
		blocked = v.switchMode(configured)
		now = v.mode
	})
	return now, cmp.Or(blocked, mixed)
}

// InUse returns the ids of devices that are not free, ascending, and the GPUs that containers
// outside Kubernetes use.
func (n *NodeState) InUse() (ids []string, outside []foreignuse.Use) {
	v := n.view()
	return v.inUse(), v.outside
}

// Offered returns the devices without those that are withdrawn from pods.
func (n *NodeState) Offered(devices []inventory.Device) []inventory.Device {
	v := n.view()
	if !n.Mixed || v.snapshot == nil {
		return devices
	}
	return foreignuse.Withdraw(v.snapshot.Node(), devices, v.outside, v.inUse())
}
