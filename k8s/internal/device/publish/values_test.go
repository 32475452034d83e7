// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// facts are those of a simulated node after one look.
func facts(t testing.TB, name string, unhealthy ...int) (Facts, []health.Change) {
	t.Helper()
	n := simtest.Node(t, name)
	look := health.FromNode(n)
	for _, i := range unhealthy {
		look.Readings[i].Problems = []health.Problem{{Code: health.Vendor, Text: "it is broken"}}
	}
	s, changes := health.State{}.Next(look, health.DefaultRules)
	return Facts{Node: n, State: s}, changes
}

func TestValues(t *testing.T) {
	f, _ := facts(t, "c500-8", 3)
	f.InUse, f.Outside = []int{0, 1}, []int{7}
	var m maker
	v, err := m.values(f)
	if err != nil {
		t.Fatal(err)
	}
	want := protocol.NodeState{GPUs: 8, Free: []int{2, 4, 5, 6}, Unhealthy: []int{3}, Outside: []int{7}}
	if diff := cmp.Diff(want, v.State); diff != "" {
		t.Error(diff)
	}
	if got := v.Annotations[protocol.ScoresAnnotation]; got != `{"1":0,"2":110,"3":330,"4":390,"5":0,"6":0,"7":0,"8":0}` {
		t.Errorf("scores are %s", got)
	}
	if got, err := protocol.ParseNodeTopology(v.Annotations[protocol.NodeAnnotation]); err != nil || len(got.GPUs) != 8 {
		t.Errorf("%v: %+v", err, got)
	}
	message := "GPU 3 (0000:12:00.0, " + string(f.Node.GPUs[3].UUID) + "): unhealthy: vendor: it is broken"
	if !v.Conditions[0].True || v.Conditions[0].Message != message {
		t.Errorf("%v %q", v.Conditions[0].True, v.Conditions[0].Message)
	}
	again, err := m.values(f)
	if diff := cmp.Diff(v, again); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	f.InUse = nil
	if free, err := m.values(f); err != nil || free.Annotations[protocol.ScoresAnnotation] == v.Annotations[protocol.ScoresAnnotation] {
		t.Errorf("%v: %+v", err, free)
	}
	well, _ := facts(t, "c500-8")
	if v, err := m.values(well); err != nil || v.Conditions[0].True || v.Conditions[0].Message != "8 GPUs, all healthy" {
		t.Errorf("%v %+v", err, v)
	}
}

// TestFaults: only while a GPU is lost there is a record of it, with the pods that have it and
// with no other.
func TestFaults(t *testing.T) {
	f, _ := facts(t, "c500-8", 3)
	f.State.GPUs[5].Health, f.State.GPUs[5].Code = health.Unhealthy, health.NoDeviceNodes
	f.State.GPUs[6].Health = health.Unknown
	for i, pod := range []string{"a", "b", "c", "b"} {
		f.Holders = append(f.Holders, Holder{f.Node.GPUs[2+i].UUID, protocol.PodName{Namespace: "n", Name: pod, UID: pod}})
	}
	var m maker
	v, err := m.values(f)
	want := protocol.Faults{{UUID: f.Node.GPUs[3].UUID, Code: health.Vendor, Pods: []protocol.PodName{{Namespace: "n", Name: "b", UID: "b"}}}}
	got, parsed := protocol.ParseFaults(v.Annotations[protocol.FaultsAnnotation])
	if diff := cmp.Diff(want, got); err != nil || parsed != nil || diff != "" {
		t.Errorf("%v %v %s", err, parsed, diff)
	}
	message := "GPU 3 (0000:12:00.0, " + string(f.Node.GPUs[3].UUID) + "): unhealthy: vendor: it is broken"
	if diff := cmp.Diff(Condition{protocol.LostCondition, true, "GPUsLost", message}, v.Conditions[2]); diff != "" {
		t.Error(diff)
	}
	well, _ := facts(t, "c500-8")
	well.Holders = f.Holders
	if v, err := m.values(well); err != nil || v.Annotations[protocol.FaultsAnnotation] != "" || v.Conditions[2].True {
		t.Errorf("%v %q %+v", err, v.Annotations[protocol.FaultsAnnotation], v.Conditions[2])
	}
}

func TestStateOf(t *testing.T) {
	f, _ := facts(t, "c500-8-sgpu")
	if diff := cmp.Diff([]int{0, 1, 3, 4, 5, 6, 7}, stateOf(f).Free); diff != "" {
		t.Errorf("a GPU in slice mode is free: %s", diff)
	}
	f, _ = facts(t, "c500-8")
	f.State.GPUs = f.State.GPUs[1:]
	if s := stateOf(f); len(s.Free) != 7 || s.Free[0] != 1 || len(s.Unhealthy) != 0 {
		t.Errorf("with an excluded GPU: %+v", s)
	}
}

func TestCondition(t *testing.T) {
	gone := health.Condition{GPU: health.GPU{Index: -1, BDF: gpu.BDF{Bus: 1}}, Health: health.Unhealthy, Code: health.Missing, Reason: "it is gone"}
	many := health.State{}
	for range 100 {
		many.GPUs = append(many.GPUs, gone)
	}
	if c := unhealthy(health.State{GPUs: many.GPUs[:1]}); !c.True || c.Message != "GPU (0000:01:00.0): unhealthy: missing: it is gone" {
		t.Errorf("%+v", c)
	}
	if message := unhealthy(many).Message; len(message) > maxMessage || !strings.HasSuffix(message, "…") {
		t.Errorf("%d bytes: %q", len(message), message)
	}
}

func TestJoiner(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(100, 0).Add(time.Duration(ms) * time.Millisecond) }
	var j joiner
	if j = j.changed(at(0)).changed(at(700)); j.due != at(1000) {
		t.Errorf("two changes are due at %s", j.due)
	}
	if j = j.wrote(nil, at(1000)); !j.due.IsZero() {
		t.Errorf("%+v after a write", j)
	}
	j = j.changed(at(0))
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		if j = j.wrote(errors.New("away"), at(0)); j.due.Sub(at(0)) != want*time.Second {
			t.Errorf("failure %d: %s, want %ds", i, j.due.Sub(at(0)), want)
		}
		if later := j.changed(at(5000)); later != j {
			t.Errorf("a change while the API server is away: %+v", later)
		}
	}
}
