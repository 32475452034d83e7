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

	"k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/foreignuse"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

// MACA says which containers are given the host's MXMACA.
type MACA string

// The settings for MXMACA.
const (
	MACAOff    MACA = "off"
	MACAAuto   MACA = "auto" // those whose pod requests it
	MACAAlways MACA = "always"
	// MACAFallback is those whose image has none, by CDI, and those whose pod requests it.
	MACAFallback MACA = "fallback"
)

// ParseMACA reads the name of a setting.
func ParseMACA(s string) (MACA, error) {
	switch v := MACA(s); v {
	case MACAOff, MACAAuto, MACAAlways, MACAFallback:
		return v, nil
	}
	return "", fmt.Errorf("%q is not a setting for MXMACA; want %s, %s, %s or %s", s, MACAOff, MACAAuto, MACAAlways, MACAFallback)
}

// Settings are what an administrator decides about answers to the kubelet.
type Settings struct {
	Policy key.Policy
	// PodPolicies lets pods request a policy and GPUs.
	PodPolicies bool
	MACA        MACA
	EngineRoot  string // as in allocate.Form
	// Kunlunxin tells containers and pods the indices of their GPUs, as Kunlunxin's plugin does.
	Kunlunxin bool
}

// Allocator is the Backend of MetaX GPUs. It answers from a Snapshot in memory, which it makes
// anew whenever what it knows changes, and records what it answers. It waits for nobody.
type Allocator struct {
	Settings
	Store   allocations.Store
	Root    *hostfs.Root // of the host, to look at device nodes; nil if they are not to be seen
	Log     *slog.Logger
	Metrics *Metrics
	// Changed is called, if it is not nil, when what InUse returns may have changed.
	Changed func()
	// Ask is signalled, if it is not nil, when the kubelet's list may have changed. It has room for
	// one signal.
	Ask chan struct{}
	// Leases make the node a mixed one: a device is given only with a lease. It is nil on others.
	Leases *Leases
	// Slices are for ModeSGPU; nil if slices cannot be given.
	Slices *SliceTools

	taking      sync.Mutex // of leases; it is locked before mu
	slicing     sync.Mutex // held while slices change, before mu
	snapshot    atomic.Pointer[allocate.Snapshot]
	mu          sync.Mutex // guards what follows, from which the snapshot is made
	state       allocations.State
	listed      []allocations.Listed
	requests    []allocate.Request
	pods        bool // requests are known
	outside     []foreignuse.Use
	software    *edits.Software
	cdi         bool
	mode        protocol.ModeSettings
	modeGuessed bool // mode was chosen before a configured one was known
}

var errNoNode = errors.New("the GPUs of this node are not known yet")

// Load reads the record of former answers. A record that cannot be used is logged, and begun
// anew.
func (a *Allocator) Load() {
	state, err := a.Store.Load()
	if err != nil {
		a.Log.Warn("the record of allocations begins anew", "reason", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state = state
}

// SetNode takes a node and its devices, and the files of the host's MXMACA for containers that do
// not get names of CDI devices, nil if they are not known.
func (a *Allocator) SetNode(node gpu.Node, devices []inventory.Device, software *edits.Software) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.software = software
	a.store(allocate.New(node, devices, a.snapshot.Load()))
}

// SetRequests takes the containers of the node's pods that ask for devices.
func (a *Allocator) SetRequests(requests []allocate.Request) {
	a.update(func() { a.requests, a.pods = requests, true })
	a.ask()
}

func (a *Allocator) ask() {
	select {
	case a.Ask <- struct{}{}:
	default: // it is signalled already, or nobody listens
	}
}

// Switch chooses the mode as allocate.NextMode does, so that no container gets GPUs meanwhile. It
// returns the mode, and why it is not the configured one. As long as no configured one is known, the
// mode is a guess: the first that becomes known counts as at the start. A lease is of whole GPUs, so a
// mixed node gives whole GPUs.
func (a *Allocator) Switch(configured protocol.ModeSettings) (now protocol.ModeSettings, blocked string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	mixed := ""
	if mode := configured.Mode; a.Leases != nil && mode != "" && mode != protocol.ModeNative {
		mixed = fmt.Sprintf("mode %s is configured: a mixed node gives whole GPUs", mode)
		configured = protocol.ModeSettings{Mode: protocol.ModeNative}
	}
	before := a.mode
	if a.modeGuessed && configured.Mode != "" {
		before = protocol.ModeSettings{}
	}
	a.modeGuessed = configured.Mode == "" && (a.modeGuessed || before.Mode == "")
	a.mode, blocked = allocate.NextMode(before, configured, allocate.Use{Containers: a.state.Uses(a.listed), Outside: len(a.outside)})
	return a.mode, cmp.Or(blocked, mixed)
}

// SetListed takes what the kubelet lists.
func (a *Allocator) SetListed(listed []allocations.Listed) {
	a.update(func() { a.listed = append([]allocations.Listed{}, listed...) })
}

// SetOutside takes the GPUs that containers outside Kubernetes use.
func (a *Allocator) SetOutside(uses []foreignuse.Use) {
	a.mu.Lock()
	same := slices.Equal(a.outside, uses)
	a.mu.Unlock()
	if !same {
		a.update(func() { a.outside = uses })
	}
}

// SetCDI says whether containers get names of CDI devices or device nodes and mounts. The zero
// value gives device nodes.
func (a *Allocator) SetCDI(cdi bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cdi = cdi
}

// update changes what is known, and makes the Snapshot anew.
func (a *Allocator) update(change func()) {
	a.mu.Lock()
	change()
	a.record(a.state.Settle(a.listed, a.wanted(), time.Now()))
	if before := a.snapshot.Load(); before != nil {
		a.store(allocate.New(before.Node(), before.Devices(), before))
	}
	a.mu.Unlock()
	if a.Changed != nil {
		a.Changed()
	}
}

// wanted are the containers of the node's pods that ask for devices, nil if they are not known. The
// caller has the lock.
func (a *Allocator) wanted() []allocations.Wanted {
	if !a.pods {
		return nil
	}
	all := []allocations.Wanted{}
	for _, r := range a.requests {
		all = append(all, r.Wanted)
	}
	return all
}

// store completes a new Snapshot. The caller has the lock.
func (a *Allocator) store(s *allocate.Snapshot) {
	s.Policy, s.Outside, s.Mixed = a.Policy, foreignuse.GPUs(a.outside), a.Leases != nil
	s.Waiting = allocate.NewWaiting(a.requests, a.state, a.listed)
	a.snapshot.Store(s)
}

// record keeps a State. A file that cannot be written costs precision after a restart, and no
// container. The caller has the lock.
func (a *Allocator) record(s allocations.State) {
	before := a.state
	a.state = s
	if reflect.DeepEqual(before.Entries, s.Entries) {
		return
	}
	if err := a.Store.Save(s); err != nil {
		a.Log.Warn("the record of allocations is only in memory", "reason", err)
	}
}

// InUse returns the ids of devices that are not free, ascending, and the GPUs that containers
// outside Kubernetes use.
func (a *Allocator) InUse() (ids []string, outside []foreignuse.Use) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ids = a.state.InUse(a.listed)
	if a.mode.Mode == protocol.ModeSGPU {
		ids = nil // which GPUs they are of, only the record says
		for _, h := range a.state.Slices() {
			ids = append(ids, inventory.SliceID(h.UUID, 0))
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
	}
	return ids, a.outside
}

// Offered returns the devices without those that are withdrawn from pods.
func (a *Allocator) Offered(devices []inventory.Device) []inventory.Device {
	s := a.snapshot.Load()
	if a.Leases == nil || s == nil {
		return devices
	}
	inUse, uses := a.InUse()
	return foreignuse.Withdraw(s.Node(), devices, uses, inUse)
}

// Registration returns what schedulers are told of the GPUs; empty in another mode than ModeSGPU.
func (a *Allocator) Registration() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.snapshot.Load()
	if s == nil || a.mode.Mode != protocol.ModeSGPU {
		return ""
	}
	return foreign.Registration(s.Registration(a.state))
}

func isSlice(id string) bool { return inventory.Serves(protocol.ModeSGPU, id) }

// Preferred implements Backend.
func (a *Allocator) Preferred(available, required []string, n int) []string {
	s := a.snapshot.Load()
	if s == nil || slices.ContainsFunc(available, isSlice) {
		return nil // which slices count, a scheduler has chosen
	}
	p := s.Prefer(available, required, n, a.PodPolicies)
	a.Metrics.guessed(p.Guessed)
	if p.Fallback != "" {
		a.Metrics.fallback()
		a.Log.Warn("GPUs are preferred by their order", "reason", p.Fallback, "preferred", p.IDs)
	} else {
		a.Log.Debug("preferred", "ids", p.IDs, "of", len(available))
	}
	return p.IDs
}

// Allocate implements Backend.
func (a *Allocator) Allocate(ids []string) (*v1beta1.ContainerAllocateResponse, error) {
	if a.Leases != nil {
		a.taking.Lock()
		defer a.taking.Unlock()
		if err := a.take(ids); err != nil {
			a.Metrics.allocated(err)
			return nil, err
		}
	}
	a.mu.Lock()
	s := a.snapshot.Load()
	if s == nil {
		a.mu.Unlock()
		return nil, errNoNode
	}
	if a.mode.Mode == protocol.ModeSGPU && slices.ContainsFunc(ids, isSlice) {
		a.mu.Unlock()
		return a.allocateSlices(ids)
	}
	request, guessed := s.Waiting.Guess(len(ids))
	answer, err := s.Allocate(ids, a.form(a.cdi, request.Choice.MACA))
	if err == nil && a.mode.Mode != "" && slices.ContainsFunc(ids, func(id string) bool { return !inventory.Serves(a.mode.Mode, id) }) {
		err = fmt.Errorf("%s cannot be given: the mode of this node is %s now", ids[0], a.mode.Mode)
	}
	if err != nil {
		a.mu.Unlock()
		a.Metrics.allocated(err)
		return nil, err
	}
	if a.Kunlunxin {
		answer.Env[foreign.KunlunxinDevices] = wording.List(s.Indices(ids))
	}
	e := allocations.Entry{IDs: ids, At: time.Now()}
	if guessed {
		e.For = &request.Container
	}
	a.record(a.state.Add(e))
	a.store(allocate.New(s.Node(), s.Devices(), s))
	a.mu.Unlock()
	a.Metrics.allocated(nil)
	a.Log.Info("allocated", "ids", ids, "pod", cmp.Or(request.Pod, "not known"))
	a.ask()
	if a.Changed != nil {
		a.Changed()
	}
	return response(answer), nil
}

// form returns how a container gets its devices, by names of CDI devices if cdi is true. requested is
// what its pod says about MXMACA, if it is known and says something. The caller has the lock.
func (a *Allocator) form(cdi bool, requested *bool) allocate.Form {
	f := allocate.Form{CDI: cdi, EngineRoot: a.EngineRoot, Fallback: a.MACA == MACAFallback && requested == nil}
	if a.MACA == MACAOff || !*cmp.Or(requested, new(a.MACA == MACAAlways || f.Fallback)) {
		return f
	}
	switch {
	case f.Fallback && !cdi: // whether the image has one, only the hook of a CDI device sees
	case cdi:
		f.MACA = a.snapshot.Load().Node().MACA != nil
	case a.software != nil:
		f.MACA, f.Software = true, *a.software
	}
	if !f.MACA {
		a.Log.Warn("a container starts without MXMACA: this node has none, or cannot give it by CDI")
	}
	return f
}

// PreStart implements Backend: each GPU must not be known as unhealthy, and its device nodes must
// be there.
func (a *Allocator) PreStart(ids []string) error {
	s := a.snapshot.Load()
	if s == nil {
		return errNoNode
	}
	var devices []inventory.Device
	var err error
	if slices.ContainsFunc(ids, isSlice) {
		devices, err = a.checkSlices(s, ids)
	} else {
		devices, err = s.Check(ids)
	}
	if err != nil {
		return err
	}
	if a.Root == nil {
		return nil
	}
	for _, d := range devices {
		for _, path := range s.DeviceNodes([]inventory.Device{d}) {
			if _, err := a.Root.Device(path); err != nil {
				return fmt.Errorf("GPU %d (%s) cannot be used: %w", d.GPU, d.ID, err)
			}
		}
	}
	return nil
}

// response is an answer in the API's terms.
func response(a allocate.Answer) *v1beta1.ContainerAllocateResponse {
	r := &v1beta1.ContainerAllocateResponse{Envs: a.Env}
	for _, name := range a.CDI {
		r.CdiDevices = append(r.CdiDevices, &v1beta1.CDIDevice{Name: name})
	}
	for _, d := range a.Devices {
		r.Devices = append(r.Devices, &v1beta1.DeviceSpec{HostPath: d.HostPath, ContainerPath: d.Path, Permissions: d.Permissions})
	}
	for _, m := range a.Mounts {
		r.Mounts = append(r.Mounts, &v1beta1.Mount{HostPath: m.HostPath, ContainerPath: m.Path, ReadOnly: m.ReadOnly()})
	}
	return r
}
