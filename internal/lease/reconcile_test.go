// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

const (
	leaseA = "aaaaaaaaaaaa"
	leaseB = "bbbbbbbbbbbb"
)

var (
	boxA    = strings.Repeat("a", 64)
	boxB    = strings.Repeat("b", 64)
	clientA = usage.Client{PID: 7, Start: 70, PIDNamespace: 1}
	clientB = usage.Client{PID: 8, Start: 80, PIDNamespace: 1}
)

// gpus are those with the indices of allGPUs.
func gpus(indices ...int) []gpu.BDF {
	var out []gpu.BDF
	for _, i := range indices {
		out = append(out, allGPUs[i])
	}
	return out
}

// lease is one of leaseA on the first GPU, pending, with changes.
func lease(change ...func(*usage.Lease)) usage.Lease {
	l := usage.Lease{
		ID: leaseA, Rev: 1, GPUs: gpus(0), Engine: "docker", Endpoint: sock, Verb: usage.VerbRun,
		Client: clientA, User: &usage.User{UID: 1000, Name: "ann"},
	}
	for _, c := range change {
		c(&l)
	}
	return l
}

func bound(l *usage.Lease)    { l.Bound, l.Container = true, boxA }
func starting(l *usage.Lease) { l.Verb, l.Container, l.Started = usage.VerbStart, boxA, "1" }
func rebuilt(l *usage.Lease)  { l.Engine, l.Endpoint = "", "" }
func goneAt(d time.Duration) func(*usage.Lease) {
	return func(l *usage.Lease) { l.Gone = d }
}

// labeled is a docker container with the label of leaseA and the first GPU.
func labeled(state usage.ContainerState, change ...func(*usage.Container)) usage.Container {
	c := usage.Container{Engine: "docker", ID: boxA, State: state, Started: "1", Facts: usage.Facts{Name: "job", Lease: leaseA, GPUs: gpus(0)}}
	for _, f := range change {
		f(&c)
	}
	return c
}

func keeps(c *usage.Container)               { c.Keeps = true }
func unlabeled(c *usage.Container)           { c.Lease = "" }
func restarted(c *usage.Container)           { c.Started = "2" }
func on(g ...gpu.BDF) func(*usage.Container) { return func(c *usage.Container) { c.GPUs = g } }
func named(id string) func(*usage.Container) { return func(c *usage.Container) { c.ID = id } }
func dockerSees(list ...usage.Container) Look {
	return Look{Engine: "docker", Endpoint: sock, Sight: usage.Sight{Containers: list}}
}

func containerdSees(list ...usage.Container) Look {
	return Look{Engine: "containerd", Endpoint: "/run/containerd.sock", Sight: usage.Sight{Containers: list}}
}

func nerdctl(l *usage.Lease)      { l.Engine, l.Endpoint = "containerd", "/run/containerd.sock" }
func byPodman(l *usage.Lease)     { l.Engine, l.Endpoint, l.User = "podman", "", &usage.User{UID: 1000} }
func creating(l *usage.Lease)     { l.Verb = usage.VerbCreate }
func inPodman(c *usage.Container) { c.Engine = "podman" }
func podmanSees(list ...usage.Container) Look {
	return Look{Engine: "podman", Sight: usage.Sight{Containers: list}}
}

// podmanLists is what the podman of a user tells of all containers.
func podmanLists(uid uint32, list ...usage.Container) Look {
	return Look{Engine: "podman", Sight: usage.Sight{Containers: list, Users: []uint32{uid}}}
}

func inContainerd(c *usage.Container) { c.Engine, c.Namespace = "containerd", "default" }
func stateOf(leases ...usage.Lease) State {
	s := NewState("boot")
	s.New, s.Leases = false, leases
	return s
}

var (
	dockerLate       = Look{Engine: "docker", Endpoint: sock, Err: errLate}
	dockerPartly     = Look{Engine: "docker", Endpoint: sock, Sight: usage.Sight{Partial: true}}
	containerdLate   = Look{Engine: "containerd", Endpoint: "/run/containerd.sock", Err: errLate}
	containerdPartly = Look{Engine: "containerd", Endpoint: "/run/containerd.sock", Sight: usage.Sight{Partial: true}}
	noPodman         = Look{Engine: "podman", Err: usage.ErrAbsent}
	someProcs        = Look{Engine: usage.Processes, Sight: usage.Sight{Partial: true}, Err: errRefused}
)

func TestReconcile(t *testing.T) {
	over := dockerSees()
	over.Over = []string{leaseA}
	lateButOver := dockerLate
	lateButOver.Over = []string{leaseA}
	other := dockerSees()
	other.Endpoint = "/run/user/1000/docker.sock"
	now := 10 * time.Second
	for name, c := range map[string]struct {
		lease usage.Lease
		life  usage.Liveness
		looks []Look
		want  *usage.Lease // nil is as it was
		why   string       // or closed
	}{
		"pending while the client lives":                {lease: lease(), life: usage.Alive, looks: []Look{dockerSees()}},
		"pending while the client cannot be seen":       {lease: lease(), life: usage.Unseen, looks: []Look{dockerSees()}},
		"a dead client's hour begins":                   {lease: lease(), life: usage.Ended, looks: []Look{dockerSees()}, want: new(lease(goneAt(now)))},
		"and lasts for Grace":                           {lease: lease(goneAt(now - Grace + 1)), life: usage.Ended, looks: []Look{dockerSees()}},
		"and then ends":                                 {lease: lease(goneAt(now - Grace)), life: usage.Ended, looks: []Look{dockerSees()}, why: "its client ended without a container"},
		"a client that is there after all":              {lease: lease(goneAt(1)), life: usage.Alive, looks: []Look{dockerSees()}, want: new(lease())},
		"come and gone":                                 {lease: lease(), life: usage.Ended, looks: []Look{over}, why: "its container has come and gone"},
		"come and gone by half an answer":               {lease: lease(), life: usage.Ended, looks: []Look{lateButOver}, why: "its container has come and gone"},
		"bound to a created container":                  {lease: lease(), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Created))}, want: new(lease(bound))},
		"bound to a running container":                  {lease: lease(goneAt(1)), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Running))}, want: new(lease(bound))},
		"bound while it runs":                           {lease: lease(bound), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Running))}},
		"bound while it is paused":                      {lease: lease(bound), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Paused))}},
		"bound while it restarts":                       {lease: lease(bound), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Restarting))}},
		"bound while a policy keeps it":                 {lease: lease(bound), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Exited, keeps))}},
		"released when it exits":                        {lease: lease(bound), life: usage.Alive, looks: []Look{dockerSees(labeled(usage.Exited))}, why: "its container is exited"},
		"released when it exits before it was seen":     {lease: lease(), life: usage.Alive, looks: []Look{dockerSees(labeled(usage.Exited))}, why: "its container is exited"},
		"released while it is removed":                  {lease: lease(bound), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Removing, keeps))}, why: "its container is removing"},
		"released when half removed":                    {lease: lease(bound), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Dead, keeps))}, why: "its container is dead"},
		"released when it is gone":                      {lease: lease(bound), life: usage.Alive, looks: []Look{dockerSees(), noPodman}, why: "its container is gone"},
		"bound follows the ID before the label":         {lease: lease(bound), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Running), labeled(usage.Running, named(boxB)))}},
		"start: compose makes it anew":                  {lease: lease(func(l *usage.Lease) { l.Verb = usage.VerbStart }), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Created))}, want: new(lease(bound, func(l *usage.Lease) { l.Verb = usage.VerbStart }))},
		"bound goes on to what is made anew":            {lease: lease(bound), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Exited), labeled(usage.Created, named(boxB)))}, want: new(lease(bound, func(l *usage.Lease) { l.Container = boxB }))},
		"bound goes on to nothing that has ended":       {lease: lease(bound), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Exited, named(boxB)))}, why: "its container is gone"},
		"bound follows the ID without a label":          {lease: lease(bound), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Running, unlabeled, on()))}},
		"a label without its GPUs":                      {lease: lease(), life: usage.Alive, looks: []Look{dockerSees(labeled(usage.Exited, on(gpus(1)...)))}},
		"a label without GPUs":                          {lease: lease(), life: usage.Alive, looks: []Look{dockerSees(labeled(usage.Running, on()))}},
		"a privileged container":                        {lease: lease(), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Running, on(), func(c *usage.Container) { c.Privileged = true }))}, want: new(lease(bound))},
		"of two the one that holds":                     {lease: lease(), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Running), labeled(usage.Exited, named(boxB)))}, want: new(lease(bound))},
		"of two the one that holds, in another order":   {lease: lease(), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Exited, named("0"+boxB[1:])), labeled(usage.Running))}, want: new(lease(bound))},
		"no answer changes nothing for a bound one":     {lease: lease(bound), life: usage.Ended, looks: []Look{dockerLate}},
		"no answer changes nothing for a pending one":   {lease: lease(goneAt(1)), life: usage.Ended, looks: []Look{dockerLate}},
		"half an answer changes nothing":                {lease: lease(bound), life: usage.Ended, looks: []Look{dockerPartly}},
		"no daemon changes nothing":                     {lease: lease(bound), life: usage.Ended, looks: []Look{{Engine: "docker", Endpoint: sock, Err: usage.ErrAbsent}}},
		"another daemon's answer changes nothing":       {lease: lease(bound), life: usage.Ended, looks: []Look{other}},
		"nobody asked changes nothing":                  {lease: lease(bound), life: usage.Ended},
		"start: pending before it starts":               {lease: lease(starting), life: usage.Alive, looks: []Look{dockerSees(labeled(usage.Exited))}},
		"start: pending, though somebody else's ended":  {lease: lease(starting), life: usage.Alive, looks: []Look{dockerSees(labeled(usage.Exited, restarted))}},
		"start: pending, though it was seen to run":     {lease: lease(starting, bound), life: usage.Alive, looks: []Look{dockerSees(labeled(usage.Exited, restarted))}},
		"start: dead before it started":                 {lease: lease(starting), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Exited))}, want: new(lease(starting, goneAt(now)))},
		"start: dead for long":                          {lease: lease(starting, goneAt(1)), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Exited))}, why: "its client ended without a container"},
		"start: it runs":                                {lease: lease(starting), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Running))}, want: new(lease(starting, bound))},
		"start: it ran":                                 {lease: lease(starting), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Exited, restarted))}, why: "its container is exited"},
		"start: it was seen to run":                     {lease: lease(starting, bound), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Exited))}, why: "its container is exited"},
		"start: of a container without a label":         {lease: lease(starting), life: usage.Ended, looks: []Look{dockerSees(labeled(usage.Running, unlabeled))}, want: new(lease(starting, bound))},
		"start: somebody else has its ID for a label":   {lease: lease(starting), life: usage.Alive, looks: []Look{dockerSees(labeled(usage.Exited, unlabeled), labeled(usage.Created, named(boxB)))}},
		"start: it is gone":                             {lease: lease(starting), life: usage.Alive, looks: []Look{dockerSees()}, why: "its container is gone"},
		"nerdctl: dead without a container":             {lease: lease(nerdctl), life: usage.Ended, looks: []Look{containerdSees()}, why: "its client ended without a container"},
		"nerdctl: alive without a container":            {lease: lease(nerdctl), life: usage.Alive, looks: []Look{containerdSees()}},
		"nerdctl: dead, and half an answer":             {lease: lease(nerdctl), life: usage.Ended, looks: []Look{containerdPartly}},
		"nerdctl: dead, and no answer":                  {lease: lease(nerdctl), life: usage.Ended, looks: []Look{containerdLate}},
		"nerdctl: alive, and no task yet":               {lease: lease(nerdctl), life: usage.Alive, looks: []Look{containerdSees(labeled(usage.Exited, inContainerd))}},
		"nerdctl: dead, and no task":                    {lease: lease(nerdctl), life: usage.Ended, looks: []Look{containerdSees(labeled(usage.Exited, inContainerd))}, why: "its container is exited"},
		"nerdctl: it runs":                              {lease: lease(nerdctl), life: usage.Ended, looks: []Look{containerdSees(labeled(usage.Running, inContainerd))}, want: new(lease(nerdctl, bound))},
		"nerdctl: it has run":                           {lease: lease(nerdctl, bound), life: usage.Alive, looks: []Look{containerdSees(labeled(usage.Exited, inContainerd))}, why: "its container is exited"},
		"nerdctl: made":                                 {lease: lease(nerdctl, creating), life: usage.Ended, looks: []Look{containerdSees(labeled(usage.Created, inContainerd))}, want: new(lease(nerdctl, creating, bound))},
		"nerdctl: made and not started":                 {lease: lease(nerdctl, creating, bound), life: usage.Ended, looks: []Look{containerdSees(labeled(usage.Created, inContainerd))}},
		"nerdctl: made, then started":                   {lease: lease(nerdctl, creating, bound), life: usage.Ended, looks: []Look{containerdSees(labeled(usage.Running, inContainerd))}, want: new(lease(nerdctl, bound))},
		"nerdctl: made and removed":                     {lease: lease(nerdctl, creating, bound), life: usage.Ended, looks: []Look{containerdSees()}, why: "its container is gone"},
		"nerdctl: run, alive, and no task yet":          {lease: lease(nerdctl), life: usage.Alive, looks: []Look{containerdSees(labeled(usage.Created, inContainerd))}},
		"nerdctl: run, and it never got a task":         {lease: lease(nerdctl), life: usage.Ended, looks: []Look{containerdSees(labeled(usage.Created, inContainerd))}, why: "its container is created"},
		"podman: made, and nobody of its user looks":    {lease: lease(byPodman, creating), life: usage.Ended, looks: []Look{podmanSees()}},
		"podman: made, as another user sees it":         {lease: lease(byPodman, creating, bound), life: usage.Ended, looks: []Look{podmanSees(), podmanLists(1001)}},
		"podman: made, as its user sees it":             {lease: lease(byPodman, creating), life: usage.Ended, looks: []Look{podmanLists(1000, labeled(usage.Created, inPodman)), podmanSees()}, want: new(lease(byPodman, creating, bound))},
		"podman: not made":                              {lease: lease(byPodman, creating), life: usage.Ended, looks: []Look{podmanLists(1000), podmanSees()}, why: "its client ended without a container"},
		"podman: still being made":                      {lease: lease(byPodman, creating), life: usage.Alive, looks: []Look{podmanLists(1000), podmanSees()}},
		"podman: made and removed":                      {lease: lease(byPodman, creating, bound), life: usage.Ended, looks: []Look{podmanLists(1000), podmanSees()}, why: "its container is gone"},
		"podman: made, and podman fails":                {lease: lease(byPodman, creating, bound), life: usage.Ended, looks: []Look{{Engine: "podman", Err: errRefused, Sight: usage.Sight{Partial: true}}, podmanSees()}},
		"podman: made, and podman is not there":         {lease: lease(byPodman, creating, bound), life: usage.Ended, looks: []Look{noPodman, podmanSees()}},
		"podman: made, then started":                    {lease: lease(byPodman, creating, bound), life: usage.Ended, looks: []Look{podmanSees(labeled(usage.Running, inPodman))}, want: new(lease(byPodman, bound))},
		"podman: start, alive, and not yet seen":        {lease: lease(byPodman, starting), life: usage.Alive, looks: []Look{podmanSees()}},
		"podman: start, dead, and not seen":             {lease: lease(byPodman, starting), life: usage.Ended, looks: []Look{podmanSees()}, why: "its client ended without a container"},
		"podman: start, it runs":                        {lease: lease(byPodman, starting), life: usage.Ended, looks: []Look{podmanSees(labeled(usage.Running, inPodman))}, want: new(lease(byPodman, starting, bound))},
		"podman: start, it has run":                     {lease: lease(byPodman, starting, bound), life: usage.Ended, looks: []Look{podmanSees()}, why: "its container is gone"},
		"rebuilt: every engine has to say so":           {lease: lease(rebuilt, goneAt(1)), life: usage.Ended, looks: []Look{dockerSees(), {Engine: "containerd", Err: errLate}}},
		"rebuilt: but not an absent one, nor processes": {lease: lease(rebuilt, goneAt(1)), life: usage.Ended, looks: []Look{dockerSees(), noPodman, someProcs}, why: "its client ended without a container"},
		"rebuilt: processes alone are no engine":        {lease: lease(rebuilt, goneAt(1)), life: usage.Ended, looks: []Look{someProcs}},
		"rebuilt: it learns its engine":                 {lease: lease(rebuilt), life: usage.Alive, looks: []Look{dockerSees(labeled(usage.Running))}, want: new(lease(bound))},
	} {
		s := stateOf(c.lease)
		r := &observed{before: stateOf(c.lease), lives: map[usage.Client]usage.Liveness{clientA: c.life}, looks: c.looks, begin: now, uptime: now}
		closed := s.reconcile(r)
		want := []usage.Lease{c.lease}
		switch {
		case c.want != nil:
			c.want.Rev = 2
			want = []usage.Lease{*c.want}
		case c.why != "":
			want = []usage.Lease{}
		}
		if diff := cmp.Diff(want, s.Leases); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		var why string
		if len(closed) > 0 {
			why = closed[0].Why
		}
		if why != c.why {
			t.Errorf("%s: closed as %q, want %q", name, why, c.why)
		}
	}
}

// Of the leases that starts of one container took, one stays once their clients have ended:
// that of the label, if it is there.
func TestReconcileUnites(t *testing.T) {
	clientC := usage.Client{PID: 12, Start: 1, PIDNamespace: 1}
	const leaseC = "cccccccccccc"
	made := lease(bound)
	again := lease(starting, bound, func(l *usage.Lease) { l.ID, l.Client = leaseB, clientB })
	third := lease(starting, func(l *usage.Lease) { l.ID, l.Client = leaseC, clientC })
	with := func(l usage.Lease, change ...func(*usage.Lease)) usage.Lease {
		for _, f := range change {
			f(&l)
		}
		return l
	}
	shared := func(l *usage.Lease) { l.Shared = true }
	wider := func(l *usage.Lease) { l.GPUs = gpus(0, 1) }
	part := func(l *usage.Lease) { l.Slices = []string{"x"} }
	elsewhere := func(l *usage.Lease) { l.Container = boxB }
	for name, c := range map[string]struct {
		leases []usage.Lease
		lives  map[usage.Client]usage.Liveness // all others have ended
		look   Look
		left   []string
		shared bool // the first that is left
	}{
		"create, start, restart":          {leases: []usage.Lease{made, again, third}, look: dockerSees(labeled(usage.Running)), left: []string{leaseA}},
		"in any state that holds":         {leases: []usage.Lease{made, again}, look: dockerSees(labeled(usage.Exited, keeps)), left: []string{leaseA}},
		"each client has its own":         {leases: []usage.Lease{made, again, third}, lives: map[usage.Client]usage.Liveness{clientB: usage.Alive, clientC: usage.Alive}, look: dockerSees(labeled(usage.Running)), left: []string{leaseA, leaseB, leaseC}},
		"as long as it lives":             {leases: []usage.Lease{made, again, third}, lives: map[usage.Client]usage.Liveness{clientC: usage.Alive}, look: dockerSees(labeled(usage.Running)), left: []string{leaseA, leaseC}},
		"or may live":                     {leases: []usage.Lease{made, again}, lives: map[usage.Client]usage.Liveness{clientB: usage.Unseen}, look: dockerSees(labeled(usage.Running)), left: []string{leaseA, leaseB}},
		"without a label the first":       {leases: []usage.Lease{again, third}, look: dockerSees(labeled(usage.Running, unlabeled)), left: []string{leaseB}},
		"without a label one that lives":  {leases: []usage.Lease{again, third}, lives: map[usage.Client]usage.Liveness{clientC: usage.Alive}, look: dockerSees(labeled(usage.Running, unlabeled)), left: []string{leaseC}},
		"the label's was released":        {leases: []usage.Lease{again, third}, look: dockerSees(labeled(usage.Running)), left: []string{leaseB}},
		"what one shares all share":       {leases: []usage.Lease{made, with(again, shared)}, look: dockerSees(labeled(usage.Running)), left: []string{leaseA}, shared: true},
		"not what has more":               {leases: []usage.Lease{made, with(again, wider)}, look: dockerSees(labeled(usage.Running)), left: []string{leaseA, leaseB}},
		"not what has a slice":            {leases: []usage.Lease{made, with(again, part)}, look: dockerSees(labeled(usage.Running)), left: []string{leaseA, leaseB}},
		"not those of two containers":     {leases: []usage.Lease{made, with(again, elsewhere)}, look: dockerSees(labeled(usage.Running), labeled(usage.Running, named(boxB))), left: []string{leaseA, leaseB}},
		"not while the engine is silent":  {leases: []usage.Lease{made, again}, look: dockerLate, left: []string{leaseA, leaseB}},
		"a start that failed is not lost": {leases: []usage.Lease{third}, look: dockerSees(labeled(usage.Exited)), left: []string{leaseC}},
		"two that failed are not lost":    {leases: []usage.Lease{with(again, func(l *usage.Lease) { l.Bound = false }), third}, look: dockerSees(labeled(usage.Exited)), left: []string{leaseB, leaseC}},
		"what has ended ends all as ever": {leases: []usage.Lease{made, again}, look: dockerSees(labeled(usage.Exited)), left: nil},
	} {
		s := stateOf(slices.Clone(c.leases)...)
		r := &observed{before: stateOf(c.leases...), lives: map[usage.Client]usage.Liveness{clientA: usage.Ended, clientB: usage.Ended, clientC: usage.Ended}, looks: []Look{c.look}, begin: time.Hour, uptime: time.Hour}
		maps.Copy(r.lives, c.lives)
		s.reconcile(r)
		var left []string
		for _, l := range s.Leases {
			left = append(left, l.ID)
		}
		if diff := cmp.Diff(c.left, left); diff != "" || c.shared && !s.Leases[0].Shared {
			t.Errorf("%s: left %+v: %s", name, s.Leases, diff)
		}
	}
}

// A verdict counts only for the lease that was looked at.
func TestReconcileLeavesWhatIsNewer(t *testing.T) {
	newer := lease(bound)
	newer.Rev = 2
	for name, before := range map[string]State{"changed": stateOf(lease()), "taken meanwhile": stateOf()} {
		s := stateOf(newer)
		r := &observed{before: before, lives: map[usage.Client]usage.Liveness{clientA: usage.Ended}, looks: []Look{dockerSees()}, begin: time.Hour, uptime: time.Hour}
		if closed := s.reconcile(r); len(closed) > 0 || len(s.Leases) != 1 || s.Leases[0].Rev != 2 {
			t.Errorf("%s: closed %v, left %v", name, closed, s.Leases)
		}
	}
}

// The time that a look takes is none that the daemon had.
func TestGraceEndsBeforeTheLook(t *testing.T) {
	s := stateOf(lease(goneAt(time.Second)))
	r := &observed{
		before: stateOf(s.Leases...), lives: map[usage.Client]usage.Liveness{clientA: usage.Ended}, looks: []Look{dockerSees()},
		begin: time.Second + Grace - 1, uptime: time.Minute,
	}
	if closed := s.reconcile(r); len(closed) > 0 {
		t.Errorf("closed %v", closed)
	}
}

func TestReconcileQueue(t *testing.T) {
	s := stateOf()
	s.Queue = []Ticket{{ID: leaseA, Client: clientA}, {ID: leaseB, Client: clientB}, {ID: "cccccccccccc"}}
	s.reconcile(&observed{lives: map[usage.Client]usage.Liveness{clientA: usage.Ended, clientB: usage.Alive}})
	var left []string
	for _, q := range s.Queue {
		left = append(left, q.ID)
	}
	if diff := cmp.Diff([]string{leaseB, "cccccccccccc"}, left); diff != "" {
		t.Error(diff)
	}
}

func TestContainersMerge(t *testing.T) {
	docker, task := labeled(usage.Restarting, keeps), labeled(usage.Running, unlabeled, on(gpus(0, 1)...))
	task.Engine, task.Namespace, task.Name = "containerd", "moby", ""
	want := docker
	want.GPUs = gpus(0, 1)
	for name, looks := range map[string][]Look{
		"docker first":     {dockerSees(docker), containerdSees(task)},
		"containerd first": {containerdSees(task), dockerSees(docker)},
	} {
		got := (&observed{looks: looks}).mergedContainers()
		if diff := cmp.Diff(map[string]seenContainer{boxA: {want, sock}}, got, cmp.AllowUnexported(seenContainer{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	short := task
	short.ID = "job"
	if all := (&observed{looks: []Look{containerdSees(short, task)}}).mergedContainers(); len(all) != 2 || all["containerd/moby/job"].ID != "job" {
		t.Errorf("containers are %v", all)
	}
}

func TestRemember(t *testing.T) {
	held := Known{Facts: labeled(usage.Running).Facts, Engine: "docker", Endpoint: sock, Held: true}
	free := Known{Facts: labeled(usage.Exited).Facts, Engine: "docker", Endpoint: sock}
	for name, c := range map[string]struct {
		looks []Look
		want  map[string]Known
	}{
		"gone":                        {looks: []Look{dockerSees()}},
		"gone, and podman is absent":  {looks: []Look{dockerSees(), noPodman}},
		"gone, and not all processes": {looks: []Look{dockerSees(), someProcs}},
		"no answer":                   {looks: []Look{dockerLate}, want: map[string]Known{boxA: held}},
		"half an answer":              {looks: []Look{dockerPartly}, want: map[string]Known{boxA: held}},
		"another's answer is missing": {looks: []Look{dockerSees(), {Engine: "containerd", Err: errLate}}},
		"exited":                      {looks: []Look{dockerSees(labeled(usage.Exited))}, want: map[string]Known{boxA: free}},
		"late":                        {looks: []Look{dockerSees(labeled(usage.Created))}, want: map[string]Known{boxA: free}},
	} {
		s := stateOf()
		s.Seen = map[string]Known{boxA: held}
		s.reconcile(&observed{looks: c.looks})
		if diff := cmp.Diff(c.want, s.Seen); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestRebuild(t *testing.T) {
	uptime, now := 5*time.Second, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	rev := int(uptime) + 1
	claim := usage.Claimant{Client: clientB, UID: 1001, Lease: leaseB, GPUs: gpus(2)}
	ofBox := usage.Lease{ID: leaseA, Rev: rev, GPUs: gpus(0), Engine: "docker", Endpoint: sock, Verb: usage.VerbRun, Container: boxA, Bound: true}
	ofClient := usage.Lease{ID: leaseB, Rev: rev, GPUs: gpus(2), Verb: usage.VerbRun, Client: clientB, User: &usage.User{UID: 1001}, Since: now}
	for name, c := range map[string]struct {
		claimants []usage.Claimant
		list      []usage.Container
		want      []usage.Lease
	}{
		"nothing":                     {want: []usage.Lease{}},
		"a container":                 {list: []usage.Container{labeled(usage.Running)}, want: []usage.Lease{ofBox}},
		"a created container":         {list: []usage.Container{labeled(usage.Created)}, want: []usage.Lease{ofBox}},
		"a container that comes back": {list: []usage.Container{labeled(usage.Exited, keeps)}, want: []usage.Lease{ofBox}},
		"one that does not":           {list: []usage.Container{labeled(usage.Exited)}, want: []usage.Lease{}},
		"no label":                    {list: []usage.Container{labeled(usage.Running, unlabeled)}, want: []usage.Lease{}},
		"no GPU":                      {list: []usage.Container{labeled(usage.Running, on())}, want: []usage.Lease{}},
		"no lease's label":            {list: []usage.Container{labeled(usage.Running, func(c *usage.Container) { c.Lease = "AAAAAAAAAAAA" })}, want: []usage.Lease{}},
		"a short label":               {list: []usage.Container{labeled(usage.Running, func(c *usage.Container) { c.Lease = "aaaa" })}, want: []usage.Lease{}},
		"one label twice":             {list: []usage.Container{labeled(usage.Running, named(boxB), on(gpus(3)...)), labeled(usage.Running)}, want: []usage.Lease{ofBox}},
		"a client":                    {claimants: []usage.Claimant{claim}, want: []usage.Lease{ofClient}},
		"a client and a container":    {claimants: []usage.Claimant{claim}, list: []usage.Container{labeled(usage.Running)}, want: []usage.Lease{ofBox, ofClient}},
		"a client whose label another has": {
			claimants: []usage.Claimant{claim}, want: []usage.Lease{ofClient},
			list: []usage.Container{labeled(usage.Created, func(c *usage.Container) { c.Lease = leaseB })},
		},
		"a client of another node": {claimants: []usage.Claimant{{Client: clientA, Lease: leaseB, GPUs: gpus(2)}}, want: []usage.Lease{}},
		"a client without GPUs":    {claimants: []usage.Claimant{{Client: clientB, Lease: leaseB}}, want: []usage.Lease{}},
		"a client's nonsense":      {claimants: []usage.Claimant{{Client: clientB, Lease: "$(id)", GPUs: gpus(1)}}, want: []usage.Lease{}},
	} {
		s := NewState("boot")
		r := &observed{
			clients: []Look{{Engine: usage.Processes, Sight: usage.Sight{Claimants: c.claimants}}},
			looks:   []Look{dockerSees(c.list...)}, uptime: uptime, now: now, leaseID: idOf,
		}
		if closed := s.reconcile(r); len(closed) > 0 {
			t.Errorf("%s: closed %v", name, closed)
		}
		if diff := cmp.Diff(c.want, s.Leases); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
