package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/cmd/internal/keeping"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/occupancy"
	"github.com/metax-ctk/container-toolkit/internal/occupancy/ledger"
)

// Docker is run only with all leases that were taken for it; where it does not
// come to run, they are given back. A state that was lost stays lost.
func TestBecome(t *testing.T) {
	ours := []occupancy.Lease{
		{ID: "aaaaaaaaaaaa", Rev: 1, GPUs: []gpu.BDF{{Bus: 1}}, Client: occupancy.Client{PID: 7}},
		{ID: "bbbbbbbbbbbb", Rev: 1, GPUs: []gpu.BDF{{Bus: 2}}, Client: occupancy.Client{PID: 7}},
	}
	others := occupancy.Lease{ID: "cccccccccccc", Rev: 1, GPUs: []gpu.BDF{{Bus: 3}}, Client: occupancy.Client{PID: 8}}
	taken := ours[1]
	taken.Client.PID, taken.Rev = 8, 2
	broken := errors.New("exec format error")
	for name, tc := range map[string]struct {
		there, left []occupancy.Lease // nil is no state
		missing     error
		runs        bool
		want        string
	}{
		"all there":         {append(ours, others), []occupancy.Lease{others}, nil, true, "exec format error"},
		"no client":         {append(ours, others), []occupancy.Lease{others}, broken, false, "exec format error"},
		"one was released":  {[]occupancy.Lease{ours[0], others}, []occupancy.Lease{others}, nil, false, "lease bbbbbbbbbbbb is not there any more"},
		"one is another's":  {[]occupancy.Lease{ours[0], taken}, []occupancy.Lease{taken}, nil, false, "lease bbbbbbbbbbbb is not there any more"},
		"the state is lost": {nil, nil, nil, false, "lease aaaaaaaaaaaa is not there any more"},
	} {
		t.Run(name, func(t *testing.T) {
			book := ledger.New(filepath.Join(t.TempDir(), "leases"), "boot")
			if tc.there != nil {
				err := book.Update(t.Context(), func(s *occupancy.State) error { s.Leases = tc.there; return nil })
				if err != nil {
					t.Fatal(err)
				}
			}
			runs := false
			w := wrapper{
				deps: deps{
					Err:  t.Output(),
					Exec: func(string, []string, []string) error { runs = true; return broken },
				},
				client: "docker", missing: tc.missing, leases: ours,
				keeping: keeping.Keeping{Keeper: &occupancy.Keeper{Store: book}, Ledger: book},
			}
			if _, err := w.become([]string{"run"}); runs != tc.runs || err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("runs %v, error is %v, want %q", runs, err, tc.want)
			}
			state, err := book.Read()
			if err != nil || state.New != (tc.there == nil) {
				t.Fatalf("new %v, %v", state.New, err)
			}
			if d := cmp.Diff(append([]occupancy.Lease{}, tc.left...), state.Leases); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestEngine takes a client by another name for docker.
func TestEngine(t *testing.T) {
	for client, want := range map[string]occupancy.Lease{
		"docker":              {Engine: "docker", Endpoint: "/none/d.sock"},
		"/usr/local/bin/moby": {Engine: "docker", Endpoint: "/none/d.sock"},
		"podman":              {Engine: "podman"},
		"/usr/bin/nerdctl":    {Engine: "containerd", Endpoint: keeping.ContainerdSocket},
	} {
		w := wrapper{keeping: keeping.Keeping{Proc: keeping.Proc()}}
		w.settings.DockerClient.Text = client
		l, err := w.draft(0, occupancy.VerbRun, "/none/d.sock", false)
		if err != nil || l.Engine != want.Engine || l.Endpoint != want.Endpoint {
			t.Errorf("%s: %s at %q, %v", client, l.Engine, l.Endpoint, err)
		}
	}
}
