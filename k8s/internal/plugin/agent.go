package plugin

import (
	"context"
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/k8s/internal/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/outside"
	"github.com/metax-ctk/container-toolkit/k8s/internal/reader"
)

// Agent joins a Node with those who know something of it: the reader of GPU health, the kubelet,
// the API server and the leases of this host. Whoever of them is away, the others are served.
type Agent struct {
	*Node
	NodeName string
	Strategy allocate.Strategy
	Reader   *reader.Client
	// IgnoreSilence makes a reader that does not answer no failed look.
	IgnoreSilence bool
	Kubelet       podresources.Client
	// Leases are those of this host. On a mixed node, the Allocator also writes them.
	Leases *Leases
	Client corev1client.CoreV1Interface // nil without an API server
	// Publish is called, if it is not nil, by one goroutine: after each look, and when the devices
	// in use may have changed. It must not wait.
	Publish func(Status)
}

// Status is what others may know of a node.
type Status struct {
	Seen                  // by the last look; Changes are empty if there was no look since the last Status
	InUse   []string      // the ids of devices that are not free, ascending
	Outside []outside.Use // the GPUs that containers outside Kubernetes use
}

// How often the agent looks at what does not report changes.
const (
	tellTime  = time.Second
	leaseTime = 5 * time.Second
	mixedTime = time.Second // the same on a mixed node
	// versionTime is how long the first registration waits for the versions of kubelet and
	// engine.
	versionTime = 5 * time.Second
	againTime   = 10 * time.Second
)

// Run serves until ctx ends. The resource is registered after the first look.
func (a *Agent) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	changed := make(chan struct{}, 1)
	a.Allocator.Changed = func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	versions := make(chan struct{})
	all.Go(func() { a.chooseForm(ctx, versions) })
	all.Go(func() {
		FollowKubelet(ctx, a.Kubelet, a.Server.Resource, a.Allocator.Ask, a.Log, a.Allocator.SetListed)
	})
	if a.Client != nil {
		all.Go(func() {
			WatchPods(ctx, a.Client, a.NodeName, a.Server.Resource, a.Log, a.Allocator.SetRequests)
		})
	}
	all.Go(func() { a.followLeases(ctx) })
	reports := make(chan reader.Report)
	all.Go(func() {
		a.Reader.Watch(ctx, func(r reader.Report) {
			select {
			case reports <- r:
			case <-ctx.Done():
			}
		})
	})
	tell := time.NewTicker(tellTime)
	defer tell.Stop()
	var seen Seen
	silent := ""
	for registered := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tell.C:
			a.Tell(time.Now())
		case <-changed:
			if registered {
				a.Tell(time.Now())
				a.publish(seen)
			}
		case r := <-reports:
			if r.Look.Failed != silent {
				if silent = r.Look.Failed; silent != "" {
					a.Log.Warn("a look at the GPUs failed", "reason", silent)
				}
			}
			if r.Token == "" || a.IgnoreSilence && r.Look.Failed != "" {
				continue
			}
			seen = a.See(r.Node, r.Look, time.Now())
			a.publish(seen)
			seen.Changes = nil
			if !registered {
				registered = true
				select {
				case <-versions:
				case <-time.After(versionTime):
				case <-ctx.Done():
				}
				all.Go(func() { a.Server.Run(ctx) })
			}
		}
	}
}

func (a *Agent) publish(seen Seen) {
	if a.Publish != nil {
		inUse, outside := a.Allocator.InUse()
		a.Publish(Status{seen, inUse, outside})
	}
}

// chooseForm decides how containers get their devices. It closes known when that is decided for
// the first time; as long as the versions are not known, containers get device nodes.
func (a *Agent) chooseForm(ctx context.Context, known chan<- struct{}) {
	if a.Strategy != allocate.Auto || a.Client == nil {
		a.setForm("", "")
		close(known)
		return
	}
	said := false
	for {
		node, err := a.Client.Nodes().Get(ctx, a.NodeName, metav1.GetOptions{})
		if err == nil {
			a.setForm(node.Status.NodeInfo.KubeletVersion, node.Status.NodeInfo.ContainerRuntimeVersion)
			close(known)
			return
		}
		if !said && ctx.Err() == nil {
			said = true
			a.Log.Warn("the versions of kubelet and engine are not known yet; containers get device nodes", "reason", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(againTime):
		}
	}
}

func (a *Agent) setForm(kubelet, engine string) {
	cdi := a.Strategy.UsesCDI(kubelet, engine)
	a.Allocator.SetCDI(cdi)
	a.Log.Info("how containers get their devices", "cdi", cdi, "strategy", string(a.Strategy), "kubelet", kubelet, "engine", engine)
}

// followLeases takes the leases of this host again and again.
func (a *Agent) followLeases(ctx context.Context) {
	every := leaseTime
	if a.Allocator.Leases != nil {
		every = mixedTime
	}
	look := time.NewTicker(every)
	defer look.Stop()
	said := ""
	for {
		err := a.lookOutside(ctx)
		if err == nil {
			said = ""
		} else if err.Error() != said && ctx.Err() == nil {
			said = err.Error()
			a.Log.Warn("GPUs in use outside Kubernetes are not known", "reason", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// lookOutside takes the leases as they are now. Without mixed nodes, leases that nobody has begun
// are none.
func (a *Agent) lookOutside(ctx context.Context) error {
	if a.Allocator.Leases != nil {
		ctx, cancel := context.WithTimeout(ctx, takeTime)
		defer cancel()
		return a.Allocator.SyncLeases(ctx)
	}
	uses, err := a.Leases.Outside()
	if errors.Is(err, lease.ErrNoState) {
		err = nil
	}
	a.Allocator.SetOutside(uses)
	return err
}
