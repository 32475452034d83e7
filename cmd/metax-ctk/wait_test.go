package main

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

func TestWaitLine(t *testing.T) {
	node, err := sim.Node("c500-8")
	if err != nil {
		t.Fatal(err)
	}
	process := func(pid, at int) usage.Holder {
		return usage.Holder{GPUs: []gpu.BDF{node.GPUs[at].BDF}, Processes: []usage.Process{{PID: pid, Command: "python3"}}}
	}
	some := lease.Report{Holders: []usage.Holder{process(7, 0), process(8, 1)}}
	many := lease.Report{Holders: []usage.Holder{process(7, 0), process(8, 1), process(9, 2), process(10, 3), process(11, 4)}}
	for _, tc := range []struct {
		report lease.Report
		why    error
		want   string
	}{
		{lease.Report{}, &lease.QueueError{Waiting: 2, Behind: true}, "waiting for 8 GPUs: position 3 in the queue, 8 of 8 GPUs free"},
		{some, &lease.FullError{}, "waiting for 8 GPUs: 6 of 8 GPUs free; in use: 0 by process 7 (python3), 1 by process 8 (python3)"},
		{many, &lease.FullError{}, "waiting for 8 GPUs: 3 of 8 GPUs free; in use: 0 by process 7 (python3), 1 by process 8 (python3), 2 by process 9 (python3) and 2 more"},
		{lease.Report{}, errors.New("GPU 3 is in use"), "waiting for 8 GPUs: GPU 3 is in use"},
	} {
		if d := cmp.Diff(tc.want, waitLine(node, 8, tc.report, tc.why)); d != "" {
			t.Error(d)
		}
	}
}
