// SPDX-License-Identifier: Apache-2.0

package request

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// node has four GPUs. The serial number of the last is the index of the second.
func node() []gpu.GPU {
	at := func(bus uint8) gpu.BDF { return gpu.BDF{Bus: bus} }
	return []gpu.GPU{
		{Index: 0, UUID: "GPU-aaaa", Serial: "SN0", BDF: at(0x0e), Healthy: true},
		{Index: 1, UUID: "GPU-bbbb", Serial: "SN1", BDF: at(0x0f), Healthy: true},
		{Index: 2, UUID: "GPU-cccc", Serial: "700", BDF: at(0x35)},
		{Index: 3, UUID: "GPU-dddd", Serial: "1", BDF: at(0x36), Healthy: true},
	}
}

// long has GPUs with UUIDs of real length, two of which begin alike.
func long() []gpu.GPU {
	return []gpu.GPU{
		{Index: 0, UUID: "GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b"},
		{Index: 1, UUID: "GPU-8e1a3bd1-42d3-4f60-ac7c-9e7f63d6e0aa"},
		{Index: 2, UUID: "GPU-8e1a3bd2-42d3-4f60-ac7c-9e7f63d6e0aa", Serial: "0070012345"},
	}
}

func TestResolve(t *testing.T) {
	bare := []gpu.GPU{{Index: 0}, {Index: 1}} // as read from a matrix: nothing else known
	shuffled := node()
	shuffled[0], shuffled[3] = shuffled[3], shuffled[0]
	own := []gpu.GPU{{Index: 0, Serial: "0"}, {Index: 1, Serial: "x"}}
	tests := []struct {
		name string
		in   string
		gpus []gpu.GPU
		want Selection
	}{
		{"all", "all", node(), Selection{All: true}},
		{"count", "2", node(), Selection{Count: 2}},
		{"more than there are", "9", node(), Selection{Count: 9}},
		{"index", "[2]", node(), Selection{Explicit: []int{2}}},
		{"indices in BDF order", "[2,0]", node(), Selection{Explicit: []int{0, 2}}},
		{"positions, not indices", "[2,0]", shuffled, Selection{Explicit: []int{3, 2}}},
		{"uuid", "GPU-cccc", node(), Selection{Explicit: []int{2}}},
		{"uuid in other case", "gpu-CCCC", node(), Selection{Explicit: []int{2}}},
		{"beginning of a uuid", "gpu-3FD4", long(), Selection{Explicit: []int{0}}},
		{"serial in other case", "sn1", node(), Selection{Explicit: []int{1}}},
		{"range", "0-1", long(), Selection{Explicit: []int{0, 1}}},
		{"bdf", "0000:0f:00.0", node(), Selection{Explicit: []int{1}}},
		{"bdf in upper case, no domain", "0E:00.0", node(), Selection{Explicit: []int{0}}},
		{"serial", "SN1", node(), Selection{Explicit: []int{1}}},
		{"number that is only a serial", "[700]", node(), Selection{Explicit: []int{2}}},
		{"all kinds", "[0,GPU-bbbb,0000:35:00.0]", node(), Selection{Explicit: []int{0, 1, 2}}},
		{"index and serial of one GPU", "[0]", own, Selection{Explicit: []int{0}}},
		{"only indices known", "[1,0]", bare, Selection{Explicit: []int{0, 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Parse(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Resolve(tt.gpus)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	tests := []struct {
		name string
		in   string
		gpus []gpu.GPU
		msg  string
	}{
		{
			"unknown index", "[9]", node(),
			`"9" is not a GPU; this node has GPUs 0-3`,
		},
		{
			"unknown uuid, gaps", "GPU-eeee",
			[]gpu.GPU{{Index: 5}, {Index: 0}, {Index: 1}, {Index: 7}},
			`"GPU-eeee" is not a GPU; this node has GPUs 0,1,5,7, whose UUIDs and serial numbers are unknown (metax-ctk doctor)`,
		},
		{
			"unknown serial number of digits", "[0070012345]",
			[]gpu.GPU{{Index: 0}},
			`"0070012345" is not a GPU; this node has only GPU 0, whose UUIDs and serial numbers are unknown (metax-ctk doctor)`,
		},
		{
			"unknown uuid among known ones", "GPU-eeee", node(),
			`"GPU-eeee" is not a GPU; this node has GPUs 0-3`,
		},
		{"part of a uuid that is too short", "GPU-3fd", long(), `"GPU-3fd" is not a GPU; this node has GPUs 0-2; the beginning of a UUID needs at least 8 characters, such as GPU-3fd4`},
		{
			"beginning of two uuids", "GPU-8e1a3bd", long(),
			`GPU "GPU-8e1a3bd" is ambiguous: GPU 1 or GPU 2 with serial number 0070012345; use the UUID or PCI address (metax-ctk device list)`,
		},
		{"a range beyond the node", "2-5", long(), "the range 2-5 includes 3, which is not a GPU; this node has GPUs 0-2"},
		{
			"an index is written one way", "[00]", node(),
			`"00" is not a GPU; this node has GPUs 0-3`,
		},
		{
			"an unknown address is nobody's", "0000:00:00.0",
			[]gpu.GPU{{Index: 0}},
			`"0000:00:00.0" is not a GPU; this node has only GPU 0`,
		},
		{
			"no GPU at all", "[0]", nil,
			`"0" is not a GPU; this node has no GPU`,
		},
		{
			"index of one, serial of another", "[1]", node(),
			`GPU "1" is ambiguous: GPU 1 at 0000:0f:00.0 with serial number SN1 or ` +
				`GPU 3 at 0000:36:00.0 with serial number 1; use the UUID or PCI address (metax-ctk device list)`,
		},
		{
			"one GPU by two names", "[0,GPU-AAAA]", node(),
			`GPU "0" and GPU "GPU-AAAA": both are GPU 0 at 0000:0e:00.0 with serial number SN0; name it once`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Parse(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Resolve(tt.gpus)
			if err == nil {
				t.Fatalf("resolved to %v", got)
			}
			if d := cmp.Diff(tt.msg, err.Error()); d != "" {
				t.Errorf("message -want +got:\n%s", d)
			}
		})
	}
}

// Two GPUs that have the same UUID because of a broken driver are ambiguous.
func TestResolveSameUUID(t *testing.T) {
	gpus := []gpu.GPU{{Index: 0, UUID: "GPU-a"}, {Index: 1, UUID: "GPU-a"}}
	_, err := Request{IDs: []string{"GPU-a"}}.Resolve(gpus)
	if err == nil || !strings.Contains(err.Error(), "is ambiguous: GPU 0 or GPU 1") {
		t.Errorf("got %v, want both GPUs", err)
	}
}
