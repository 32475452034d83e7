// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// daemon is docker's.
type daemon struct {
	up, hung bool
	list     []*box
	calls    []*call
	events   []event // the last few
	made     int
	starts   int
}

// box is a container.
type box struct {
	id, label  string
	gpus       []gpu.BDF
	privileged bool
	state      usage.ContainerState
	policy     bool // restart always
	remove     bool // --rm
	forged     bool
	started    int
	stopped    chan struct{} // closed when this run ends
	// deal is the one under which it runs, or was made to; nil where somebody went past the
	// wrapper.
	deal *deal
}

// call is a request that a client has sent and the daemon has not finished.
type call struct {
	due  time.Time
	deal *deal
	make *box   // create this
	id   string // start this
	done chan *box
}

type event struct {
	label string
	gone  bool
}

const ring = 6

func (b *box) alive() bool {
	return b.state == usage.Running || b.state == usage.Paused || b.state == usage.Restarting
}

// keeps reports whether the container has its GPUs for itself.
func (b *box) keeps() bool {
	return b.alive() || b.state == usage.Created || b.state == usage.Exited && b.policy
}

func (d *daemon) emit(e event) {
	d.events = append(d.events, e)
	d.events = d.events[max(0, len(d.events)-ring):]
}

func (d *daemon) box(id string) *box {
	if i := slices.IndexFunc(d.list, func(b *box) bool { return b.id == id }); i >= 0 {
		return d.list[i]
	}
	return nil
}

// add registers a container.
func (d *daemon) add(b *box) {
	d.made++
	b.id = fmt.Sprintf("%064x", d.made)
	b.state = usage.Created
	d.list = append(d.list, b)
	d.emit(event{b.label, false})
}

func (d *daemon) start(b *box) {
	d.starts++
	b.started = d.starts
	b.state = usage.Running
	b.stopped = make(chan struct{})
}

// end is the end of a container's main process.
func (d *daemon) end(b *box, byHand bool) {
	if b.state == usage.Running || b.state == usage.Paused {
		close(b.stopped)
	}
	b.state = usage.Exited
	switch {
	case b.policy && !byHand:
		b.state = usage.Restarting
	case b.remove:
		d.rm(b)
	}
}

func (d *daemon) rm(b *box) {
	if b.state == usage.Running || b.state == usage.Paused {
		close(b.stopped)
	}
	b.state = usage.Dead
	d.list = slices.DeleteFunc(d.list, func(o *box) bool { return o == b })
	d.emit(event{b.label, true})
}

// work finishes a request. Its client may be dead by now.
func (d *daemon) work(r *call) {
	d.calls = slices.DeleteFunc(d.calls, func(o *call) bool { return o == r })
	b := r.make
	if b != nil {
		d.add(b)
		b.deal = r.deal
		b.deal.made, b.deal.box = true, b.id
		if b.deal.Verb == usage.VerbCreate {
			b.deal.done = true
		}
	} else if b = d.box(r.id); b != nil {
		r.deal.done = true
		if !b.alive() {
			d.start(b)
			b.deal = r.deal
		}
	}
	r.done <- b
}

// restart ends all containers, forgets requests and events, and brings back the
// containers with a policy.
func (d *daemon) restart() {
	for _, b := range slices.Clone(d.list) {
		if b.alive() {
			d.end(b, false)
		}
		if b.policy && b.state != usage.Created {
			d.start(b)
		}
	}
	for _, r := range d.calls {
		r.deal.done = true
		close(r.done)
	}
	d.calls, d.events, d.hung, d.up = nil, nil, false, true
}

// containers is the answer to a list request.
func (d *daemon) containers() []usage.Container {
	var out []usage.Container
	for _, b := range d.list {
		c := usage.Container{
			Engine: "docker", ID: b.id, State: b.state, Keeps: b.policy, Started: strconv.Itoa(b.started),
			Facts: usage.Facts{Name: "box", Lease: b.label, GPUs: slices.Clone(b.gpus), Privileged: b.privileged},
		}
		if b.privileged {
			c.GPUs = nil
		}
		out = append(out, c)
	}
	return out
}

// tasks is containerd's view of the same.
func (d *daemon) tasks() []usage.Container {
	var out []usage.Container
	for _, b := range d.list {
		if b.state == usage.Running || b.state == usage.Paused {
			out = append(out, usage.Container{
				Engine: "containerd", Namespace: "moby", ID: b.id, State: b.state, Facts: usage.Facts{GPUs: slices.Clone(b.gpus)},
			})
		}
	}
	return out
}

// over are the leases whose container has come and gone, so far as the events go back.
func (d *daemon) over(ended []usage.Lease) []string {
	var out []string
	for _, l := range ended {
		if slices.Contains(d.events, event{l.ID, false}) && slices.Contains(d.events, event{l.ID, true}) {
			out = append(out, l.ID)
		}
	}
	return out
}
