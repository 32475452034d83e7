package plugin

import (
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/foreignuse"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

// nodeView is what is known of a node at one time: what it looks like, who requests devices, and what was
// given. Nobody changes it once others see it, nor what its fields point to.
type nodeView struct {
	snapshot    *allocate.Snapshot // nil before the first look
	software    *edits.Software    // files of the host's MXMACA; nil if they are not known
	cdi         bool
	mode        protocol.ModeSettings
	modeGuessed bool // mode was chosen before a configured one was known
	record      allocations.State
	listed      []allocations.Listed // by the kubelet; nil before its first answer
	requests    []allocate.Request
	podsKnown   bool // requests are known
	outside     []foreignuse.Use
}

// wanted are the containers of the node's pods that ask for devices, nil if they are not known.
func (v *nodeView) wanted() []allocations.Wanted {
	if !v.podsKnown {
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
	v.mode, blocked = allocate.NextMode(before, configured, allocate.Use{Containers: v.record.Uses(v.listed), Outside: len(v.outside)})
	return blocked
}

// serves reports whether a device is of the mode, once there is one.
func (v *nodeView) serves(id string) bool {
	return v.mode.Mode == "" || inventory.Serves(v.mode.Mode, id)
}

// registration returns what schedulers are told of the GPUs; empty in another mode than ModeSGPU.
func (v *nodeView) registration() string {
	if v.snapshot == nil || v.mode.Mode != protocol.ModeSGPU {
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

// podsWithGPUs returns the pods that have GPUs or slices.
func (v *nodeView) podsWithGPUs() []allocate.Given {
	if v.snapshot == nil {
		return nil
	}
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

// forgetEnded drops what pods had that have ended by the pods of the node now: entries with slices, and those
// of the known requests. Requests that became known later may be of pods newer than the list.
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
