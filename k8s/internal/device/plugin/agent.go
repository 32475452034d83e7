// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/foreignuse"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
	"github.com/metax-ctk/container-toolkit/k8s/internal/reader"
)

// Agent joins a Node with those who know something of it: the reader of GPU health, the
// kubelet, the API server and the leases of this host. If one of them is away, the others are
// still served.
type Agent struct {
	*Node
	NodeName string
	Strategy allocate.Strategy
	Reader   *reader.Client
	// IgnoreSilence makes a reader that does not answer no failed look.
	IgnoreSilence bool
	Kubelet       podresources.Client
	Client        corev1client.CoreV1Interface // nil without an API server
	// TellPods writes to each pod which GPUs it was given.
	TellPods bool
	// Namespace has the ConfigMap of the modes.
	Namespace string
	// Publish is called, if it is not nil, by one goroutine: after each look, and when the
	// devices in use or the mode may have changed. It must not wait.
	Publish func(Status)

	// Of Run alone.
	seen     Seen
	mode     modeSource
	problems []string // of the configuration, which were reported
	locked   atomic.Bool
	form     *bool // whether containers get names of CDI devices; nil until it is known
}

// Status is what others may know of a node.
type Status struct {
	Seen                     // by the last look; Changes are empty if there was no look since the last Status
	InUse   []string         // the ids of devices that are not free, ascending
	Outside []foreignuse.Use // the GPUs that containers outside Kubernetes use
	Holders []allocate.Given // the pods that have GPUs
	Mode    protocol.Mode
	Blocked string   // why the mode is not the configured one; empty if it is
	Edited  string   // which of the chart's values do not hold because the ConfigMap is edited; empty if all do
	Invalid []string // what is not valid in the configuration, if that is new
	// Registration is what schedulers are told of the GPUs; empty unless Mode is ModeSGPU.
	Registration string
}

// How often the agent looks at what does not report changes.
const (
	tellTime  = time.Second
	leaseTime = 5 * time.Second
	mixedTime = time.Second // the same on a mixed node
	sweepTime = 5 * time.Second
	// patience is how long the first registration waits for the versions of kubelet and
	// engine, and for what the kubelet lists.
	patience = 5 * time.Second
	// modeTime is how long the first registration waits for the API server to say which mode
	// the node has. Then the mode is that of the devices in use, or native.
	modeTime = 15 * time.Second
)

// Run serves until ctx ends. The resource is registered after the first look, when the mode is
// known.
func (a *Agent) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	changed := make(chan struct{}, 1)
	a.Allocator.State.Changed = func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	configs, labels := make(chan protocol.DeviceConfig), make(chan map[string]string)
	ready := a.begin(ctx, &all, configs, labels)
	reports := make(chan reader.Report)
	all.Go(func() { a.Reader.Watch(ctx, func(r reader.Report) { send(ctx, reports, r) }) })
	tell := time.NewTicker(tellTime)
	defer tell.Stop()
	late := time.After(modeTime)
	silent, waiting := "", false
	for isReady, looked := false, false; ; {
		select {
		case <-ctx.Done():
			return
		case <-ready:
			isReady, ready = true, nil
		case <-tell.C:
			a.Tell(time.Now())
			if a.Options.Mode != "" {
				a.serve(ctx, &all)
			}
			continue
		case <-late:
			late = nil
			if !a.mode.known() {
				a.Log.Warn("the API server has not said which mode this node has; going on without")
			}
		case <-changed:
			a.Tell(time.Now())
		case c := <-configs:
			a.mode.config = &c
		case l := <-labels:
			a.mode.labels = l
		case r := <-reports:
			if r.Look.Failed != silent {
				if silent = r.Look.Failed; silent != "" {
					a.Log.Warn("a look at the GPUs failed", "reason", silent)
				}
			}
			if r.Token == "" || (a.IgnoreSilence && r.Look.Failed != "") {
				continue
			}
			a.seen, looked = a.See(r.Node, r.Look, time.Now()), true
		}
		switch {
		case !isReady || !looked: // nothing is known yet
		case a.mode.known() || late == nil:
			a.settle(ctx, &all)
		case !waiting:
			waiting = true
			a.Log.Info("waiting for the mode of this node: the API server has not answered yet")
		}
	}
}

// begin starts what follows the kubelet, the API server and the leases. The channel is closed
// when what the first registration needs of the first two is known, or was waited for long
// enough.
func (a *Agent) begin(ctx context.Context, all *sync.WaitGroup, configs chan<- protocol.DeviceConfig,
	labels chan<- map[string]string,
) <-chan struct{} {
	var resources []string
	for _, r := range a.Resources {
		if r.VFIO == nil { // of GPUs that have nothing to do with the others
			resources = append(resources, r.Server.Resource)
		}
	}
	list := NewListKubelet(a.Kubelet, resources...)
	if a.Allocator.Slices != nil {
		a.Allocator.Slices.List = list
	}
	versions, listed := make(chan struct{}), make(chan struct{})
	var once, first sync.Once
	if a.Strategy != allocate.Auto || a.Client == nil {
		a.chooseForm(corev1.NodeSystemInfo{})
		close(versions)
	}
	all.Go(func() {
		FollowKubelet(ctx, list, a.Allocator.State.Ask, a.Log, func(l []allocations.Listed) {
			a.Allocator.State.SetListed(l)
			once.Do(func() { close(listed) })
		})
	})
	if a.Client == nil {
		a.mode.config = new(protocol.DeviceConfig)
		a.mode.labels = map[string]string{}
	} else {
		all.Go(func() { WatchPods(ctx, a.Client, a.NodeName, resources, a.Log, a.Allocator.State.SetRequests) })
		if a.TellPods {
			all.Go(func() {
				(&teller{client: a.Client, log: a.Log, kunlunxin: a.Allocator.State.Kunlunxin}).run(ctx,
					func() []allocate.Given { return a.Allocator.State.view().podsGivenGPUs() })
			})
		}
		all.Go(func() {
			WatchConfig(ctx, a.Client, a.Namespace, func(c protocol.DeviceConfig) { send(ctx, configs, c) })
		})
		all.Go(func() {
			WatchNode(ctx, a.Client, a.NodeName, func(n *corev1.Node) {
				if a.Strategy == allocate.Auto {
					a.chooseForm(n.Status.NodeInfo)
					first.Do(func() { close(versions) })
				}
				a.locked.Store(n.Annotations[foreign.LockAnnotation] != "")
				send(ctx, labels, maps.Collect(maps.All(n.Labels))) // not nil
			})
		})
	}
	if a.Allocator.Slices != nil {
		all.Go(func() { a.sweep(ctx, listed) })
	}
	all.Go(func() { a.followLeases(ctx) })
	ready := make(chan struct{})
	all.Go(func() {
		defer close(ready)
		late := time.After(patience)
		for _, c := range []<-chan struct{}{versions, listed} {
			select {
			case <-c:
			case <-late:
				a.Log.Warn("going on although the versions of kubelet and engine, or what the kubelet lists, are not known yet")
				return
			case <-ctx.Done():
				return
			}
		}
	})
	return ready
}

func send[T any](ctx context.Context, to chan<- T, v T) {
	select {
	case to <- v:
	case <-ctx.Done():
	}
}

// modeSource is what the mode of a node comes from. Fields are nil until they are known.
type modeSource struct {
	config *protocol.DeviceConfig
	labels map[string]string
}

func (m modeSource) known() bool { return m.config != nil && m.labels != nil }

// settle brings the mode, the sessions and what is published up to date.
func (a *Agent) settle(ctx context.Context, all *sync.WaitGroup) {
	configured, problems := protocol.DeviceConfig{}.For(a.NodeName, nil)
	configured.Mode = ""
	if a.mode.known() {
		configured, problems = a.mode.config.For(a.NodeName, a.mode.labels)
	}
	now, blocked := a.Allocator.State.Switch(configured)
	if now != a.Options.ModeSettings {
		a.Log.Info("the mode of this node changes", "mode", string(now.Mode), "before", string(a.Options.Mode), "shares",
			now.Shares)
		a.seen.Devices = a.SetMode(now, time.Now())
	}
	status := Status{Seen: a.seen, Mode: now.Mode, Blocked: blocked}
	if a.mode.config != nil {
		status.Edited = protocol.Overrides(protocol.ConfigMapName, a.mode.config.Over)
	}
	if !slices.Equal(problems, a.problems) {
		a.problems, status.Invalid = problems, problems
		if len(problems) > 0 {
			a.Log.Warn("the configuration of modes has mistakes", "problems", problems)
		}
	}
	a.seen.Changes = nil
	if a.Publish != nil {
		v := a.Allocator.State.view()
		status.InUse, status.Outside = a.Allocator.State.InUse()
		status.Registration, status.Holders = v.registration(), v.podsWithGPUs()
		a.Publish(status)
	}
	a.serve(ctx, all)
}

// sweep puts right what was left of slices, again and again from when the kubelet has listed
// containers.
func (a *Agent) sweep(ctx context.Context, listed <-chan struct{}) {
	select {
	case <-ctx.Done():
		return
	case <-listed:
	}
	repeat(ctx, sweepTime, func() {
		limited, cancel := context.WithTimeout(ctx, sliceTime)
		defer cancel()
		a.Allocator.Slices.Sweep(limited, a.locked.Load())
	})
}

// repeat does something at once, and then each time until ctx ends.
func repeat(ctx context.Context, every time.Duration, do func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		do()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// serve begins and ends the sessions of resources by the mode.
func (a *Agent) serve(ctx context.Context, all *sync.WaitGroup) {
	for _, r := range a.Resources {
		r.settle(ctx, a.Options.Mode, all)
	}
}

// chooseForm decides how containers get their devices by the versions of kubelet and engine,
// which another engine may change later. As long as it was not called, they get device nodes.
func (a *Agent) chooseForm(v corev1.NodeSystemInfo) {
	cdi := a.Strategy.UsesCDI(v.KubeletVersion, v.ContainerRuntimeVersion)
	if a.form != nil && *a.form == cdi {
		return
	}
	a.form = &cdi
	a.Allocator.State.SetCDI(cdi)
	a.Log.Info("how containers get their devices", "cdi", cdi, "strategy", string(a.Strategy), "kubelet", v.KubeletVersion,
		"engine", v.ContainerRuntimeVersion)
}

// followLeases takes the leases of this host again and again.
func (a *Agent) followLeases(ctx context.Context) {
	every := leaseTime
	if a.Allocator.State.Mixed {
		every = mixedTime
	}
	said := ""
	repeat(ctx, every, func() {
		err := a.lookOutside(ctx)
		if err == nil {
			said = ""
		} else if err.Error() != said && ctx.Err() == nil {
			said = err.Error()
			a.Log.Warn("GPUs in use outside Kubernetes are not known", "reason", err)
		}
	})
}

// lookOutside takes the leases as they are now. Without mixed nodes, leases that nobody has
// begun are none.
func (a *Agent) lookOutside(ctx context.Context) error {
	if a.Allocator.State.Mixed {
		ctx, cancel := context.WithTimeout(ctx, takeTime)
		defer cancel()
		return a.Allocator.SyncLeases(ctx)
	}
	uses, err := a.Allocator.Leases.Outside()
	if errors.Is(err, lease.ErrNoState) {
		err = nil
	}
	a.Allocator.State.SetOutside(uses)
	return err
}
