// SPDX-License-Identifier: Apache-2.0

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

// entry is a container of the list, which becomes one of the Sight.
type entry struct {
	usage.Container
	known bool  // its facts were known before
	err   error // of its inspection
}

// complete reports whether the container needs no inspection.
func (e *entry) complete() bool {
	return e.known && (len(e.GPUs) == 0 || (!e.ended() && e.State != usage.Created))
}

// ended reports whether the container has run and does not now.
func (e *entry) ended() bool { return e.State == usage.Exited || e.State == usage.Dead }

// inspectContainers returns the listed containers in their order, without those that have gone
// since and those that could not be inspected, and the first error of these.
func (s Source) inspectContainers(ctx context.Context, list []dockerd.Summary,
	q usage.Question,
) ([]usage.Container, error) {
	entries := make([]entry, len(list))
	var first, last []*entry
	for i, summary := range list {
		e := &entries[i]
		*e = newEntry(summary, q.Seen)
		switch {
		case e.complete(): // nothing to ask
		case !e.known && e.ended():
			last = append(last, e) // they rarely use a GPU, and there may be thousands
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
		case errors.Is(e.err, dockerd.ErrNotFound): // it has gone since the list
		case err == nil:
			err = e.err
		}
	}
	return found, err
}

// newEntry returns the container as the list has it, with its facts if they are known from
// docker. Facts from containerd, where the container has the same ID, have another time of
// creation.
func newEntry(listed dockerd.Summary, seen map[string]usage.Facts) entry {
	created := time.Unix(listed.Created, 0).UTC()
	facts, known := seen[usage.Key(engine, "", listed.ID)]
	if known = known && facts.Created.Equal(created); !known {
		facts = usage.Facts{Created: created}
	}
	facts.Name = listed.Name() // the one fact that can change
	e := entry{known: known, Container: usage.Container{
		Engine: engine, ID: listed.ID, Facts: facts, State: parseState(listed.State),
	}}
	if len(facts.GPUs) > 0 {
		e.Given = usage.GivenBy(listed.Labels, nil)
	}
	return e
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

// inspect completes the entry. Its state is then newer than the list's.
func (s Source) inspect(ctx context.Context, e *entry) {
	inspected, err := s.daemon.Inspect(ctx, e.ID)
	if err != nil {
		e.err = err
		return
	}
	c := FromInspection(inspected, s.devices)
	if e.known {
		c.Facts = e.Facts
	}
	e.Container = c
}

// FromInspection returns the container as docker's inspection has it.
func FromInspection(c dockerd.Container, devices holders.Devices) usage.Container {
	policy := c.HostConfig.RestartPolicy.Name
	// A time that cannot be parsed only costs another inspection next time.
	created, _ := time.Parse(time.RFC3339Nano, c.Created)
	plain := runcNames[c.HostConfig.Runtime]
	if plain {
		c.HostConfig.Annotations, c.Mounts = nil, nil // nothing serves these requests
	}
	held := gpusOf(c, devices)
	var given usage.Given
	if len(c.HostConfig.Devices)+len(c.HostConfig.DeviceRequests) > 0 { // else an image has the labels
		given = usage.GivenBy(c.Config.Labels, c.Config.Env)
	}
	ignored := ""
	if len(held) == 0 && !plain && !c.HostConfig.Privileged { // metax-runtime may serve a privileged one
		ignored = holders.Ignored(c.Config.Env)
	}
	return usage.Container{
		Engine: engine, ID: c.ID, Given: given,
		Facts: usage.Facts{
			Name: strings.TrimPrefix(c.Name, "/"), Image: c.Config.Image, Lease: c.Config.Labels[usage.LeaseLabel],
			GPUs: held, Slices: slicesOf(c, held, devices), Privileged: c.HostConfig.Privileged,
			Ignored: ignored, Created: created.UTC().Truncate(time.Second),
		},
		State: parseState(c.State.Status), Started: c.State.StartedAt, Init: c.State.Pid,
		Keeps: policy == "always" || policy == "unless-stopped",
	}
}

// runcNames are docker's own names for runc, which no configuration can give to another
// runtime.
var runcNames = map[string]bool{"runc": true, "io.containerd.runc.v2": true}

// gpusOf returns the GPUs that the container requests from docker, by CDI name or by path,
// or from the runtime. A CDI name counts with any of docker's device drivers.
func gpusOf(c dockerd.Container, devices holders.Devices) []gpu.BDF {
	mounts := make([]holders.Mount, len(c.Mounts))
	for i, m := range c.Mounts {
		mounts[i] = holders.Mount(m)
	}
	found := devices.Requested(c.HostConfig.Annotations, mounts)
	for _, request := range c.HostConfig.DeviceRequests {
		for _, name := range request.DeviceIDs {
			found = append(found, devices.CDI(name)...)
		}
	}
	for _, path := range devicePaths(c) {
		found = append(found, devices.Path(path)...)
	}
	return usage.Sorted(found)
}

// slicesOf returns the slices that the container requests from docker or the runtime, and
// those that metax-docker gave it by device nodes that slices share.
func slicesOf(c dockerd.Container, held []gpu.BDF, devices holders.Devices) []string {
	e := holders.Evidence{
		Annotations: c.HostConfig.Annotations, Label: c.Config.Labels[usage.SlicesLabel], GPUs: held, Paths: devicePaths(c),
	}
	for _, request := range c.HostConfig.DeviceRequests {
		e.CDI = append(e.CDI, request.DeviceIDs...)
	}
	return devices.Slices(e)
}

// devicePaths returns the paths of the requested devices, also with links resolved:
// docker follows the links in /dev/dri/by-path.
func devicePaths(c dockerd.Container) []string {
	var all []string
	for _, device := range c.HostConfig.Devices {
		all = append(all, device.PathOnHost)
		if path, err := filepath.EvalSymlinks(device.PathOnHost); err == nil {
			all = append(all, path)
		}
	}
	return all
}

// parseState returns the state that docker reports. A state of a future docker counts as
// running.
func parseState(word string) usage.ContainerState {
	switch s := usage.ContainerState(word); s {
	case usage.Created, usage.Running, usage.Paused, usage.Restarting,
		usage.Removing, usage.Exited, usage.Dead:
		return s
	}
	return usage.Running
}
