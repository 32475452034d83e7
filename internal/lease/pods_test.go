// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

func kubeletSees(list ...usage.Container) Look {
	return Look{Engine: usage.Kubernetes, Sight: usage.Sight{Containers: list}}
}

var kubeletLate = Look{Engine: usage.Kubernetes, Sight: usage.Sight{Partial: true}, Err: errLate}

// podContainer is a container that the kubelet lists with these GPUs.
func podContainer(indices ...int) usage.Container {
	return usage.Container{Engine: usage.Kubernetes, ID: "team/train/main", State: usage.Running, Facts: usage.Facts{Name: "team/train/main", GPUs: gpus(indices...)}}
}

var (
	pluginA = usage.Client{PID: 1, Start: 10, PIDNamespace: 100}
	pluginB = usage.Client{PID: 1, Start: 20, PIDNamespace: 200}
)

// use is the use of these GPUs by a container, which may not be known.
func use(container string, indices ...int) PodUse {
	u := PodUse{GPUs: gpus(indices...), Container: container}
	for _, g := range u.GPUs {
		u.Devices = append(u.Devices, "GPU-"+g.String())
	}
	return u
}

// podLease is the lease of a pod that is not known, renewed at the uptime.
func podLease(renewed time.Duration, indices ...int) usage.Lease {
	s := stateOf()
	s.SetPods([]PodUse{use("", indices...)}, pluginA, renewed, time.Time{})
	return s.Leases[0]
}

func ofPod(container string, l usage.Lease) usage.Lease {
	l.Bound, l.Container = true, container
	return l
}

func by(plugin usage.Client, l usage.Lease) usage.Lease {
	l.Client = plugin
	return l
}

func TestTakePod(t *testing.T) {
	for name, c := range map[string]struct {
		leases []usage.Lease
		fresh  bool
		want   string // part of the error
	}{
		"free":                          {},
		"leased by docker a moment ago": {leases: []usage.Lease{lease()}, want: "is in use by lease aaaaaaaaaaaa, of ann"},
		"leased by a container":         {leases: []usage.Lease{lease(bound)}, want: "is in use by container aaaaaaaaaaaa, lease aaaaaaaaaaaa, of ann"},
		"another GPU is leased":         {leases: []usage.Lease{lease(func(l *usage.Lease) { l.GPUs = gpus(3) })}},
		"another pod had it":            {leases: []usage.Lease{podLease(0, 0)}},
		"nobody has looked":             {fresh: true, want: "not known"},
	} {
		s := stateOf(c.leases...)
		s.New = c.fresh
		err := s.TakePod(use("", 0, 1), pluginA, time.Hour, time.Time{})
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if got := s.Lease(podLease(0, 0, 1).ID) != nil; got != (c.want == "") {
			t.Errorf("%s: there is a lease: %t", name, got)
		}
		if err != nil && errors.Is(err, ErrBusy) == c.fresh {
			t.Errorf("%s: is %v ErrBusy?", name, err)
		}
	}
}

func TestSetPods(t *testing.T) {
	docker := lease(func(l *usage.Lease) { l.GPUs = gpus(3) })
	id := func(indices ...int) string { return podLease(0, indices...).ID }
	for name, c := range map[string]struct {
		before []usage.Lease
		uses   []PodUse
		uptime time.Duration
		want   map[string]string // ID → container
	}{
		"pods that were there first":         {uses: []PodUse{use("team/a/main", 0), use("", 1, 2)}, want: map[string]string{id(0): "team/a/main", id(1, 2): ""}},
		"it stays":                           {before: []usage.Lease{podLease(0, 0)}, uses: []PodUse{use("", 0)}, want: map[string]string{id(0): ""}},
		"the pod becomes known":              {before: []usage.Lease{podLease(0, 0)}, uses: []PodUse{use("team/a/main", 0)}, want: map[string]string{id(0): "team/a/main"}},
		"the pod has ended":                  {before: []usage.Lease{podLease(0, 0)}, want: map[string]string{}},
		"another plugin has just answered":   {before: []usage.Lease{by(pluginB, podLease(0, 0))}, uptime: PodGrace - 1, want: map[string]string{id(0): ""}},
		"another plugin answered long ago":   {before: []usage.Lease{by(pluginB, podLease(0, 0))}, uptime: PodGrace, want: map[string]string{}},
		"an init container handed on a part": {before: []usage.Lease{podLease(0, 0, 1)}, uses: []PodUse{use("", 0), use("", 1)}, want: map[string]string{id(0): "", id(1): ""}},
		"a pod whose GPU docker shares":      {uses: []PodUse{use("", 3)}, want: map[string]string{id(3): ""}},
	} {
		s := stateOf(docker)
		for _, l := range c.before {
			s.putLease(l)
		}
		s.SetPods(c.uses, pluginA, c.uptime, time.Time{})
		got := map[string]string{}
		for _, l := range s.Leases {
			if l.Engine == usage.Kubernetes {
				got[l.ID] = l.Container
			}
		}
		if d := cmp.Diff(c.want, got); d != "" || s.Lease(docker.ID) == nil {
			t.Errorf("%s: %v %s", name, s.Leases, d)
		}
	}

	lost := NewState("boot")
	if lost.SetPods([]PodUse{use("", 0)}, pluginA, 0, time.Time{}); len(lost.Leases) > 0 {
		t.Error("a state that is lost begins anew")
	}
}

// A lease is renewed now and then, and the plugin that renews it is its client.
func TestRenewPods(t *testing.T) {
	for uptime, want := range map[time.Duration]usage.Client{renewEvery - 1: pluginB, renewEvery: pluginA} {
		s := stateOf(by(pluginB, podLease(0, 0)))
		s.SetPods([]PodUse{use("", 0)}, pluginA, uptime, time.Time{})
		if l := s.Leases[0]; l.Client != want || (l.Renewed == uptime) != (want == pluginA) {
			t.Errorf("after %s: %+v", uptime, l)
		}
	}
}

// Until PodGrace is over the lease of a pod stays, and then as long as the kubelet lists the
// pod.
func TestNextOfPod(t *testing.T) {
	for name, c := range map[string]struct {
		since        time.Duration // the last renewal
		look         Look
		stays, named bool
	}{
		"just answered":                            {0, kubeletSees(), true, false},
		"listed":                                   {0, kubeletSees(podContainer(0)), true, true},
		"no more renewed, and listed":              {time.Hour, kubeletSees(podContainer(0)), true, true},
		"no more renewed, and not listed":          {PodGrace, kubeletSees(), false, false},
		"no more renewed, and another GPU listed":  {PodGrace, kubeletSees(podContainer(1)), false, false},
		"no more renewed, the kubelet is silent":   {time.Hour, kubeletLate, true, false},
		"no more renewed, the kubelet was removed": {time.Hour, Look{Engine: usage.Kubernetes, Err: usage.ErrAbsent}, true, false},
		"no more renewed, nobody asks the kubelet": {time.Hour, dockerSees(), true, false},
	} {
		now := time.Minute + c.since
		s := stateOf(podLease(time.Minute, 0))
		closed := s.reconcile(&observed{before: stateOf(podLease(time.Minute, 0)), looks: []Look{c.look}, begin: now, uptime: now})
		if (len(s.Leases) == 1) != c.stays || (len(closed) == 0) != c.stays {
			t.Errorf("%s: %v, ended %v", name, s.Leases, closed)
		} else if c.stays && (s.Leases[0].Container == "team/train/main") != c.named {
			t.Errorf("%s: its container is %q", name, s.Leases[0].Container)
		}
	}
}

// The kubelet knows nothing of a lost state, and makes no containers for clients.
func TestSilentKubelet(t *testing.T) {
	s := NewState("boot")
	if err := s.checkSourcesAnswered(&observed{looks: []Look{kubeletLate}}); err != nil {
		t.Error(err)
	}
	if absent, _ := (&observed{looks: []Look{dockerSees(), kubeletLate}}).containerGone(lease(rebuilt)); !absent {
		t.Error("a rebuilt lease waits for the kubelet")
	}
}
