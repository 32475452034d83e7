package lease

import (
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// What strangers call their containers and programs is fit to be printed and kept
// from when it is seen.
func TestNamesOfStrangers(t *testing.T) {
	const hostile = "a\x1b[2J\u202e\nb"
	c := labeled(usage.Running, unlabeled, named("x"+hostile))
	c.Engine, c.Namespace, c.Name, c.Image, c.Lease = "containerd", hostile, hostile, hostile, hostile
	b := newBench(t, stateOf(), Look{Engine: "containerd", Sight: usage.Sight{Containers: []usage.Container{c}}},
		procs(usage.Process{PID: 9, Command: hostile, GPUs: gpus(1)}))
	if _, err := b.Take(t.Context(), wants(1)); err != nil {
		t.Fatal(err)
	}
	for key, k := range b.state.Seen {
		for _, text := range []string{key, k.Name, k.Image, k.Lease} {
			if !terminal.Clean(text) || text == "" {
				t.Errorf("kept %q", text)
			}
		}
	}
	r, err := b.Report(t.Context())
	if err != nil || len(r.Holders) != 3 || len(b.state.Seen) != 1 {
		t.Fatalf("holders %v, seen %v, %v", r.Holders, b.state.Seen, err)
	}
	for _, h := range r.Holders {
		if !terminal.Clean(h.String()) {
			t.Errorf("shown as %q", h)
		}
	}
}
