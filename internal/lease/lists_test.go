// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// openLists are the kernel's lists of the GPUs, ascending.
func openLists(of ...gpu.BDF) (out []usage.OpenList) {
	for _, g := range of {
		out = append(out, usage.OpenList{GPU: g, ID: 7})
	}
	return out
}

// TestLists says when the kernel's lists stand for a look at processes, and that they give no
// GPU that such a look would not give.
func TestLists(t *testing.T) {
	python := usage.Process{PID: 9, Start: 7, PIDNamespace: 1, Command: "python3", GPUs: gpus(0)}
	job := labeled(usage.Running, unlabeled)
	own := wants(0, gpus(0)...)
	own.Own = []string{boxA}
	shared := wants(0, gpus(0)...)
	shared.Share, shared.Choose = true, order{count: 1, named: gpus(0), share: true}.choose
	for name, c := range map[string]struct {
		change     func(*State) // of the state whose lists may be used
		containers []usage.Container
		inUse      []gpu.BDF       // by the lists
		processes  []usage.Process // by a look
		wrong      bool            // which contradicts a list
		claim      Claim
		want       []gpu.BDF // nil for a refusal
		looked     bool      // at processes
		named      bool      // lists, in the question
		records    []usage.Process
	}{
		"nobody has one":                 {claim: wants(2), want: gpus(0, 1), named: true},
		"a container has it":             {containers: []usage.Container{job}, inUse: gpus(0), processes: []usage.Process{python}, claim: wants(1), want: gpus(1), named: true},
		"by name, a container has it":    {containers: []usage.Container{job}, inUse: gpus(0), claim: wants(0, gpus(0)...), named: true},
		"nobody known has it":            {inUse: gpus(0), processes: []usage.Process{python}, claim: wants(1), want: gpus(1), looked: true, records: []usage.Process{python}, named: true},
		"nobody known has another":       {inUse: gpus(2), claim: wants(1), want: gpus(0), looked: true, named: true},
		"who does not count has it":      {inUse: gpus(0), processes: []usage.Process{{PID: 9, Command: "mx-smi", GPUs: gpus(0)}}, claim: wants(1), want: gpus(0), looked: true, records: []usage.Process{{PID: 9, Command: "mx-smi", GPUs: gpus(0)}}, named: true},
		"its container, and who else":    {containers: []usage.Container{job}, inUse: gpus(0), processes: []usage.Process{python}, claim: own, looked: true, records: []usage.Process{python}, named: true},
		"its container alone":            {containers: []usage.Container{job}, inUse: gpus(0), claim: own, want: gpus(0), looked: true, named: true},
		"its container does not run":     {containers: []usage.Container{job}, claim: own, want: gpus(0), named: true},
		"shared":                         {processes: []usage.Process{python}, claim: shared, want: gpus(0), looked: true, records: []usage.Process{python}},
		"on record, and closed it":       {change: func(s *State) { s.Processes = []usage.Process{python} }, claim: wants(1), want: gpus(0), named: true},
		"on record, and has it":          {change: func(s *State) { s.Processes = []usage.Process{python} }, inUse: gpus(0), claim: wants(1), want: gpus(1), records: []usage.Process{python}, named: true},
		"contradicted":                   {change: func(s *State) { s.ListsContradicted = true }, processes: []usage.Process{python}, claim: wants(1), want: gpus(1), looked: true, records: []usage.Process{python}},
		"not confirmed":                  {change: func(s *State) { s.Lists = openLists(gpus(1, 2)...) }, processes: []usage.Process{python}, claim: wants(1), want: gpus(1), looked: true, records: []usage.Process{python}, named: true},
		"no complete look":               {change: func(s *State) { s.LookedAt = 0 }, processes: []usage.Process{python}, claim: wants(1), want: gpus(1), looked: true, records: []usage.Process{python}},
		"the last look was long ago":     {change: func(s *State) { s.LookedAt -= listsLast }, processes: []usage.Process{python}, claim: wants(1), want: gpus(1), looked: true, records: []usage.Process{python}},
		"the last look will be":          {change: func(s *State) { s.LookedAt += listsLast }, processes: []usage.Process{python}, claim: wants(1), want: gpus(1), looked: true, records: []usage.Process{python}},
		"looked at from elsewhere":       {change: func(s *State) { s.LookedIn = 2 }, processes: []usage.Process{python}, claim: wants(1), want: gpus(1), looked: true, records: []usage.Process{python}, named: true},
		"a look contradicts an old list": {change: func(s *State) { s.LookedAt = 0 }, processes: []usage.Process{python}, wrong: true, claim: wants(1), want: gpus(1), looked: true, records: []usage.Process{python}},
	} {
		s := stateOf()
		b := newBench(t, s)
		b.GPUs, b.Ignore = allGPUs, []string{"mx-smi"}
		b.lives[python.Client()] = usage.Alive
		b.state.Lists, b.state.LookedAt, b.state.LookedIn = openLists(allGPUs...), b.Uptime()-time.Minute, 1
		if c.change != nil {
			c.change(&b.state)
		}
		looked, named := false, false
		processes := func(q usage.Question) usage.Sight {
			if slices.Equal(q.Lists, openLists(allGPUs...)) {
				named = true
				return usage.Sight{Lists: usage.OpenLists{Instead: true, InUse: c.inUse}, PIDNamespace: 1, Partial: true}
			}
			looked, named = true, named || q.Lists != nil
			return usage.Sight{Processes: c.processes, PIDNamespace: 1, Lists: usage.OpenLists{Contradicted: c.wrong}}
		}
		b.Sources = func(State) []Source {
			return []Source{told{look: dockerSees(c.containers...)}, told{Look{Engine: usage.Processes}, processes}}
		}
		got, err := b.Take(t.Context(), c.claim)
		var given []gpu.BDF
		for _, l := range got.Leases {
			given = append(given, l.GPUs...)
		}
		if diff := cmp.Diff(c.want, given); diff != "" {
			t.Errorf("%s: given %s (%v)", name, diff, err)
		}
		if looked != c.looked || named != c.named {
			t.Errorf("%s: processes were looked at: %t, lists were named: %t", name, looked, named)
		}
		if diff := cmp.Diff(c.records, b.state.Processes); diff != "" {
			t.Errorf("%s: on record %s", name, diff)
		}
		if b.state.ListsContradicted != (c.wrong || name == "contradicted") {
			t.Errorf("%s: contradicted: %t", name, b.state.ListsContradicted)
		}
	}
}

// A look that contradicts a list, while a request has read it, has the last word.
func TestListsContradicted(t *testing.T) {
	b := newBench(t, stateOf())
	b.GPUs, b.state.Lists, b.state.LookedAt = allGPUs, openLists(allGPUs...), b.Uptime()
	b.meanwhile = func(s *State) { s.ListsContradicted = true }
	processes := func(q usage.Question) usage.Sight {
		if q.Lists != nil {
			return usage.Sight{Lists: usage.OpenLists{Instead: true}, Partial: true}
		}
		return usage.Sight{Processes: []usage.Process{{PID: 9, Command: "python3", GPUs: gpus(0)}}}
	}
	b.Sources = func(State) []Source { return []Source{told{Look{Engine: usage.Processes}, processes}} }
	got, err := b.Take(t.Context(), wants(1))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(gpus(1), got.Leases[0].GPUs); diff != "" {
		t.Error(diff)
	}
}

// A list whose entries no process explains counts once it has been empty in this boot.
func TestListsUnnamed(t *testing.T) {
	look := procs()
	look.Lists.Unnamed = openLists(gpus(0, 1)...)
	for name, c := range map[string]struct {
		emptied   []usage.OpenList
		container []usage.Container
		want      []gpu.BDF
		err       string
	}{
		"it was empty":              {emptied: openLists(gpus(0)...), err: "GPU 0 is in use by a process that was not found (metax-ctk ps)"},
		"never":                     {want: gpus(0)},
		"another was":               {emptied: openLists(gpus(1)...), want: gpus(0)},
		"the one of another device": {emptied: []usage.OpenList{{GPU: allGPUs[0], ID: 8}}, want: gpus(0)},
		"a container has the GPU":   {emptied: openLists(gpus(0)...), container: []usage.Container{labeled(usage.Running, unlabeled)}, err: "GPU 0 is in use by container job (docker) (metax-ctk ps)"},
	} {
		b := newBench(t, stateOf(), dockerSees(c.container...), look)
		b.GPUs, b.state.Emptied = allGPUs, c.emptied
		got, err := b.Take(t.Context(), wants(0, gpus(0)...))
		if (err == nil) != (c.err == "") || (err != nil && err.Error() != c.err) {
			t.Errorf("%s: error is %v, want %q", name, err, c.err)
		}
		var given []gpu.BDF
		for _, l := range got.Leases {
			given = append(given, l.GPUs...)
		}
		if diff := cmp.Diff(c.want, given); diff != "" {
			t.Errorf("%s: given %s", name, diff)
		}
	}
	look.Lists = usage.OpenLists{Empty: openLists(gpus(0)...)}
	b := newBench(t, stateOf(), dockerSees(), look)
	if _, _, err := b.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(openLists(gpus(0)...), b.state.Emptied); diff != "" {
		t.Error(diff)
	}
}

// A look at processes confirms lists; the last one of a GPU counts, and only complete looks
// make them usable.
func TestListsConfirmed(t *testing.T) {
	b := newBench(t, stateOf())
	b.GPUs = allGPUs
	see := func(partial bool, confirmed ...usage.OpenList) {
		t.Helper()
		l := procs()
		l.Partial, l.PIDNamespace, l.Lists.Confirmed = partial, 1, confirmed
		b.see(dockerSees(), l)
		if _, _, err := b.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	see(false)
	if b.state.LookedAt != 0 {
		t.Error("a host without lists records when it was looked at")
	}
	see(true, openLists(gpus(2, 1)...)...)
	if got := b.state.usableLists(b.Uptime()); got != nil {
		t.Errorf("without a complete look %v may be used", got)
	}
	again := usage.OpenList{GPU: allGPUs[2], ID: 8}
	see(false, again)
	if diff := cmp.Diff([]usage.OpenList{openLists(gpus(1)...)[0], again}, b.state.usableLists(b.Uptime())); diff != "" {
		t.Error(diff)
	}
}
