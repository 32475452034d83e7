package occupancy

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

const (
	leaseA = "aaaaaaaaaaaa"
	leaseB = "bbbbbbbbbbbb"
)

var (
	boxA    = strings.Repeat("a", 64)
	boxB    = strings.Repeat("b", 64)
	clientA = Client{PID: 7, Start: 70, PIDNamespace: 1}
	clientB = Client{PID: 8, Start: 80, PIDNamespace: 1}
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
func lease(change ...func(*Lease)) Lease {
	l := Lease{
		ID: leaseA, Rev: 1, GPUs: gpus(0), Engine: "docker", Endpoint: sock, Verb: VerbRun,
		Client: clientA, User: &User{UID: 1000, Name: "ann"},
	}
	for _, c := range change {
		c(&l)
	}
	return l
}

func bound(l *Lease)    { l.Bound, l.Container = true, boxA }
func starting(l *Lease) { l.Verb, l.Container, l.Started = VerbStart, boxA, "1" }
func rebuilt(l *Lease)  { l.Engine, l.Endpoint = "", "" }
func goneAt(d time.Duration) func(*Lease) {
	return func(l *Lease) { l.Gone = d }
}

// labeled is a docker container with the label of leaseA and the first GPU.
func labeled(state ContainerState, change ...func(*Container)) Container {
	c := Container{Engine: "docker", ID: boxA, State: state, Started: "1", Facts: Facts{Name: "job", Lease: leaseA, GPUs: gpus(0)}}
	for _, f := range change {
		f(&c)
	}
	return c
}

func keeps(c *Container)               { c.Keeps = true }
func unlabeled(c *Container)           { c.Lease = "" }
func restarted(c *Container)           { c.Started = "2" }
func on(g ...gpu.BDF) func(*Container) { return func(c *Container) { c.GPUs = g } }
func named(id string) func(*Container) { return func(c *Container) { c.ID = id } }
func dockerSees(list ...Container) Look {
	return Look{Engine: "docker", Endpoint: sock, Sight: Sight{Containers: list}}
}

func containerdSees(list ...Container) Look {
	return Look{Engine: "containerd", Endpoint: "/run/containerd.sock", Sight: Sight{Containers: list}}
}

func nerdctl(l *Lease)          { l.Engine, l.Endpoint = "containerd", "/run/containerd.sock" }
func inContainerd(c *Container) { c.Engine, c.Namespace = "containerd", "default" }
func stateOf(leases ...Lease) State {
	s := NewState("boot")
	s.New, s.Leases = false, leases
	return s
}

var (
	dockerLate       = Look{Engine: "docker", Endpoint: sock, Err: errLate}
	dockerPartly     = Look{Engine: "docker", Endpoint: sock, Sight: Sight{Partial: true}}
	containerdLate   = Look{Engine: "containerd", Endpoint: "/run/containerd.sock", Err: errLate}
	containerdPartly = Look{Engine: "containerd", Endpoint: "/run/containerd.sock", Sight: Sight{Partial: true}}
	noPodman         = Look{Engine: "podman", Err: ErrAbsent}
	someProcs        = Look{Engine: Processes, Sight: Sight{Partial: true}, Err: errRefused}
)

func TestSettle(t *testing.T) {
	over := dockerSees()
	over.Over = []string{leaseA}
	lateButOver := dockerLate
	lateButOver.Over = []string{leaseA}
	other := dockerSees()
	other.Endpoint = "/run/user/1000/docker.sock"
	now := 10 * time.Second
	for name, c := range map[string]struct {
		lease Lease
		life  Life
		looks []Look
		want  *Lease // nil is as it was
		why   string // or closed
	}{
		"pending while the client lives":                {lease: lease(), life: Alive, looks: []Look{dockerSees()}},
		"pending while the client cannot be seen":       {lease: lease(), life: Unseen, looks: []Look{dockerSees()}},
		"a dead client's hour begins":                   {lease: lease(), life: Ended, looks: []Look{dockerSees()}, want: new(lease(goneAt(now)))},
		"and lasts for Grace":                           {lease: lease(goneAt(now - Grace + 1)), life: Ended, looks: []Look{dockerSees()}},
		"and then ends":                                 {lease: lease(goneAt(now - Grace)), life: Ended, looks: []Look{dockerSees()}, why: "its client ended without a container"},
		"a client that is there after all":              {lease: lease(goneAt(1)), life: Alive, looks: []Look{dockerSees()}, want: new(lease())},
		"come and gone":                                 {lease: lease(), life: Ended, looks: []Look{over}, why: "its container has come and gone"},
		"come and gone by half an answer":               {lease: lease(), life: Ended, looks: []Look{lateButOver}, why: "its container has come and gone"},
		"bound to a created container":                  {lease: lease(), life: Ended, looks: []Look{dockerSees(labeled(Created))}, want: new(lease(bound))},
		"bound to a running container":                  {lease: lease(goneAt(1)), life: Ended, looks: []Look{dockerSees(labeled(Running))}, want: new(lease(bound))},
		"bound while it runs":                           {lease: lease(bound), life: Ended, looks: []Look{dockerSees(labeled(Running))}},
		"bound while it is paused":                      {lease: lease(bound), life: Ended, looks: []Look{dockerSees(labeled(Paused))}},
		"bound while it restarts":                       {lease: lease(bound), life: Ended, looks: []Look{dockerSees(labeled(Restarting))}},
		"bound while a policy keeps it":                 {lease: lease(bound), life: Ended, looks: []Look{dockerSees(labeled(Exited, keeps))}},
		"released when it exits":                        {lease: lease(bound), life: Alive, looks: []Look{dockerSees(labeled(Exited))}, why: "its container is exited"},
		"released when it exits before it was seen":     {lease: lease(), life: Alive, looks: []Look{dockerSees(labeled(Exited))}, why: "its container is exited"},
		"released while it is removed":                  {lease: lease(bound), life: Ended, looks: []Look{dockerSees(labeled(Removing, keeps))}, why: "its container is removing"},
		"released when half removed":                    {lease: lease(bound), life: Ended, looks: []Look{dockerSees(labeled(Dead, keeps))}, why: "its container is dead"},
		"released when it is gone":                      {lease: lease(bound), life: Alive, looks: []Look{dockerSees(), noPodman}, why: "its container is gone"},
		"bound follows the ID before the label":         {lease: lease(bound), life: Ended, looks: []Look{dockerSees(labeled(Running), labeled(Running, named(boxB)))}},
		"start: compose makes it anew":                  {lease: lease(func(l *Lease) { l.Verb = VerbStart }), life: Ended, looks: []Look{dockerSees(labeled(Created))}, want: new(lease(bound, func(l *Lease) { l.Verb = VerbStart }))},
		"bound goes on to what is made anew":            {lease: lease(bound), life: Ended, looks: []Look{dockerSees(labeled(Exited), labeled(Created, named(boxB)))}, want: new(lease(bound, func(l *Lease) { l.Container = boxB }))},
		"bound goes on to nothing that has ended":       {lease: lease(bound), life: Ended, looks: []Look{dockerSees(labeled(Exited, named(boxB)))}, why: "its container is gone"},
		"bound follows the ID without a label":          {lease: lease(bound), life: Ended, looks: []Look{dockerSees(labeled(Running, unlabeled, on()))}},
		"a label without its GPUs":                      {lease: lease(), life: Alive, looks: []Look{dockerSees(labeled(Exited, on(gpus(1)...)))}},
		"a label without GPUs":                          {lease: lease(), life: Alive, looks: []Look{dockerSees(labeled(Running, on()))}},
		"a privileged container":                        {lease: lease(), life: Ended, looks: []Look{dockerSees(labeled(Running, on(), func(c *Container) { c.Privileged = true }))}, want: new(lease(bound))},
		"of two the one that holds":                     {lease: lease(), life: Ended, looks: []Look{dockerSees(labeled(Running), labeled(Exited, named(boxB)))}, want: new(lease(bound))},
		"of two the one that holds, in another order":   {lease: lease(), life: Ended, looks: []Look{dockerSees(labeled(Exited, named("0"+boxB[1:])), labeled(Running))}, want: new(lease(bound))},
		"no answer changes nothing for a bound one":     {lease: lease(bound), life: Ended, looks: []Look{dockerLate}},
		"no answer changes nothing for a pending one":   {lease: lease(goneAt(1)), life: Ended, looks: []Look{dockerLate}},
		"half an answer changes nothing":                {lease: lease(bound), life: Ended, looks: []Look{dockerPartly}},
		"no daemon changes nothing":                     {lease: lease(bound), life: Ended, looks: []Look{{Engine: "docker", Endpoint: sock, Err: ErrAbsent}}},
		"another daemon's answer changes nothing":       {lease: lease(bound), life: Ended, looks: []Look{other}},
		"nobody asked changes nothing":                  {lease: lease(bound), life: Ended},
		"start: pending before it starts":               {lease: lease(starting), life: Alive, looks: []Look{dockerSees(labeled(Exited))}},
		"start: pending, though somebody else's ended":  {lease: lease(starting), life: Alive, looks: []Look{dockerSees(labeled(Exited, restarted))}},
		"start: pending, though it was seen to run":     {lease: lease(starting, bound), life: Alive, looks: []Look{dockerSees(labeled(Exited, restarted))}},
		"start: dead before it started":                 {lease: lease(starting), life: Ended, looks: []Look{dockerSees(labeled(Exited))}, want: new(lease(starting, goneAt(now)))},
		"start: dead for long":                          {lease: lease(starting, goneAt(1)), life: Ended, looks: []Look{dockerSees(labeled(Exited))}, why: "its client ended without a container"},
		"start: it runs":                                {lease: lease(starting), life: Ended, looks: []Look{dockerSees(labeled(Running))}, want: new(lease(starting, bound))},
		"start: it ran":                                 {lease: lease(starting), life: Ended, looks: []Look{dockerSees(labeled(Exited, restarted))}, why: "its container is exited"},
		"start: it was seen to run":                     {lease: lease(starting, bound), life: Ended, looks: []Look{dockerSees(labeled(Exited))}, why: "its container is exited"},
		"start: of a container without a label":         {lease: lease(starting), life: Ended, looks: []Look{dockerSees(labeled(Running, unlabeled))}, want: new(lease(starting, bound))},
		"start: somebody else has its ID for a label":   {lease: lease(starting), life: Alive, looks: []Look{dockerSees(labeled(Exited, unlabeled), labeled(Created, named(boxB)))}},
		"start: it is gone":                             {lease: lease(starting), life: Alive, looks: []Look{dockerSees()}, why: "its container is gone"},
		"nerdctl: dead without a container":             {lease: lease(nerdctl), life: Ended, looks: []Look{containerdSees()}, why: "its client ended without a container"},
		"nerdctl: alive without a container":            {lease: lease(nerdctl), life: Alive, looks: []Look{containerdSees()}},
		"nerdctl: dead, and half an answer":             {lease: lease(nerdctl), life: Ended, looks: []Look{containerdPartly}},
		"nerdctl: dead, and no answer":                  {lease: lease(nerdctl), life: Ended, looks: []Look{containerdLate}},
		"nerdctl: alive, and no task yet":               {lease: lease(nerdctl), life: Alive, looks: []Look{containerdSees(labeled(Exited, inContainerd))}},
		"nerdctl: dead, and no task":                    {lease: lease(nerdctl), life: Ended, looks: []Look{containerdSees(labeled(Exited, inContainerd))}, why: "its container is exited"},
		"nerdctl: it runs":                              {lease: lease(nerdctl), life: Ended, looks: []Look{containerdSees(labeled(Running, inContainerd))}, want: new(lease(nerdctl, bound))},
		"nerdctl: it has run":                           {lease: lease(nerdctl, bound), life: Alive, looks: []Look{containerdSees(labeled(Exited, inContainerd))}, why: "its container is exited"},
		"rebuilt: every engine has to say so":           {lease: lease(rebuilt, goneAt(1)), life: Ended, looks: []Look{dockerSees(), {Engine: "containerd", Err: errLate}}},
		"rebuilt: but not an absent one, nor processes": {lease: lease(rebuilt, goneAt(1)), life: Ended, looks: []Look{dockerSees(), noPodman, someProcs}, why: "its client ended without a container"},
		"rebuilt: processes alone are no engine":        {lease: lease(rebuilt, goneAt(1)), life: Ended, looks: []Look{someProcs}},
		"rebuilt: it learns its engine":                 {lease: lease(rebuilt), life: Alive, looks: []Look{dockerSees(labeled(Running))}, want: new(lease(bound))},
	} {
		s := stateOf(c.lease)
		r := &round{before: stateOf(c.lease), lives: map[Client]Life{clientA: c.life}, looks: c.looks, asked: now, uptime: now}
		closed := s.settle(r)
		want := []Lease{c.lease}
		switch {
		case c.want != nil:
			c.want.Rev = 2
			want = []Lease{*c.want}
		case c.why != "":
			want = []Lease{}
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

// Of the leases that starts of one container took, one stays once their clients
// have ended: that of the label, if it is there.
func TestSettleUnites(t *testing.T) {
	clientC := Client{PID: 12, Start: 1, PIDNamespace: 1}
	const leaseC = "cccccccccccc"
	made := lease(bound)
	again := lease(starting, bound, func(l *Lease) { l.ID, l.Client = leaseB, clientB })
	third := lease(starting, func(l *Lease) { l.ID, l.Client = leaseC, clientC })
	with := func(l Lease, change ...func(*Lease)) Lease {
		for _, f := range change {
			f(&l)
		}
		return l
	}
	shared := func(l *Lease) { l.Shared = true }
	wider := func(l *Lease) { l.GPUs = gpus(0, 1) }
	part := func(l *Lease) { l.Slices = []string{"x"} }
	elsewhere := func(l *Lease) { l.Container = boxB }
	for name, c := range map[string]struct {
		leases []Lease
		lives  map[Client]Life // all others have ended
		look   Look
		left   []string
		shared bool // the first that is left
	}{
		"create, start, restart":          {leases: []Lease{made, again, third}, look: dockerSees(labeled(Running)), left: []string{leaseA}},
		"in any state that holds":         {leases: []Lease{made, again}, look: dockerSees(labeled(Exited, keeps)), left: []string{leaseA}},
		"each client has its own":         {leases: []Lease{made, again, third}, lives: map[Client]Life{clientB: Alive, clientC: Alive}, look: dockerSees(labeled(Running)), left: []string{leaseA, leaseB, leaseC}},
		"as long as it lives":             {leases: []Lease{made, again, third}, lives: map[Client]Life{clientC: Alive}, look: dockerSees(labeled(Running)), left: []string{leaseA, leaseC}},
		"or may live":                     {leases: []Lease{made, again}, lives: map[Client]Life{clientB: Unseen}, look: dockerSees(labeled(Running)), left: []string{leaseA, leaseB}},
		"without a label the first":       {leases: []Lease{again, third}, look: dockerSees(labeled(Running, unlabeled)), left: []string{leaseB}},
		"without a label one that lives":  {leases: []Lease{again, third}, lives: map[Client]Life{clientC: Alive}, look: dockerSees(labeled(Running, unlabeled)), left: []string{leaseC}},
		"the label's was released":        {leases: []Lease{again, third}, look: dockerSees(labeled(Running)), left: []string{leaseB}},
		"what one shares all share":       {leases: []Lease{made, with(again, shared)}, look: dockerSees(labeled(Running)), left: []string{leaseA}, shared: true},
		"not what has more":               {leases: []Lease{made, with(again, wider)}, look: dockerSees(labeled(Running)), left: []string{leaseA, leaseB}},
		"not what has a slice":            {leases: []Lease{made, with(again, part)}, look: dockerSees(labeled(Running)), left: []string{leaseA, leaseB}},
		"not those of two containers":     {leases: []Lease{made, with(again, elsewhere)}, look: dockerSees(labeled(Running), labeled(Running, named(boxB))), left: []string{leaseA, leaseB}},
		"not while the engine is silent":  {leases: []Lease{made, again}, look: dockerLate, left: []string{leaseA, leaseB}},
		"a start that failed is not lost": {leases: []Lease{third}, look: dockerSees(labeled(Exited)), left: []string{leaseC}},
		"two that failed are not lost":    {leases: []Lease{with(again, func(l *Lease) { l.Bound = false }), third}, look: dockerSees(labeled(Exited)), left: []string{leaseB, leaseC}},
		"what has ended ends all as ever": {leases: []Lease{made, again}, look: dockerSees(labeled(Exited)), left: nil},
	} {
		s := stateOf(slices.Clone(c.leases)...)
		r := &round{before: stateOf(c.leases...), lives: map[Client]Life{clientA: Ended, clientB: Ended, clientC: Ended}, looks: []Look{c.look}, asked: time.Hour, uptime: time.Hour}
		maps.Copy(r.lives, c.lives)
		s.settle(r)
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
func TestSettleLeavesWhatIsNewer(t *testing.T) {
	newer := lease(bound)
	newer.Rev = 2
	for name, before := range map[string]State{"changed": stateOf(lease()), "taken meanwhile": stateOf()} {
		s := stateOf(newer)
		r := &round{before: before, lives: map[Client]Life{clientA: Ended}, looks: []Look{dockerSees()}, asked: time.Hour, uptime: time.Hour}
		if closed := s.settle(r); len(closed) > 0 || len(s.Leases) != 1 || s.Leases[0].Rev != 2 {
			t.Errorf("%s: closed %v, left %v", name, closed, s.Leases)
		}
	}
}

// The time that a look takes is none that the daemon had.
func TestGraceEndsBeforeTheLook(t *testing.T) {
	s := stateOf(lease(goneAt(time.Second)))
	r := &round{
		before: stateOf(s.Leases...), lives: map[Client]Life{clientA: Ended}, looks: []Look{dockerSees()},
		asked: time.Second + Grace - 1, uptime: time.Minute,
	}
	if closed := s.settle(r); len(closed) > 0 {
		t.Errorf("closed %v", closed)
	}
}

func TestSettleQueue(t *testing.T) {
	s := stateOf()
	s.Queue = []Ticket{{ID: leaseA, Client: clientA}, {ID: leaseB, Client: clientB}, {ID: "cccccccccccc"}}
	s.settle(&round{lives: map[Client]Life{clientA: Ended, clientB: Alive}})
	var left []string
	for _, q := range s.Queue {
		left = append(left, q.ID)
	}
	if diff := cmp.Diff([]string{leaseB, "cccccccccccc"}, left); diff != "" {
		t.Error(diff)
	}
}

func TestContainersMerge(t *testing.T) {
	docker, task := labeled(Restarting, keeps), labeled(Running, unlabeled, on(gpus(0, 1)...))
	task.Engine, task.Namespace, task.Name = "containerd", "moby", ""
	want := docker
	want.GPUs = gpus(0, 1)
	for name, looks := range map[string][]Look{
		"docker first":     {dockerSees(docker), containerdSees(task)},
		"containerd first": {containerdSees(task), dockerSees(docker)},
	} {
		got := (&round{looks: looks}).containers()
		if diff := cmp.Diff(map[string]sight{boxA: {want, sock}}, got, cmp.AllowUnexported(sight{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	short := task
	short.ID = "job"
	if all := (&round{looks: []Look{containerdSees(short, task)}}).containers(); len(all) != 2 || all["containerd/moby/job"].ID != "job" {
		t.Errorf("containers are %v", all)
	}
}

func TestRemember(t *testing.T) {
	held := Known{Facts: labeled(Running).Facts, Engine: "docker", Endpoint: sock, Held: true}
	free := Known{Facts: labeled(Exited).Facts, Engine: "docker", Endpoint: sock}
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
		"exited":                      {looks: []Look{dockerSees(labeled(Exited))}, want: map[string]Known{boxA: free}},
		"late":                        {looks: []Look{dockerSees(labeled(Created))}, want: map[string]Known{boxA: free}},
	} {
		s := stateOf()
		s.Seen = map[string]Known{boxA: held}
		s.settle(&round{looks: c.looks})
		if diff := cmp.Diff(c.want, s.Seen); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestRebuild(t *testing.T) {
	uptime, now := 5*time.Second, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	rev := int(uptime) + 1
	claim := Claimant{Client: clientB, UID: 1001, Lease: leaseB, GPUs: gpus(2)}
	ofBox := Lease{ID: leaseA, Rev: rev, GPUs: gpus(0), Engine: "docker", Endpoint: sock, Verb: VerbRun, Container: boxA, Bound: true}
	ofClient := Lease{ID: leaseB, Rev: rev, GPUs: gpus(2), Verb: VerbRun, Client: clientB, User: &User{UID: 1001}, Since: now}
	for name, c := range map[string]struct {
		claimants []Claimant
		list      []Container
		want      []Lease
	}{
		"nothing":                     {want: []Lease{}},
		"a container":                 {list: []Container{labeled(Running)}, want: []Lease{ofBox}},
		"a created container":         {list: []Container{labeled(Created)}, want: []Lease{ofBox}},
		"a container that comes back": {list: []Container{labeled(Exited, keeps)}, want: []Lease{ofBox}},
		"one that does not":           {list: []Container{labeled(Exited)}, want: []Lease{}},
		"no label":                    {list: []Container{labeled(Running, unlabeled)}, want: []Lease{}},
		"no GPU":                      {list: []Container{labeled(Running, on())}, want: []Lease{}},
		"no lease's label":            {list: []Container{labeled(Running, func(c *Container) { c.Lease = "AAAAAAAAAAAA" })}, want: []Lease{}},
		"a short label":               {list: []Container{labeled(Running, func(c *Container) { c.Lease = "aaaa" })}, want: []Lease{}},
		"one label twice":             {list: []Container{labeled(Running, named(boxB), on(gpus(3)...)), labeled(Running)}, want: []Lease{ofBox}},
		"a client":                    {claimants: []Claimant{claim}, want: []Lease{ofClient}},
		"a client and a container":    {claimants: []Claimant{claim}, list: []Container{labeled(Running)}, want: []Lease{ofBox, ofClient}},
		"a client whose label another has": {
			claimants: []Claimant{claim}, want: []Lease{ofClient},
			list: []Container{labeled(Created, func(c *Container) { c.Lease = leaseB })},
		},
		"a client without GPUs": {claimants: []Claimant{{Client: clientB, Lease: leaseB}}, want: []Lease{}},
		"a client's nonsense":   {claimants: []Claimant{{Client: clientB, Lease: "$(id)", GPUs: gpus(1)}}, want: []Lease{}},
	} {
		s := NewState("boot")
		r := &round{
			clients: []Look{{Engine: Processes, Sight: Sight{Claimants: c.claimants}}},
			looks:   []Look{dockerSees(c.list...)}, lost: true, uptime: uptime, now: now,
		}
		if closed := s.settle(r); len(closed) > 0 {
			t.Errorf("%s: closed %v", name, closed)
		}
		if diff := cmp.Diff(c.want, s.Leases); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestState(t *testing.T) {
	s := NewState("boot")
	for _, id := range []string{"b", "a", "c", "a"} {
		s.put(Lease{ID: id})
	}
	s.drop("b")
	s.drop("d")
	if diff := cmp.Diff([]Lease{{ID: "a", Rev: 2}, {ID: "c", Rev: 1}}, s.Leases); diff != "" {
		t.Error(diff)
	}
	if s.Lease("a") == nil || s.Lease("b") != nil {
		t.Error("a lease is not where it should be")
	}
	other := clientA
	other.Start++
	ids := []string{LeaseID("boot", clientA, 0), LeaseID("boot", clientA, 1), LeaseID("boot2", clientA, 0), LeaseID("boot", other, 0)}
	if ids[0] != LeaseID("boot", clientA, 0) || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 4 {
		t.Errorf("IDs are %v", ids)
	}
	for _, id := range ids {
		if !ValidID(id) {
			t.Errorf("%q is no ID", id)
		}
	}
}
