// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/engine/containerd"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/lease/ledger"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// Docker is run only with all leases that were taken for it; where it does not come to run,
// they are given back. A state that was lost stays lost.
func TestBecome(t *testing.T) {
	ours := []usage.Lease{
		{ID: "aaaaaaaaaaaa", Rev: 1, GPUs: []gpu.BDF{{Bus: 1}}, Client: usage.Client{PID: 7}},
		{ID: "bbbbbbbbbbbb", Rev: 1, GPUs: []gpu.BDF{{Bus: 2}}, Client: usage.Client{PID: 7}},
	}
	others := usage.Lease{ID: "cccccccccccc", Rev: 1, GPUs: []gpu.BDF{{Bus: 3}}, Client: usage.Client{PID: 8}}
	taken := ours[1]
	taken.Client.PID, taken.Rev = 8, 2
	broken := errors.New("exec format error")
	for name, tc := range map[string]struct {
		there, left []usage.Lease // nil: no state
		missing     error
		runs        bool
		want        string
	}{
		"all there":         {append(ours, others), []usage.Lease{others}, nil, true, "exec format error"},
		"no client":         {append(ours, others), []usage.Lease{others}, broken, false, "exec format error"},
		"one was released":  {[]usage.Lease{ours[0], others}, []usage.Lease{others}, nil, false, "lease bbbbbbbbbbbb is not there any more"},
		"one is another's":  {[]usage.Lease{ours[0], taken}, []usage.Lease{taken}, nil, false, "lease bbbbbbbbbbbb is not there any more"},
		"the state is lost": {nil, nil, nil, false, "lease aaaaaaaaaaaa is not there any more"},
	} {
		t.Run(name, func(t *testing.T) {
			book := ledger.New(filepath.Join(t.TempDir(), "leases"), "boot")
			if tc.there != nil {
				err := book.Update(t.Context(), func(s *lease.State) error { s.Leases = tc.there; return nil })
				if err != nil {
					t.Fatal(err)
				}
			}
			runs, marked := false, false
			w := wrapper{
				deps: deps{
					Err:  t.Output(),
					Mark: func() { marked = true },
					Exec: func(string, []string, []string) error { runs = true; return broken },
				},
				client: client{path: "docker", err: tc.missing}, leases: ours,
				keeper: assign.Keeper{Keeper: &lease.Keeper{Store: book}, Ledger: book},
			}
			if _, err := w.become([]string{"run"}); runs != tc.runs || runs && !marked || err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("runs %v, error is %v, want %q", runs, err, tc.want)
			}
			state, err := book.Read()
			if err != nil || state.New != (tc.there == nil) {
				t.Fatalf("new %v, %v", state.New, err)
			}
			if d := cmp.Diff(append([]usage.Lease{}, tc.left...), state.Leases); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestEngine takes a client by another name for docker, and the daemon that the client talks
// to.
func TestEngine(t *testing.T) {
	dir := t.TempDir()
	testfile.Symlink(t, "real.sock", filepath.Join(dir, "link.sock"))
	testfile.Write(t, filepath.Join(dir, "real.sock"), "", 0o600)
	usual := assign.Resolve(containerd.Socket)
	for _, test := range []struct {
		client, env string
		args        []string
		want        usage.Lease
	}{
		{client: "docker", want: usage.Lease{Engine: "docker", Endpoint: "/none/d.sock"}},
		{client: "docker", env: "/none/c.sock", want: usage.Lease{Engine: "docker", Endpoint: "/none/d.sock"}},
		{client: "/usr/local/bin/moby", want: usage.Lease{Engine: "docker", Endpoint: "/none/d.sock"}},
		{client: "podman", env: "/none/c.sock", want: usage.Lease{Engine: "podman"}},
		{client: "/usr/bin/nerdctl", want: usage.Lease{Engine: "containerd", Endpoint: usual}},
		{client: "nerdctl", env: "/none/c.sock", want: usage.Lease{Engine: "containerd", Endpoint: "/none/c.sock"}},
		{client: "nerdctl", env: "unix:///none/c.sock", want: usage.Lease{Engine: "containerd", Endpoint: "/none/c.sock"}},
		{client: "nerdctl", env: dir + "/link.sock", want: usage.Lease{Engine: "containerd", Endpoint: dir + "/real.sock"}},
		{client: "nerdctl", env: "/none/c.sock", args: []string{"--address", "/none/o.sock", "run"}, want: usage.Lease{Engine: "containerd", Endpoint: "/none/o.sock"}},
		{client: "nerdctl", args: []string{"--address=unix:///none/o.sock", "run"}, want: usage.Lease{Engine: "containerd", Endpoint: "/none/o.sock"}},
		{client: "nerdctl", args: []string{"-a", "/none/o.sock", "run"}, want: usage.Lease{Engine: "containerd", Endpoint: "/none/o.sock"}},
		{client: "nerdctl", args: []string{"-H", "/none/o.sock", "run"}, want: usage.Lease{Engine: "containerd", Endpoint: "/none/o.sock"}},
		{client: "nerdctl", args: []string{"--host=/none/h.sock", "-a/none/o.sock", "run"}, want: usage.Lease{Engine: "containerd", Endpoint: "/none/o.sock"}},
		{client: "nerdctl", args: []string{"run", "--address=/none/o.sock"}, want: usage.Lease{Engine: "containerd", Endpoint: "/none/o.sock"}},
		{client: "nerdctl", args: []string{"run", "-a", "stdout"}, want: usage.Lease{Engine: "containerd", Endpoint: usual}},
	} {
		w := wrapper{client: client{name: test.client, path: test.client}}
		w.Getenv = func(name string) string {
			return map[string]string{"CONTAINERD_ADDRESS": test.env, "DOCKER_HOST": "unix:///none/d.sock"}[name]
		}
		w.Run = func(cmd *exec.Cmd) error { // prints the help of the client
			_, err := io.WriteString(cmd.Stdout, nerdctlHelp)
			return err
		}
		w.Args = slices.Concat(test.args, []string{"--gpus=1", "image"})
		if test.args == nil {
			w.Args = []string{"run", "--gpus=1", "image"}
		}
		cmd, err := w.scan()
		if err != nil || cmd.Image != "image" {
			t.Errorf("%s %q: image %q, %v", test.client, test.args, cmd.Image, err)
			continue
		}
		flags := slices.Concat(cmd.Global, cmd.Flags)
		s, err := w.openSession(flags)
		if err != nil {
			t.Fatal(err)
		}
		endpoint, address := s.maker()
		l := usage.Lease{Engine: w.client.engine(), Endpoint: endpoint}
		if l.Engine != test.want.Engine || l.Endpoint != test.want.Endpoint {
			t.Errorf("%s %q with %q: %s at %q", test.client, test.args, test.env, l.Engine, l.Endpoint)
		}
		looked := ""
		for _, source := range assign.Tasks(address, nil, s.askContainerd)(assign.Proc(), holders.Devices{}, lease.State{}) {
			if _, endpoint := source.Name(); endpoint == l.Endpoint {
				looked = endpoint
			}
		}
		if l.Engine == "containerd" && looked != l.Endpoint {
			t.Errorf("%s %q with %q: nobody looks at %s", test.client, test.args, test.env, l.Endpoint)
		}
	}
}

// nerdctlHelp is the part of nerdctl's help that names its containerd.
const nerdctlHelp = `
Flags:
  -H, --H string                  Alias of --address (default "/run/containerd/containerd.sock")
  -a, --a string                  Alias of --address (default "/run/containerd/containerd.sock")
      --address string            containerd address, optionally with "unix://" prefix [$CONTAINERD_ADDRESS] (default "/run/containerd/containerd.sock")
      --host string               Alias of --address (default "/run/containerd/containerd.sock")
  -n, --namespace string          containerd namespace [$CONTAINERD_NAMESPACE] (default "default")
`
