// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

func TestState(t *testing.T) {
	s := NewState("boot")
	for _, id := range []string{"b", "a", "c", "a"} {
		s.putLease(usage.Lease{ID: id})
	}
	s.dropLease("b")
	s.dropLease("d")
	if diff := cmp.Diff([]usage.Lease{{ID: "a", Rev: 2}, {ID: "c", Rev: 1}}, s.Leases); diff != "" {
		t.Error(diff)
	}
	if s.Lease("a") == nil || s.Lease("b") != nil {
		t.Error("a lease is not where it should be")
	}
	other := clientA
	other.Start++
	ids := []string{usage.LeaseID("boot", "/", clientA, 0), usage.LeaseID("boot", "/", clientA, 1), usage.LeaseID("boot2", "/", clientA, 0), usage.LeaseID("boot", "/", other, 0), usage.LeaseID("boot", "/sim", clientA, 0)}
	if ids[0] != usage.LeaseID("boot", "/", clientA, 0) || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 5 {
		t.Errorf("IDs are %v", ids)
	}
	for _, id := range ids {
		if !usage.ValidID(id) {
			t.Errorf("%q is no ID", id)
		}
	}
}
