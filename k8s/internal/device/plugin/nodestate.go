// SPDX-License-Identifier: Apache-2.0

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

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/foreignuse"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

// NodeState is what the plugin knows of its node and what containers were given. Changes come
// one after another, and each is kept in a file. Readers have a nodeView, and wait for nobody.
type NodeState struct {
	Settings
	// Mixed makes the node a mixed one: a device is given only with a lease.
	Mixed bool
	Store allocations.Store
	Log   *slog.Logger
	// Changed is called, if it is not nil, when what InUse returns may have changed.
	Changed func()
	// Ask is signalled, if it is not nil, when the kubelet's list may have changed. It has
	// room for one signal.
	Ask chan struct{}

	changing sync.Mutex
	current  atomic.Pointer[nodeView]
}

var errNoNode = errors.New("the GPUs of this node are not known yet")

// view returns what is known now.
func (n *NodeState) view() *nodeView { return cmp.Or(n.current.Load(), new(nodeView)) }

// change changes what is known. Nothing else changes it meanwhile, so by must not wait, nor
// call what changes it also: it has the nodeView alone.
func (n *NodeState) change(by func(*nodeView)) {
	n.changing.Lock()
	defer n.changing.Unlock()
	v := *n.view()
	before := v.record.Entries
	by(&v)
	if !reflect.DeepEqual(before, v.record.Entries) {
		if err := n.Store.Save(v.record); err != nil { // it costs precision after a restart, and no container
			n.Log.Warn("the record of allocations is only in memory", "reason", err)
		}
	}
	n.publish(v)
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

// learn takes something about the use of devices, brings the record in line with it, and
// reports it.
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

// SetNode takes a node and its devices, and the files of the host's MXMACA for containers that
// do not get names of CDI devices, nil if they are not known.
func (n *NodeState) SetNode(node gpu.Node, devices []inventory.Device, software *edits.Software) {
	n.change(func(v *nodeView) { v.software, v.snapshot = software, allocate.New(node, devices, v.snapshot) })
}

// SetRequests takes the containers of the node's pods that ask for devices.
func (n *NodeState) SetRequests(requests []allocate.Request) {
	n.learn(func(v *nodeView) { v.requests = append([]allocate.Request{}, requests...) })
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

// Switch chooses the mode as allocate.NextMode does, so that no container gets GPUs meanwhile.
// It returns the mode, and why it is not the configured one. As long as no configured one is
// known, the mode is a guess: the first that becomes known counts as at the start. A lease is
// of whole GPUs, so a mixed node gives whole GPUs.
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

// nodeView is what is known of a node at one time: what it looks like, who requests devices,
// and what was given. Nobody changes it once others see it, nor what its fields point to.
type nodeView struct {
	snapshot    *allocate.Snapshot // nil before the first look
	software    *edits.Software    // files of the host's MXMACA; nil if they are not known
	cdi         bool
	mode        protocol.ModeSettings
	modeGuessed bool // mode was chosen before a configured one was known
	record      allocations.State
	listed      []allocations.Listed // by the kubelet; nil before its first answer
	requests    []allocate.Request   // nil if they are not known
	outside     []foreignuse.Use
}

// wanted are the containers of the node's pods that ask for devices, nil if they are not
// known.
func (v *nodeView) wanted() []allocations.Wanted {
	if v.requests == nil {
		return nil
	}
	all := []allocations.Wanted{}
	for _, r := range v.requests {
		all = append(all, r.Wanted)
	}
	return all
}

// settle brings the record in line with what the kubelet lists and with the pods.
func (v *nodeView) settle(now time.Time) { v.record = v.record.Settle(v.listed, v.wanted(), now) }

// notEnded is what the kubelet lists of pods that have not ended.
func (v *nodeView) notEnded() []allocations.Listed {
	if pods := v.wanted(); pods != nil {
		return allocations.NotEnded(v.listed, pods)
	}
	return v.listed
}

// inUse returns the ids of devices that are not free, ascending.
func (v *nodeView) inUse() []string {
	if v.mode.Mode != protocol.ModeSGPU {
		return v.record.InUse(v.listed)
	}
	var ids []string // which GPUs they are of, only the record says
	for _, h := range v.record.Slices() {
		ids = append(ids, inventory.SliceID(h.UUID, 0))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// switchMode chooses the mode, and returns why it is not the configured one.
func (v *nodeView) switchMode(configured protocol.ModeSettings) (blocked string) {
	before := v.mode
	if v.modeGuessed && configured.Mode != "" {
		before = protocol.ModeSettings{}
	}
	v.modeGuessed = configured.Mode == "" && (v.modeGuessed || before.Mode == "")
	v.mode, blocked = allocate.NextMode(before, configured,
		allocate.Use{Containers: v.record.Uses(v.listed), Outside: len(v.outside)})
	return blocked
}

// registration returns what schedulers are told of the GPUs; empty in another mode than
// ModeSGPU. It is for after the first look.
func (v *nodeView) registration() string {
	if v.mode.Mode != protocol.ModeSGPU {
		return ""
	}
	return foreign.Registration(v.snapshot.Registration(v.record))
}

// podsGivenGPUs returns the pods that have GPUs, by what the kubelet lists.
func (v *nodeView) podsGivenGPUs() []allocate.Given {
	if v.snapshot == nil {
		return nil
	}
	return allocate.GivenTo(v.requests, v.notEnded(), v.snapshot.Devices())
}

// podsWithGPUs returns the pods that have GPUs or slices, after the first look.
func (v *nodeView) podsWithGPUs() []allocate.Given {
	return allocate.Holders(v.requests, v.record, v.notEnded(), v.snapshot.Devices())
}

// onlyWaiting returns a lock for the only pod that waits for slices.
func (v *nodeView) onlyWaiting() (lock foreign.Lock, err error) {
	for _, r := range v.requests {
		found := foreign.Lock{Namespace: r.Namespace, Pod: r.Pod}
		if r.Resource != protocol.SliceResource || r.Admitted || v.record.Has(r.Container) || found == lock {
			continue
		}
		if lock.Pod != "" {
			return foreign.Lock{}, errors.New("several pods wait for slices, and no lock says which one is next")
		}
		lock = found
	}
	if lock.Pod == "" {
		return lock, errors.New("no pod is known that waits for slices")
	}
	return lock, nil
}

// forgetEnded drops what pods had that have ended by the pods of the node now: entries with
// slices, and those of the known requests. Requests that became known later may be of pods
// newer than the list.
func (v *nodeView) forgetEnded(known []allocate.Request, pods []corev1.Pod) {
	hasEnded := func(c allocations.Container) bool {
		return !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return string(p.UID) == c.UID && !objects.HasEnded(&p) })
	}
	v.requests = slices.DeleteFunc(slices.Clone(v.requests), func(r allocate.Request) bool {
		return slices.ContainsFunc(known, func(k allocate.Request) bool { return k.UID == r.UID }) && hasEnded(r.Container)
	})
	v.record.Entries = slices.DeleteFunc(slices.Clone(v.record.Entries), func(e allocations.Entry) bool {
		return len(e.Slices) > 0 && e.For != nil && e.For.UID != "" && hasEnded(*e.For)
	})
}

// checkSlices checks, before a container starts, the GPUs of the slices that it was given.
func (v *nodeView) checkSlices(ids []string) ([]inventory.Device, error) {
	var devices []string
	for _, e := range v.record.Entries {
		if slices.ContainsFunc(e.IDs, func(id string) bool { return slices.Contains(ids, id) }) {
			for _, part := range e.Slices {
				devices = append(devices, inventory.SliceID(part.UUID, 0))
			}
		}
	}
	if len(devices) == 0 {
		return nil, errors.New("its slices are gone, as after a reboot of the node; delete the pod")
	}
	return v.snapshot.Check(devices)
}
