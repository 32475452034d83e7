package docker

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// parallel is how many containers are inspected at a time.
const parallel = 8

// entry is a container of the list on its way into the Sight.
type entry struct {
	usage.Container
	known bool  // its facts were known before
	err   error // of its inspection
}

// enough reports whether the list and what was known say all that there is to say.
func (e *entry) enough() bool {
	return e.known && (len(e.GPUs) == 0 || !e.ended() && e.State != usage.Created)
}

// ended reports whether the container has run and does not now.
func (e *entry) ended() bool { return e.State == usage.Exited || e.State == usage.Dead }

// containers returns the listed containers in their order, without those that
// have gone since and those that could not be inspected; of these, it returns
// the first error.
func (s Source) containers(ctx context.Context, list []dockerd.Summary, q usage.Question) ([]usage.Container, error) {
	entries := make([]entry, len(list))
	var first, last []*entry
	for i, summary := range list {
		e := &entries[i]
		*e = newEntry(summary, q.Seen)
		switch {
		case e.enough():
		case !e.known && e.ended():
			last = append(last, e) // they hold a GPU least of all, and there may be thousands
		default:
			first = append(first, e)
		}
	}
	s.inspectAll(ctx, slices.Concat(first, last))

	var found []usage.Container
	var err error
	for _, e := range entries {
		switch {
		case e.err == nil:
			found = append(found, e.Container)
		case errors.Is(e.err, dockerd.ErrNotFound):
		case err == nil:
			err = e.err
		}
	}
	return found, err
}

// newEntry is what the list tells of a container, with the facts if docker told
// them before: containerd, which knows the same container by the same ID, has
// another time for when it was made.
func newEntry(listed dockerd.Summary, seen map[string]usage.Facts) entry {
	created := time.Unix(listed.Created, 0).UTC()
	facts, known := seen[usage.Key(engine, "", listed.ID)]
	if known = known && facts.Created.Equal(created); !known {
		facts = usage.Facts{Created: created}
	}
	facts.Name = listed.Name() // the one thing about it that people can change
	return entry{known: known, Container: usage.Container{
		Engine: engine, ID: listed.ID, Facts: facts, State: state(listed.State),
	}}
}

// inspectAll inspects the containers in their order, some at a time.
func (s Source) inspectAll(ctx context.Context, open []*entry) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(parallel, len(open)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(open)); i = next.Add(1) - 1 {
				s.inspect(ctx, open[i])
			}
		})
	}
	workers.Wait()
}

// inspect completes the entry. The state is newer than the list's then, and of
// one moment with the rest.
func (s Source) inspect(ctx context.Context, e *entry) {
	inspected, err := s.daemon.Inspect(ctx, e.ID)
	if err != nil {
		e.err = err
		return
	}
	c := whole(inspected, s.devices)
	if e.known {
		c.Facts = e.Facts
	}
	e.Container = c
}

// whole is all that docker knows of a container.
func whole(c dockerd.Container, devices holders.Devices) usage.Container {
	policy := c.HostConfig.RestartPolicy.Name
	// Of a time that cannot be read follows no more than another inspection next time.
	created, _ := time.Parse(time.RFC3339Nano, c.Created)
	if plainRuntimes[c.HostConfig.Runtime] {
		c.HostConfig.Annotations, c.Mounts = nil, nil // nobody serves what they ask for
	}
	held := gpus(c, devices)
	return usage.Container{
		Engine: engine, ID: c.ID,
		Facts: usage.Facts{
			Name: strings.TrimPrefix(c.Name, "/"), Image: c.Config.Image, Lease: c.Config.Labels[usage.LeaseLabel],
			GPUs: held, Slices: parts(c, held, devices), Privileged: c.HostConfig.Privileged, Created: created.UTC().Truncate(time.Second),
		},
		State: state(c.State.Status), Started: c.State.StartedAt, Init: c.State.Pid,
		Keeps: policy == "always" || policy == "unless-stopped",
	}
}

// plainRuntimes are docker's own names for runc, which no configuration can give to
// another runtime.
var plainRuntimes = map[string]bool{"runc": true, "io.containerd.runc.v2": true}

// gpus are those that the container asked docker for, by CDI name or by path, and
// those that it asks the runtime for. A name of our kind means our GPUs whichever
// of docker's drivers it was given to.
func gpus(c dockerd.Container, devices holders.Devices) []gpu.BDF {
	mounts := make([]holders.Mount, len(c.Mounts))
	for i, m := range c.Mounts {
		mounts[i] = holders.Mount(m)
	}
	found := devices.Asked(c.HostConfig.Annotations, mounts)
	for _, request := range c.HostConfig.DeviceRequests {
		for _, name := range request.DeviceIDs {
			found = append(found, devices.CDI(name)...)
		}
	}
	for _, path := range paths(c) {
		found = append(found, devices.Path(path)...)
	}
	return usage.Sorted(found)
}

// parts are the slices that the container asked docker or the runtime for, and
// those that metax-docker gave it by nodes that slices have in common.
func parts(c dockerd.Container, held []gpu.BDF, devices holders.Devices) []string {
	e := holders.Evidence{
		Annotations: c.HostConfig.Annotations, Label: c.Config.Labels[usage.SlicesLabel], GPUs: held, Paths: paths(c),
	}
	for _, request := range c.HostConfig.DeviceRequests {
		e.CDI = append(e.CDI, request.DeviceIDs...)
	}
	return devices.Slices(e)
}

// paths are those of the devices that docker was asked for, and where they lead:
// /dev/dri/by-path has links, which docker follows.
func paths(c dockerd.Container) []string {
	var all []string
	for _, device := range c.HostConfig.Devices {
		all = append(all, device.PathOnHost)
		if path, err := filepath.EvalSymlinks(device.PathOnHost); err == nil {
			all = append(all, path)
		}
	}
	return all
}

// state is docker's word for a state. What docker does not say today may be a
// container that lives.
func state(word string) usage.ContainerState {
	switch s := usage.ContainerState(word); s {
	case usage.Created, usage.Running, usage.Paused, usage.Restarting,
		usage.Removing, usage.Exited, usage.Dead:
		return s
	}
	return usage.Running
}
