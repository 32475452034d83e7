// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/lease/ledger"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// daemon is the docker daemon at /d.sock, as far as a look at it goes.
type daemon struct{ err error }

func (daemon) Name() (engine, endpoint string) { return "docker", "/d.sock" }

func (d daemon) Look(context.Context, usage.Question) (usage.Sight, error) {
	return usage.Sight{}, d.err
}

// testKeeper is a keeper whose state has these leases; it makes containers with the daemon.
func testKeeper(t *testing.T, d daemon, leases ...usage.Lease) (Keeper, *strings.Builder) {
	t.Helper()
	var said strings.Builder
	book := ledger.New(filepath.Join(t.TempDir(), "leases"), "boot")
	if err := book.Update(t.Context(), func(s *lease.State) error { s.Leases = leases; return nil }); err != nil {
		t.Fatal(err)
	}
	say := func(line string) { said.WriteString(line + "\n") }
	return Keeper{
		Keeper: &lease.Keeper{
			LeaseID: func(c usage.Client, n int) string { return usage.LeaseID("boot", "/", c, n) },
			Store:   book, Liveness: func(usage.Client) usage.Liveness { return usage.Alive },
			Uptime: func() time.Duration { return time.Hour }, Now: time.Now,
			Sources: func(lease.State) []lease.Source { return []lease.Source{d} },
		},
		Ledger: book, Proc: Proc(),
		config: Config{Engine: "docker", Endpoint: "/d.sock", Warn: say, Note: say, Looked: func([]lease.Look) {}},
	}, &said
}

// held is what the state says of a lease, in a line.
func held(node gpu.Node, l usage.Lease, mine string) string {
	id := l.ID
	if strings.HasPrefix(mine, id) {
		id = "mine"
	}
	return strings.TrimSpace(fmt.Sprintln(id, l.Verb, gpuIndices(node, l.GPUs), l.Container, l.Started, strings.Join(l.Slices, ","), map[bool]string{true: "shared"}[l.Shared], map[bool]string{true: "bound"}[l.Bound]))
}

// TestTake holds the leases under which requests get their GPUs.
func TestTake(t *testing.T) {
	node := simulated(t, "c500-8-sgpu")
	part := node.GPUs[5].Slices[0].Name()
	again, lives := services(t, "a 2"), services(t, "a 2")
	again[0].Had, lives[0].Had = had(node, usage.Exited, 1, 4), had(node, usage.Running, 1, 4)
	again[0].Had.Started = "then"
	displaced := services(t, "a 2", "b [4]")
	displaced[0].Had = again[0].Had
	for name, tc := range map[string]struct {
		requests []Request
		want     []string // leases
		labels   string   // of the first request
	}{
		"one":            {[]Request{{Request: parse(t, "2")}}, []string{"mine run [0 1]"}, "mine 0,1"},
		"shared":         {[]Request{{Request: parse(t, "[3]"), Share: true}}, []string{"mine run [3]    shared"}, "mine 3"},
		"a slice":        {[]Request{{Request: parse(t, "sgpu:"+part)}}, []string{"mine run [5]   " + part + " shared"}, "mine 5"},
		"its lease":      {again, []string{"0123456789ab start [1 4]  then"}, "0123456789ab its"},
		"one that runs":  {lives, []string{"0123456789ab run [1 4] c    bound"}, "0123456789ab its"},
		"one for others": {displaced, []string{"mine run [6 7]", "other run [4]"}, "mine 6,7"},
	} {
		t.Run(name, func(t *testing.T) {
			k, said := testKeeper(t, daemon{})
			client, err := k.Proc.Self()
			if err != nil {
				t.Fatal(err)
			}
			mine, other := usage.LeaseID("boot", "/", client, 0), usage.LeaseID("boot", "/", client, 1)
			p, err := NewPlan(Job{Node: node, Requests: tc.requests, Verb: usage.VerbRun})
			if err != nil {
				t.Fatal(err)
			}
			r, err := k.Take(t.Context(), p, 0)
			if err != nil || said.String() != "" {
				t.Fatalf("%v, said %q", err, said)
			}
			state, err := k.Ledger.Read()
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			for _, l := range state.Leases {
				got[strings.Replace(held(node, l, mine), other, "other", 1)] = true
			}
			want := map[string]bool{}
			for _, line := range tc.want {
				want[line] = true
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("leases (-want +got):\n%s", d)
			}
			labels := r.Given[0].Labels
			if got := strings.Replace(labels[usage.LeaseLabel], mine, "mine", 1) + " " + labels[usage.GPUsLabel]; got != tc.labels {
				t.Errorf("labels %q, want %q", got, tc.labels)
			}
			k.GiveBack(r.Leases)
			if state, err = k.Ledger.Read(); err != nil || slices.ContainsFunc(state.Leases, func(l usage.Lease) bool { return !l.Bound }) {
				t.Errorf("given back, and there are %v, %v", state.Leases, err)
			}
		})
	}
}

// TestTakeSoon waits for the GPUs of a start that failed a moment ago, if they are linked
// better than the free ones, and not for long.
func TestTakeSoon(t *testing.T) {
	node := simulated(t, "c500-8")
	held := usage.Lease{ID: "6f1d2c9a04be", Rev: 1, GPUs: gpuBDFs(node, []int{2, 3}), Verb: usage.VerbRun, Engine: "docker", Endpoint: "/d.sock", Client: usage.Client{PID: 8}}
	others := usage.Lease{ID: "7f1d2c9a04be", Rev: 1, GPUs: gpuBDFs(node, []int{6, 7}), Client: usage.Client{PID: 9}}
	for name, tc := range map[string]struct {
		daemon daemon
		lives  bool // the client that has GPUs 2 and 3
		n      string
		want   []int
		after  time.Duration // at least
	}{
		"better ones soon":      {daemon{}, false, "4", []int{0, 1, 2, 3}, lease.Grace},
		"good enough now":       {daemon{}, false, "2", []int{0, 1}, 0},
		"held by who lives":     {daemon{}, true, "4", []int{0, 1, 4, 5}, 0},
		"no word of the daemon": {daemon{errors.New("hangs")}, false, "4", []int{0, 1, 4, 5}, lease.Grace},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				held := held
				if tc.daemon.err != nil {
					held.Gone = time.Hour // found dead before the daemon hung
				}
				k, _ := testKeeper(t, tc.daemon, held, others)
				begin := time.Now()
				k.Keeper.Uptime = func() time.Duration { return time.Hour + time.Since(begin) }
				k.Keeper.Liveness = func(c usage.Client) usage.Liveness {
					if c.PID == 8 && !tc.lives {
						return usage.Ended
					}
					return usage.Alive
				}
				p, err := NewPlan(Job{Node: node, Requests: []Request{{Request: parse(t, tc.n)}}, Verb: usage.VerbRun})
				if err != nil {
					t.Fatal(err)
				}
				r, err := k.Take(t.Context(), p, 0)
				if err != nil {
					t.Fatal(err)
				}
				var got []int
				for _, g := range r.Given[0].GPUs {
					got = append(got, g.Index)
				}
				if took := time.Since(begin); !slices.Equal(got, tc.want) || took < tc.after || tc.after == 0 && took > lease.Grace/2 {
					t.Errorf("got %v after %s, want %v", got, took, tc.want)
				}
			})
		})
	}
}

// TestTakeErrors holds that what fails leaves no lease.
func TestTakeErrors(t *testing.T) {
	node := simulated(t, "c500-8")
	others := usage.Lease{ID: "6f1d2c9a04be", Rev: 1, GPUs: gpuBDFs(node, []int{3}), Client: usage.Client{PID: 8}}
	for name, tc := range map[string]struct {
		daemon daemon
		want   string
	}{
		"in use":    {daemon{}, "GPU 3 is in use by lease 6f1d2c9a04be (metax-ctk ps)"},
		"no daemon": {daemon{usage.ErrAbsent}, "there is no docker daemon at /d.sock: start docker, or name the daemon in DOCKER_HOST"},
	} {
		k, _ := testKeeper(t, tc.daemon, others)
		p, err := NewPlan(Job{Node: node, Requests: []Request{{Request: parse(t, "[3]"), Share: name != "in use"}}, Verb: usage.VerbRun})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Take(t.Context(), p, 0); err == nil || err.Error() != tc.want {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
		if state, err := k.Ledger.Read(); err != nil || len(state.Leases) != 1 {
			t.Errorf("%s: left %v, %v", name, state.Leases, err)
		}
	}
}

// TestStart starts containers that have GPUs and slices already.
func TestStart(t *testing.T) {
	node := simulated(t, "c500-8-sgpu")
	part := node.GPUs[5].Slices[0].Name()
	box := func(name, slice string, gpus ...int) Named {
		c := Named{Name: name, Container: usage.Container{
			ID: name, State: usage.Exited, Started: "then",
			Facts: usage.Facts{Lease: "0123456789ab", GPUs: gpuBDFs(node, gpus)},
		}}
		if slice != "" {
			c.Slices = []string{slice}
		}
		return c
	}
	runs := box("a", "", 1)
	runs.State = usage.Running
	gone := box("a", "", 0)
	gone.GPUs = append(gone.GPUs, gpu.BDF{Bus: 0xff})
	others := func(l usage.Lease) usage.Lease {
		l.ID, l.Rev, l.Client.PID = "6f1d2c9a04be", 1, 8
		return l
	}
	for name, tc := range map[string]struct {
		verb  string
		named []Named
		share bool
		there *usage.Lease
		want  []string // leases, or the error
	}{
		"its GPUs":             {"start", []Named{box("a", "", 0, 1)}, false, nil, []string{"0123456789ab start [0 1] a then"}},
		"a slice":              {"start", []Named{box("a", part, 5)}, false, nil, []string{"0123456789ab start [5] a then " + part + " shared"}},
		"no GPU":               {"start", []Named{box("a", "")}, false, nil, nil},
		"a GPU divided since":  {"start", []Named{box("a", "", 5)}, false, nil, nil},
		"twice":                {"start", []Named{box("a", "", 0), box("a", "", 0)}, false, nil, []string{"0123456789ab start [0] a then"}},
		"runs":                 {"start", []Named{runs}, false, nil, nil},
		"runs, restart":        {"restart", []Named{runs}, false, nil, []string{"0123456789ab start [1] a then"}},
		"both have a GPU":      {"start", []Named{box("a", "", 0), box("b", "", 0)}, false, nil, []string{"start b: GPU 0 also belongs to a. To start both: --gpus-share"}},
		"both have a slice":    {"restart", []Named{box("a", part, 5), box("b", part, 5)}, false, nil, []string{"restart b: slice " + part + " also belongs to a. To start both: --gpus-share"}},
		"a GPU is gone":        {"start", []Named{gone}, true, nil, []string{"GPU 0000:ff:00.0 of the container is not there any more (metax-ctk device list)"}},
		"a GPU is in use":      {"start", []Named{box("a", "", 0)}, false, &usage.Lease{GPUs: gpuBDFs(node, []int{0})}, []string{"GPU 0 is in use by lease 6f1d2c9a04be (metax-ctk ps)"}},
		"a slice is in use":    {"start", []Named{box("a", part, 5)}, false, &usage.Lease{GPUs: gpuBDFs(node, []int{5}), Slices: []string{part}, Shared: true}, []string{"slice " + part + " of GPU 5 is in use by lease 6f1d2c9a04be (metax-ctk ps)"}},
		"a GPU is in use by a": {"start", []Named{box("a", "", 0)}, false, &usage.Lease{GPUs: gpuBDFs(node, []int{0}), Container: "a"}, []string{"0123456789ab start [0] a then"}},
	} {
		t.Run(name, func(t *testing.T) {
			var there []usage.Lease
			if tc.there != nil {
				there = append(there, others(*tc.there))
			}
			k, _ := testKeeper(t, daemon{}, there...)
			p, err := NewStart(node, tc.verb, tc.named, tc.share)
			if err == nil {
				_, err = k.Take(t.Context(), p, 0)
			}
			var got []string
			if err != nil {
				got = []string{err.Error()}
			} else {
				state, err := k.Ledger.Read()
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range state.Leases {
					if l.ID != "6f1d2c9a04be" {
						got = append(got, held(node, l, ""))
					}
				}
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestReserve takes a GPU for the command itself.
func TestReserve(t *testing.T) {
	node := simulated(t, "c500-8")
	k, _ := testKeeper(t, daemon{}, usage.Lease{ID: "6f1d2c9a04be", Rev: 1, GPUs: gpuBDFs(node, []int{3}), Client: usage.Client{PID: 8}})
	k.config.Engine, k.config.Endpoint = "", ""
	if _, err := k.Reserve(t.Context(), node.GPUs[3]); !errors.Is(err, lease.ErrBusy) || !strings.HasPrefix(err.Error(), "take GPU 3: GPU 3 is in use by lease") {
		t.Errorf("one in use: %v", err)
	}
	lease, err := k.Reserve(t.Context(), node.GPUs[2])
	if got := held(node, lease, lease.ID); err != nil || got != "mine enable [2]" || lease.Engine != "" {
		t.Errorf("a free one: %s, %v", got, err)
	}
}
