// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// TestUnmet holds when a pick fails because GPUs are in use.
func TestUnmet(t *testing.T) {
	node := simulated(t, "c500-8", 7)
	holders := []usage.Holder{use(node, "", 0, 1)}
	for name, tc := range map[string]struct {
		r       alloc.Request
		holders []usage.Holder
		want    string
	}{
		"enough":           {alloc.Request{N: 5}, holders, "<nil>"},
		"too few":          {alloc.Request{N: 6}, holders, "cannot get 6 GPUs: only 5 of 7 are free (metax-ctk ps)"},
		"required, in use": {alloc.Request{N: 2, Required: []int{1, 2}}, holders, "GPU 1 is in use by lease 6f1d2c9a04be (metax-ctk ps)"},
		"never enough":     {alloc.Request{N: 9}, holders, "<nil>"},
		"nobody uses any":  {alloc.Request{N: 9}, nil, "<nil>"},
	} {
		err := Unmet(node, tc.r, tc.holders)
		if got := fmt.Sprint(err); got != tc.want || err != nil && !errors.Is(err, lease.ErrBusy) {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
	if d := cmp.Diff([]int{2, 3, 4, 5, 6}, Free(node, holders)); d != "" {
		t.Error(d)
	}
}

// TestRefused gives the reason why a picker found no GPUs.
func TestRefused(t *testing.T) {
	sick := make([]int, 8)
	for i := range sick {
		sick[i] = i
	}
	none := simulated(t, "c500-8", sick...)
	none.Warnings = []string{"the kernel module metax is not loaded (sudo modprobe metax; details: metax-ctk doctor)"}
	for name, tc := range map[string]struct {
		node gpu.Node
		used []int
		r    alloc.Request
		want string
	}{
		"no driver": {none, nil, alloc.Request{N: 2}, "no usable GPU: " + none.Warnings[0]},
		"unhealthy": {simulated(t, "c500-8", 7), nil, alloc.Request{N: 8}, "8 GPUs requested, but only 7 of 8 GPUs are free and healthy (metax-ctk device list); GPU 7 is unhealthy: metax-ctk health says why (0000:38:00.0)"},
		"in use":    {simulated(t, "c500-8"), []int{0, 4}, alloc.Request{N: 4, Scope: key.Link}, "no 4 free GPUs are joined by MetaXLink (at most 3); without scope link: 1,2,5,6 (NODE); metax-ctk ps shows who uses the others"},
		"never":     {simulated(t, "c500-8"), []int{0}, alloc.Request{N: 5, Scope: key.Switch}, "5 GPUs requested, but a PCIe switch of this node has only 4; without scope switch: 0-4 (NODE)"},
	} {
		graph, _ := topology.New(tc.node)
		picker := alloc.New(graph)
		tc.r.Free = Free(tc.node, []usage.Holder{use(tc.node, "", tc.used...)})
		_, err := picker.Pick(tc.r)
		if err = Refused(tc.node, picker, tc.r, err); err == nil || err.Error() != tc.want || !errors.Is(err, alloc.ErrUnmet) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}

// TestAwait waits for what can come free, and refuses the rest at once.
func TestAwait(t *testing.T) {
	node := simulated(t, "c500-8", 7)
	graph, _ := topology.New(node)
	for name, tc := range map[string]struct {
		used []int
		r    alloc.Request
		want string
		when string // "now", "waits" or "never"
	}{
		"free":                      {nil, alloc.Request{N: 4}, "[0 1 2 3]", "now"},
		"beside those in use":       {[]int{0, 1}, alloc.Request{N: 3}, "[4 5 6]", "now"},
		"too few are free":          {[]int{0, 1}, alloc.Request{N: 6}, "cannot get 6 GPUs: only 5 of 7 are free (metax-ctk ps)", "waits"},
		"required, in use":          {[]int{0, 1}, alloc.Request{N: 1, Required: []int{1}}, "GPU 1 is in use by lease bbbbbbbbbbbb (metax-ctk ps)", "waits"},
		"no such set is free":       {[]int{0}, alloc.Request{N: 4, Scope: key.Link}, "no 4 free GPUs are joined by MetaXLink (at most 3); without scope link: 1,2,4,5 (NODE); metax-ctk ps shows who uses the others", "waits"},
		"the node has too few":      {nil, alloc.Request{N: 9}, "9 GPUs requested, but this node has only 8", "never"},
		"the node has none so many": {[]int{0}, alloc.Request{N: 8}, "8 GPUs requested, but only 7 of 8 GPUs are free and healthy (metax-ctk device list); GPU 7 is unhealthy: metax-ctk health says why (0000:38:00.0)", "never"},
		"no such set at all":        {nil, alloc.Request{N: 5, Scope: key.Link}, "5 GPUs requested, but a MetaXLink domain of this node has only 4; without scope link: 0-4 (NODE)", "never"},
	} {
		var leases []usage.Lease
		if tc.used != nil {
			leases = append(leases, usage.Lease{ID: "bbbbbbbbbbbb", GPUs: gpuBDFs(node, tc.used), Verb: usage.VerbRun, Client: usage.Client{PID: 1}})
		}
		k, _ := testKeeper(t, daemon{}, leases...)
		k.config.Node = node
		ctx, stop := context.WithCancel(t.Context())
		when, got := "now", ""
		k.config.Note = func(line string) {
			line, _, _ = strings.Cut(line, "; in use: ")
			when, got = "waits", strings.TrimPrefix(line, "waiting up to 1h, no request ahead: ")
			stop()
		}
		answer, err := k.Await(ctx, alloc.New(graph), tc.r, time.Hour)
		switch {
		case when == "waits":
		case err != nil:
			when, got = "never", err.Error()
			if !errors.Is(err, alloc.ErrUnmet) || errors.Is(err, lease.ErrBusy) {
				t.Errorf("%s: %v", name, err)
			}
		default:
			got = fmt.Sprint(answer.GPUs)
		}
		stop()
		if d := cmp.Diff([]string{tc.when, tc.want}, []string{when, got}); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if s, err := k.Ledger.Read(); err != nil || len(s.Queue) > 0 || len(s.Leases) != len(leases) {
			t.Errorf("%s: left %v and %v, %v", name, s.Queue, s.Leases, err)
		}
	}
}
