// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

func TestRelease(t *testing.T) {
	ann, bob := usage.User{UID: 1000}, usage.User{UID: 1001}
	other := lease(func(l *usage.Lease) { l.ID, l.GPUs, l.User, l.Client = leaseB, gpus(1), nil, clientB })
	for name, c := range map[string]struct {
		lease usage.Lease
		life  usage.Liveness
		looks []Look
		ids   []string
		who   usage.User
		force bool
		want  string // the error's beginning
		left  []string
	}{
		"pending":                       {lease: lease(), life: usage.Alive, who: ann, want: "lease aaaaaaaaaaaa: it is pending", left: []string{leaseA, leaseB}},
		"pending, by force":             {lease: lease(), life: usage.Alive, who: ann, force: true, left: []string{leaseB}},
		"expiring":                      {lease: lease(goneAt(1 << 60)), life: usage.Ended, who: ann, left: []string{leaseB}},
		"expiring, of somebody else":    {lease: lease(goneAt(1 << 60)), life: usage.Ended, who: bob, want: "lease aaaaaaaaaaaa: it belongs to ann. ", left: []string{leaseA, leaseB}},
		"of somebody else, by force":    {lease: lease(goneAt(1 << 60)), life: usage.Ended, who: bob, force: true, left: []string{leaseB}},
		"running":                       {lease: lease(bound), looks: []Look{dockerSees(labeled(usage.Running))}, who: ann, want: "lease aaaaaaaaaaaa: it is running", left: []string{leaseA, leaseB}},
		"running, of somebody else":     {lease: lease(bound), looks: []Look{dockerSees(labeled(usage.Running))}, who: bob, want: "lease aaaaaaaaaaaa: it belongs to ann, and it is running", left: []string{leaseA, leaseB}},
		"running, by force":             {lease: lease(bound), looks: []Look{dockerSees(labeled(usage.Running))}, who: ann, force: true, left: []string{leaseB}},
		"nobody knows":                  {lease: lease(bound), looks: []Look{dockerLate}, who: ann, want: "lease aaaaaaaaaaaa: it is unknown", left: []string{leaseA, leaseB}},
		"of nobody known":               {lease: lease(goneAt(1<<60), func(l *usage.Lease) { l.User = nil }), life: usage.Ended, who: ann, want: "lease aaaaaaaaaaaa: its user is unknown", left: []string{leaseA, leaseB}},
		"over anyway":                   {lease: lease(bound), looks: []Look{dockerSees()}, who: bob, left: []string{leaseB}},
		"unknown":                       {lease: lease(), ids: []string{"dddddddddddd"}, who: ann, force: true, want: `no lease "dddddddddddd"`, left: []string{leaseA, leaseB}},
		"all or none":                   {lease: lease(goneAt(1 << 60)), life: usage.Ended, ids: []string{leaseA, leaseB}, who: ann, want: "lease bbbbbbbbbbbb: ", left: []string{leaseA, leaseB}},
		"all, by force, and some twice": {lease: lease(), life: usage.Alive, ids: []string{leaseB, leaseA, leaseB}, who: ann, force: true, left: nil},
	} {
		b := newBench(t, stateOf(c.lease, other), append([]Look{dockerSees()}, c.looks...)[min(1, len(c.looks)):]...)
		b.lives[clientA] = c.life
		if c.ids == nil {
			c.ids = []string{leaseA}
		}
		released, _, err := b.Release(t.Context(), c.ids, c.who, c.force)
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want %q", name, err, c.want)
		}
		if len(released) != len(c.ids) && err == nil || len(released) > 0 && err != nil {
			t.Errorf("%s: released %v", name, released)
		}
		var left []string
		for _, l := range b.state.Leases {
			left = append(left, l.ID)
		}
		if diff := cmp.Diff(c.left, left); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A container that goes on with a GPU goes on holding it.
func TestReleaseLeavesTheContainer(t *testing.T) {
	b := newBench(t, stateOf(lease(bound)), dockerSees(labeled(usage.Running)))
	if _, _, err := b.Release(t.Context(), []string{leaseA}, usage.User{}, true); err != nil {
		t.Fatal(err)
	}
	for _, look := range []Look{dockerSees(labeled(usage.Running)), dockerLate} {
		b.looks = []Look{look}
		r, err := b.Report(t.Context())
		if err != nil || len(r.Holders) != 1 || r.Holders[0].Lease != nil {
			t.Errorf("holders %v, %v", r.Holders, err)
		}
	}
}

// What came to nothing is given back, but not what has changed since; and a state that is lost
// is not begun by it.
func TestReturn(t *testing.T) {
	other := lease(func(l *usage.Lease) { l.ID, l.GPUs = leaseB, gpus(1) })
	lost := NewState("boot")
	lost.Lost = "it was damaged"
	for name, c := range map[string]struct {
		state  State
		left   []string
		writes int
	}{
		"as it was":     {stateOf(lease(), other), []string{leaseB}, 1},
		"changed since": {stateOf(lease(func(l *usage.Lease) { l.Rev++ }), other), []string{leaseA, leaseB}, 0},
		"gone already":  {stateOf(other), []string{leaseB}, 0},
		"lost":          {lost, nil, 0},
	} {
		b := newBench(t, c.state)
		if err := b.Return(t.Context(), []usage.Lease{lease()}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var left []string
		for _, l := range b.state.Leases {
			left = append(left, l.ID)
		}
		if diff := cmp.Diff(c.left, left); diff != "" || b.writes != c.writes || b.state.New != c.state.New {
			t.Errorf("%s: %d writes, new %v, left: %s", name, b.writes, b.state.New, diff)
		}
	}
	b := newBench(t, stateOf(lease()))
	b.err = errors.New("broken")
	if err := b.Return(t.Context(), []usage.Lease{lease()}); !errors.Is(err, b.err) {
		t.Errorf("error is %v", err)
	}
}

func TestCollect(t *testing.T) {
	b := newBench(t, stateOf(lease(bound)), dockerSees())
	r, err := b.Report(t.Context())
	if err != nil || len(r.Closed) != 1 || len(r.State.Leases) != 0 || len(b.state.Leases) != 1 || b.writes != 0 {
		t.Errorf("report %+v, %v; state %+v", r, err, b.state)
	}
	closed, looks, err := b.Collect(t.Context())
	if err != nil || len(closed) != 1 || closed[0].Why != "its container is gone" || len(looks) != 1 || len(b.state.Leases) != 0 {
		t.Errorf("closed %v, looks %v, %v; state %+v", closed, looks, err, b.state)
	}
	broken := errors.New("broken")
	b.err = broken
	if _, _, err := b.Collect(t.Context()); !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
	if _, err := b.Report(t.Context()); !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
}

// A state that is lost stays lost until all sources answer.
func TestLostUntilAllAnswer(t *testing.T) {
	clientsLate := Look{Engine: usage.Processes, Err: errLate}
	for name, c := range map[string]struct {
		looks []Look
		begun bool
	}{
		"all answer":             {looks: []Look{dockerSees(), noPodman, someProcs}, begun: true},
		"docker does not":        {looks: []Look{dockerLate, noPodman}},
		"docker does in part":    {looks: []Look{dockerPartly}},
		"the clients are late":   {looks: []Look{dockerSees(), clientsLate}},
		"nothing is there to do": {looks: []Look{noPodman}, begun: true},
	} {
		for _, why := range []string{"", "it was damaged"} { // the first is after a boot
			s := NewState("boot")
			s.Lost = why
			b := newBench(t, s, c.looks...)
			_, looks, err := b.Collect(t.Context())
			if wrong := !c.begun && why != ""; errors.Is(err, ErrBusy) != wrong || len(looks) != len(c.looks) || b.state.New == c.begun {
				t.Errorf("%s, lost as %q: collect: %v; new %v", name, why, err, b.state.New)
			}
		}
		b := newBench(t, NewState("boot"), c.looks...)
		_, _, err := b.Release(t.Context(), []string{leaseA}, usage.User{}, true)
		var unknown *UnknownLeaseError
		if errors.As(err, &unknown) != c.begun || !c.begun && !errors.Is(err, ErrBusy) || !b.state.New {
			t.Errorf("%s: release: %v; new %v", name, err, b.state.New)
		}
	}
}
