// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Clients are looked at before engines, and an engine is asked about the leases that may have
// come and gone, of which it knows the facts that are known.
func TestObserve(t *testing.T) {
	s := stateOf(
		lease(), // of a dead client
		lease(func(l *usage.Lease) { l.ID, l.Client = leaseB, clientB }),
		lease(bound, func(l *usage.Lease) { l.ID = "cccccccccccc" }),
	)
	s.Queue = []Ticket{{ID: "dddddddddddd", Client: clientB}}
	s.Seen = map[string]Known{boxA: {labeled(usage.Running).Facts, "docker", sock, true}}
	b := newBench(t, s)
	b.lives[clientA] = usage.Ended
	var order []string
	var got usage.Question
	b.Liveness = func(c usage.Client) usage.Liveness {
		order = append(order, "life")
		return b.lives[c]
	}
	b.Sources = func(State) []Source {
		return []Source{told{look: Look{Engine: "docker", Endpoint: sock}, asked: func(q usage.Question) usage.Sight {
			order, got = append(order, "look"), q
			return usage.Sight{}
		}}}
	}
	if _, err := b.Report(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"life", "life", "life", "life", "look"}, order); diff != "" {
		t.Error(diff)
	}
	want := usage.Question{Seen: map[string]usage.Facts{boxA: labeled(usage.Running).Facts}, Ended: []usage.Lease{lease()}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
