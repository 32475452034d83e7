// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

func TestHeld(t *testing.T) {
	all := []gpu.BDF{{Bus: 1}, {Bus: 2}, {Bus: 3}}
	holders := []Holder{{GPUs: all[:2]}, {GPUs: all[1:2]}}
	if got := []int{len(Held(holders, all[0])), len(Held(holders, all[1])), len(Held(holders, all[2]))}; got[0] != 1 || got[1] != 2 || got[2] != 0 {
		t.Errorf("held by %v", got)
	}
}

func TestHeldSlice(t *testing.T) {
	holders := []Holder{
		{Container: &Container{ID: "c"}},
		{Lease: &Lease{ID: "whole"}},
		{Lease: &Lease{ID: "parts", Slices: []string{"a", "b"}, Shared: true}},
		{Container: &Container{ID: "d", Facts: Facts{Slices: []string{"d"}}}},
	}
	one, two := gpu.BDF{Bus: 1}, gpu.BDF{Bus: 2}
	if held := HeldSlice(holders, one, "d"); held == nil || held.Container.ID != "d" {
		t.Errorf("d is held by %+v", held)
	}
	if held := HeldSlice(holders, one, "b"); held == nil || held.Lease.ID != "parts" {
		t.Errorf("b is held by %+v", held)
	}
	if held := HeldSlice(holders, one, "c"); held != nil {
		t.Errorf("c is held by %+v", held)
	}
	// The name that a slice had before its container is done.
	for _, former := range []Holder{
		{Lease: &Lease{ID: "former", GPUs: []gpu.BDF{one}, Slices: []string{"SGPU-x"}}},
		{Container: &Container{ID: "former", Facts: Facts{GPUs: []gpu.BDF{one}, Slices: []string{"SGPU-x"}}}},
	} {
		if HeldSlice([]Holder{former}, one, "GPU-y") == nil {
			t.Errorf("a slice of %s is free although %+v has one", one, former)
		}
		if HeldSlice([]Holder{former}, one, "SGPU-x") == nil || HeldSlice([]Holder{former}, one, "SGPU-y") != nil || HeldSlice([]Holder{former}, two, "GPU-y") != nil {
			t.Errorf("%+v holds another slice than its own", former)
		}
	}
	unknown := Holder{Container: &Container{ID: "former", Facts: Facts{Slices: []string{"SGPU-x"}}}}
	if HeldSlice([]Holder{unknown}, two, "GPU-y") == nil {
		t.Error("a slice is free although it may be the one of a container")
	}
}

func TestUnseenHolder(t *testing.T) {
	h := Holder{GPUs: []gpu.BDF{{Bus: 1}}, Unseen: true}
	if h.State() != "unseen" || h.String() != "a process that was not inspected" || h.Sources() != nil {
		t.Errorf("%s, %s, %v", h.State(), h, h.Sources())
	}
}

// TestState: one word for each state of a holder.
func TestState(t *testing.T) {
	running, exited := &Container{State: Running}, &Container{State: Exited}
	for want, h := range map[string]Holder{
		"unseen":   {Unseen: true, Container: running},
		"unknown":  {Stale: true, Container: running},
		"running":  {Container: running, Lease: &Lease{Gone: 1}},
		"expiring": {Container: exited, Lease: &Lease{Gone: 1, Bound: true}},
		"pending":  {Lease: &Lease{}},
		"open":     {Processes: []Process{{}}},
	} {
		if got := h.State(); got != want {
			t.Errorf("%+v is %q, want %q", h, got, want)
		}
	}
	for name, h := range map[string]Holder{"bound": {Lease: &Lease{Bound: true}}, "hidden": {Lease: &Lease{}, Hidden: true}} {
		if got := h.State(); got != "unknown" {
			t.Errorf("%s: %q, want unknown", name, got)
		}
	}
}
