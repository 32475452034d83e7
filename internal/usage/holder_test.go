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
	if held := HeldSlice(holders, "d"); held == nil || held.Container.ID != "d" {
		t.Errorf("d is held by %+v", held)
	}
	if held := HeldSlice(holders, "b"); held == nil || held.Lease.ID != "parts" {
		t.Errorf("b is held by %+v", held)
	}
	if held := HeldSlice(holders, "c"); held != nil {
		t.Errorf("c is held by %+v", held)
	}
}

func TestUnseenHolder(t *testing.T) {
	h := Holder{GPUs: []gpu.BDF{{Bus: 1}}, Unseen: true}
	if h.State() != "unseen" || h.String() != "a process that was not inspected" || h.Sources() != nil {
		t.Errorf("%s, %s, %v", h.State(), h, h.Sources())
	}
}
