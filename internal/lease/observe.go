// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// observed is what was found out before the lock was taken, in this order: the state was
// read, then its clients were looked at, and only then the engines. So a client that is
// dead here and whose container is not in the looks has no container, and will have none
// after Grace.
type observed struct {
	before State
	lives  map[usage.Client]usage.Liveness
	looks  []Look
	// clients are the looks for Claimants where there is no state; like lives, from before
	// the other looks.
	clients []Look
	begin   time.Duration                  // the uptime when the looks began
	uptime  time.Duration                  // and when they came back
	now     time.Time                      // the same for people
	gpus    []gpu.BDF                      // Keeper.GPUs
	waitMax time.Duration                  // Keeper.WaitMax
	leaseID func(usage.Client, int) string // Keeper.LeaseID
	clamped []Ticket                       // requests whose wait reconcile shortened
}

// observeSources asks all sources, in the order that observed states. With lists, the
// kernel's lists may stand for a look at processes.
func (k *Keeper) observeSources(ctx context.Context, state State, lists bool) *observed {
	r := &observed{
		before: state, lives: map[usage.Client]usage.Liveness{}, waitMax: k.WaitMax, gpus: k.GPUs,
		leaseID: k.LeaseID,
	}
	q := usage.Question{Seen: make(map[string]usage.Facts, len(state.Seen)), Lost: state.New}
	for _, t := range state.Queue {
		r.lives[t.Client] = k.Liveness(t.Client)
	}
	for _, l := range state.Leases {
		life := k.Liveness(l.Client)
		r.lives[l.Client] = life
		if life == usage.Ended && l.Container == "" {
			q.Ended = append(q.Ended, l)
		}
	}
	for _, p := range state.Processes {
		r.lives[p.Client()] = k.Liveness(p.Client())
		q.Recorded = append(q.Recorded, p.Client())
	}
	for key, known := range state.Seen {
		q.Seen[key] = known.Facts
	}
	if state.New {
		// Clients come before engines here also: one of the two sees a client that makes
		// its container and ends meanwhile.
		others := func(s Source) bool { engine, _ := s.Name(); return engine != usage.Processes }
		r.clients = lookAll(ctx, slices.DeleteFunc(k.Sources(state), others), q)
		q.Lost = false
	}
	r.begin = k.Uptime()
	if lists {
		q.Lists = state.usableLists(r.begin)
	}
	r.looks = lookAll(ctx, k.Sources(state), q)
	r.uptime, r.now = k.Uptime(), k.Now()
	return r
}

// clientLiveness is Keeper.Liveness, as it was observed.
func (r *observed) clientLiveness(c usage.Client) usage.Liveness { return r.lives[c] }

// containerGone reports whether the lease's container is known not to exist, and whether
// it has existed (over). A rebuilt lease may not know its engine: then all engines have to
// answer, except the kubelet, which makes no containers for clients.
func (r *observed) containerGone(l usage.Lease) (absent, over bool) {
	asked := 0
	for _, look := range r.looks {
		if look.Engine == usage.Processes || (l.Engine == "" && look.Engine == usage.Kubernetes) ||
			(l.Engine != "" && (look.Engine != l.Engine || look.Endpoint != l.Endpoint)) {
			continue
		}
		asked++
		over = over || slices.Contains(look.Over, l.ID)
		// Containers may run without their daemon.
		if look.mayHide() || (l.Engine != "" && look.Err != nil) {
			return false, over
		}
	}
	return asked > 0, over
}

// seesUnstarted reports whether the looks show containers like that of an Unstarted lease:
// those of Podman's other users they do not.
func (r *observed) seesUnstarted(l usage.Lease) bool {
	return l.Engine != "podman" || (l.User != nil && slices.ContainsFunc(r.looks, func(look Look) bool {
		return look.Engine == "podman" && slices.Contains(look.Users, l.User.UID)
	}))
}

// mayAnswerLater reports whether the engine may answer later: not one that this user may not
// ask.
func (l Look) mayAnswerLater() bool { return l.mayHide() && !errors.Is(l.Err, fs.ErrPermission) }

// mayHide reports whether the look is that of an engine which may have containers that it
// does not show. Processes that cannot be seen do not count here.
func (l Look) mayHide() bool {
	return l.Engine != usage.Processes && !l.sawEverything() && !errors.Is(l.Err, usage.ErrAbsent)
}

// sourceSilent reports whether the source that listed a container does not answer now.
func (r *observed) sourceSilent(k Known) bool {
	return slices.ContainsFunc(r.looks, func(l Look) bool {
		return l.mayHide() && l.Engine == k.Engine && l.Endpoint == k.Endpoint
	})
}

// seenContainer is a container with the endpoint of its engine.
type seenContainer struct {
	usage.Container
	endpoint string
}

// mergedContainers merges the lists of the engines. Docker's entry for a container replaces
// containerd's, which has no name and no restart policy.
func (r *observed) mergedContainers() map[string]seenContainer {
	all := map[string]seenContainer{}
	for _, l := range r.looks {
		for _, c := range l.Containers {
			key := c.Key()
			if old, ok := all[key]; ok {
				gpus, parts := usage.Sorted(slices.Concat(c.GPUs, old.GPUs)), slices.Concat(c.Slices, old.Slices)
				slices.Sort(parts)
				parts = slices.Compact(parts)
				if old.Engine == "docker" {
					old.GPUs, old.Slices = gpus, parts
					all[key] = old
					continue
				}
				c.GPUs, c.Slices = gpus, parts
			}
			all[key] = seenContainer{c, l.Endpoint}
		}
	}
	if slices.ContainsFunc(r.looks, func(l Look) bool { return l.Engine == "docker" && l.sawEverything() }) {
		maps.DeleteFunc(all, func(_ string, c seenContainer) bool { return c.orphan() })
	}
	return all
}

// orphan reports whether a task was made for a docker daemon that was killed before it
// started the task, so that docker lists no such container.
func (c seenContainer) orphan() bool {
	return c.Engine == "containerd" && c.Namespace == "moby" && c.State == usage.Created
}

// processLook returns the look at processes, nil if no source made one.
func (r *observed) processLook() *Look {
	i := slices.IndexFunc(r.looks, func(l Look) bool { return l.Engine == usage.Processes })
	if i < 0 {
		return nil
	}
	return &r.looks[i]
}

// pidNamespace is the one in which processes were looked at, 0 if it is not known.
func (r *observed) pidNamespace() uint64 {
	if l := r.processLook(); l != nil {
		return l.PIDNamespace
	}
	return 0
}
