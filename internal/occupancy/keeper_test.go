package occupancy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Clients are looked at before engines, and an engine is asked about the leases
// that may have come and gone, of which it knows the facts that are known.
func TestRound(t *testing.T) {
	s := stateOf(
		lease(), // of a dead client
		lease(func(l *Lease) { l.ID, l.Client = leaseB, clientB }),
		lease(bound, func(l *Lease) { l.ID = "cccccccccccc" }),
	)
	s.Queue = []Ticket{{ID: "dddddddddddd", Client: clientB}}
	s.Seen = map[string]Known{boxA: {labeled(Running).Facts, "docker", sock, true}}
	b := newBench(t, s)
	b.lives[clientA] = Ended
	var order []string
	var got Question
	b.Life = func(c Client) Life {
		order = append(order, "life")
		return b.lives[c]
	}
	b.Sources = func(State) []Source {
		return []Source{told{look: Look{Engine: "docker", Endpoint: sock}, asked: func(q Question) Sight {
			order, got = append(order, "look"), q
			return Sight{}
		}}}
	}
	if _, err := b.Report(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"life", "life", "life", "life", "look"}, order); diff != "" {
		t.Error(diff)
	}
	want := Question{Seen: map[string]Facts{boxA: labeled(Running).Facts}, Ended: []Lease{lease()}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
