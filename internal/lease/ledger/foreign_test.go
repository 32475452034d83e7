// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/lease"
)

// Fields of a later program outlive the writes of this one, where what they are of does.
func TestForeignFields(t *testing.T) {
	l, _ := fresh(t)
	put(t, l.Path(), `{"apiVersion": "metax-ctk/v1", "kind": "Leases", "boot": "`+boot+`",
  "policy": {"fair": 1.50},
  "leases": [
    {"id": "a", "rev": 1, "gpus": ["0000:0e:00.0"], "engine": "docker", "Container": "c", "share": 0.5, "client": {"pid": 0, "host": "h"}},
    {"id": "b", "rev": 1, "gpus": ["0000:0f:00.0"], "engine": "docker", "share": 0.25}],
  "seen": {"x": {"name": "n", "pod": "p"}, "y": {"name": "m", "pod": "q"}}}`)
	nothing := func(*lease.State) error { return nil }
	update(t, l, nothing) // adds what is missing
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text(t, l.Path()))); err != nil {
		t.Fatal(err)
	}
	put(t, l.Path(), compact.String())
	update(t, l, nothing)
	if text(t, l.Path()) != compact.String() {
		t.Error("an Update without a change wrote the file")
	}
	for range 2 {
		update(t, l, func(s *lease.State) error {
			s.Leases[0].Rev++
			s.Leases[0].Container = ""
			s.Leases = s.Leases[:1]
			delete(s.Seen, "y")
			return nil
		})
	}
	update(t, l, add("c"))
	got := map[string]any{}
	if err := json.Unmarshal([]byte(text(t, l.Path())), &got); err != nil {
		t.Fatal(err)
	}
	leases := got["leases"].([]any)
	a, c := leases[0].(map[string]any), leases[1].(map[string]any)
	want := map[string]any{
		"policy": map[string]any{"fair": 1.5}, "share": 0.5, "container": nil, "host": "h", "share of c": nil,
		"seen": map[string]any{"x": map[string]any{"name": "n", "pod": "p"}},
	}
	found := map[string]any{
		"policy": got["policy"], "share": a["share"], "container": a["container"], "host": a["client"].(map[string]any)["host"], "share of c": c["share"],
		"seen": got["seen"],
	}
	if d := cmp.Diff(want, found); d != "" {
		t.Error(d)
	}
	if !strings.Contains(text(t, l.Path()), "1.50") {
		t.Error("a number was written anew")
	}
	// The decoder takes "Container" for ours, so it is not foreign.
	if s := read(t, l); len(s.Leases) != 2 || s.Leases[0].Rev != 3 || s.Leases[0].Container != "" {
		t.Errorf("read %+v", s)
	}
}

// What an earlier program wrote and this one does without is as foreign.
func TestOldFields(t *testing.T) {
	l, _ := fresh(t)
	put(t, l.Path(), `{"apiVersion": "metax-ctk/v1", "kind": "Leases", "boot": "`+boot+`", "next": 9,
  "leases": [{"id": "a", "rev": 1, "gpus": ["0000:0e:00.0"], "engine": "docker", "verb": "run"}],
  "queue": [{"id": "d", "seq": 7, "count": 1}, {"id": "c", "seq": 8, "count": 2}]}`)
	want := holding("a")
	want.Queue = []lease.Ticket{{ID: "d", Count: 1}, {ID: "c", Count: 2}}
	check(t, l, want)
	update(t, l, add("b"))
	want.Leases = append(want.Leases, leaseOf("b"))
	check(t, l, want)
}
