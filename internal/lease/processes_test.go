// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

func unfinished(list ...usage.Process) Look {
	l := procs(list...)
	l.Err, l.Partial = usage.ErrUnfinished, true
	return l
}

// refused is a look of a user who may not see the processes of others.
func refused(list ...usage.Process) Look {
	l := procs(list...)
	l.Err, l.Partial = fmt.Errorf("3 processes: %w", fs.ErrPermission), true
	return l
}

// What an unfinished look does not show is not free: a GPU that is named, and one for which no
// complete look has been taken since boot. A process on record keeps its GPUs until it has
// ended or a complete look lacks it.
func TestUnfinishedLook(t *testing.T) {
	python := usage.Process{PID: 9, Start: 7, PIDNamespace: 1, Command: "python3", GPUs: gpus(0)}
	both := python
	both.GPUs = gpus(0, 1)
	read := refused()
	read.Read = []usage.Client{python.Client()}
	elsewhere, inside := unfinished(), procs()
	elsewhere.PIDNamespace, inside.PIDNamespace = 2, 2
	broken := procs()
	broken.Err, broken.Partial = fs.ErrNotExist, true
	shared := wants(0, gpus(1)...)
	shared.Share, shared.Choose = true, order{count: 1, named: gpus(1), share: true}.choose
	for name, c := range map[string]struct {
		looked  []gpu.BDF
		known   []usage.Process
		look    Look
		life    usage.Liveness
		claim   Claim
		want    []gpu.BDF
		err     string
		records []usage.Process
		looks   []gpu.BDF
	}{
		"a count, never looked":            {look: unfinished(), claim: wants(1), err: "cannot get 1 GPU: all 4 are in use (metax-ctk ps)"},
		"a count, looked at some":          {looked: gpus(2, 3), look: unfinished(), claim: wants(1), want: gpus(2), looks: gpus(2, 3)},
		"more than were looked at":         {looked: gpus(2, 3), look: unfinished(), claim: wants(3), err: "cannot get 3 GPUs: only 2 of 4 are free", looks: gpus(2, 3)},
		"by name, never looked":            {look: unfinished(), claim: wants(0, gpus(1)...), err: "GPU 1 may be in use: not every process could be inspected in time"},
		"by name, looked":                  {looked: allGPUs, look: unfinished(), claim: wants(0, gpus(1)...), err: "GPU 1 may be in use", looks: allGPUs},
		"by name, shared":                  {look: unfinished(), claim: shared, want: gpus(1)},
		"past what it saw":                 {looked: allGPUs, look: unfinished(python), claim: wants(1), want: gpus(1), records: []usage.Process{python}, looks: allGPUs},
		"past what is on record":           {looked: allGPUs, known: []usage.Process{python}, look: unfinished(), life: usage.Alive, claim: wants(1), want: gpus(1), records: []usage.Process{python}, looks: allGPUs},
		"on record, and nobody can tell":   {looked: allGPUs, known: []usage.Process{python}, look: unfinished(), life: usage.Unseen, claim: wants(1), want: gpus(1), records: []usage.Process{python}, looks: allGPUs},
		"on record, has ended":             {looked: allGPUs, known: []usage.Process{python}, look: unfinished(), life: usage.Ended, claim: wants(1), want: gpus(0), looks: allGPUs},
		"on record, a complete look lacks": {looked: gpus(1), known: []usage.Process{python}, look: procs(), life: usage.Alive, claim: wants(1), want: gpus(0), looks: allGPUs},
		"on record, a part was seen":       {looked: allGPUs, known: []usage.Process{both}, look: unfinished(python), life: usage.Alive, claim: wants(1), want: gpus(2), records: []usage.Process{both}, looks: allGPUs},
		"on record, a complete look saw":   {looked: allGPUs, known: []usage.Process{both}, look: procs(python), life: usage.Alive, claim: wants(1), want: gpus(1), records: []usage.Process{python}, looks: allGPUs},
		"on record, and read to the end":   {known: []usage.Process{python}, look: read, life: usage.Alive, claim: wants(1), want: gpus(0)},
		"on record, looked at from inside": {known: []usage.Process{python}, look: inside, life: usage.Unseen, claim: wants(1), want: gpus(1), records: []usage.Process{python}, looks: allGPUs},
		"looked at from elsewhere":         {looked: allGPUs, look: elsewhere, claim: wants(1), err: "cannot get 1 GPU: all 4 are in use (metax-ctk ps)", looks: allGPUs},
		"the list cannot be read":          {look: broken, claim: wants(1), err: "cannot get 1 GPU: all 4 are in use (metax-ctk ps)"},
		"on record, others are hidden":     {known: []usage.Process{python}, look: refused(), life: usage.Alive, claim: wants(1), want: gpus(1), records: []usage.Process{python}},
		"hidden is not unfinished":         {look: refused(), claim: wants(0, gpus(1)...), want: gpus(1)},
		"complete":                         {look: procs(python), claim: wants(0, gpus(1)...), want: gpus(1), records: []usage.Process{python}, looks: allGPUs},
		"nobody asked":                     {looked: gpus(0), look: dockerSees(), claim: wants(1), want: gpus(0), looks: gpus(0)},
	} {
		s := stateOf()
		s.Looked, s.Processes = c.looked, c.known
		b := newBench(t, s, dockerSees(), c.look)
		b.GPUs = allGPUs
		b.lives[python.Client()] = c.life
		report, err := b.Report(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Take(t.Context(), c.claim)
		if (err == nil) != (c.err == "") || err != nil && (!errors.Is(err, ErrBusy) || !strings.HasPrefix(err.Error(), c.err)) {
			t.Errorf("%s: error is %v, want %q", name, err, c.err)
		}
		var given []gpu.BDF
		for _, l := range got.Leases {
			given = append(given, l.GPUs...)
		}
		if diff := cmp.Diff(c.want, given); diff != "" {
			t.Errorf("%s: given %s", name, diff)
		}
		if diff := cmp.Diff(c.records, b.state.Processes); diff != "" {
			t.Errorf("%s: on record %s", name, diff)
		}
		if diff := cmp.Diff(c.looks, b.state.Looked); diff != "" {
			t.Errorf("%s: looked at %s", name, diff)
		}
		// Who only reports comes to the same answer.
		_, err = c.claim.Choose(report.HoldersOf(c.claim.GPUs), nil)
		if (err == nil) != (c.err == "") {
			t.Errorf("%s: by the report: %v", name, err)
		}
	}
}

// A process that another client recorded meanwhile stays, though this look lacks it.
func TestRecordedMeanwhile(t *testing.T) {
	late := usage.Process{PID: 9, Start: 7, PIDNamespace: 1, Command: "late", GPUs: gpus(0)}
	b := newBench(t, stateOf(), dockerSees(), procs())
	b.meanwhile = func(s *State) { s.Processes = []usage.Process{late} }
	got, err := b.Take(t.Context(), wants(1))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(gpus(1), got.Leases[0].GPUs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]usage.Process{late}, b.state.Processes); diff != "" {
		t.Error(diff)
	}
}

// A container that has its GPUs is started again, whatever was not seen.
func TestUnfinishedRestart(t *testing.T) {
	running := labeled(usage.Running, unlabeled)
	b := newBench(t, stateOf(), dockerSees(running), unfinished())
	b.GPUs = allGPUs
	c := wants(0, running.GPUs...)
	c.Leases[0].Container, c.Leases[0].Verb = running.ID, usage.VerbStart
	c.Own, c.Spare = []string{running.ID}, []string{"dddddddddddd"}
	if _, err := b.Take(t.Context(), c); err != nil {
		t.Error(err)
	}
}
