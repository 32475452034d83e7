// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"slices"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

func TestPrefer(t *testing.T) {
	const all = "0 1 2 3 4 5 6 7"
	for _, test := range []struct {
		name                string
		available, required string
		n                   int
		bad                 []int
		outside             []int
		want                string
		fallback            bool
	}{
		{"the vendor's figure 2.2", "2 3 4 5 6 7", "", 4, nil, nil, "4 5 6 7", false},
		{"the vendor's figure 2.3", "2 3 4 5 6 7", "", 2, nil, nil, "2 3", false},
		{"the order of the question does not matter", "7 5 3 6 4 2", "", 4, nil, nil, "4 5 6 7", false},
		{"one is required", all, "5", 2, nil, nil, "4 5", false},
		{"what is required need not be available", "0 1 2 3 4", "5", 2, nil, nil, "4 5", false},
		{"all that is needed is required", all, "3 5", 2, nil, nil, "3 5", false},
		{"a broken GPU is not chosen", "2 3 4 5 6 7", "", 4, []int{6}, nil, "2 3 4 5", false},
		{"a broken GPU fails nothing", "0 1", "", 2, []int{1}, nil, "0 1", true},
		{"a broken GPU is required", all, "1", 2, []int{1}, nil, "0 1", false},
		{"GPUs in use outside are left to others", all, "", 4, nil, []int{1}, "4 5 6 7", false},
		{"GPUs in use outside, if there are no others", "0 1", "", 2, nil, []int{1}, "0 1", false},
		{"too few", "0 1", "", 4, nil, nil, "0 1", true},
		{"none", "", "", 1, nil, nil, "", true},
		{"an unknown device is not chosen", "0 GPU-x 1", "", 2, nil, nil, "0 1", false},
		{"an unknown device fills", "0 GPU-x", "", 2, nil, nil, "0 GPU-x", true},
		{"an unknown device twice", "GPU-x GPU-x", "", 2, nil, nil, "GPU-x", true},
		{"the same device twice", "4 4 5", "5 5", 2, nil, nil, "4 5", false},
		{"an unknown device is required", "0 1", "GPU-x", 2, nil, nil, "GPU-x 0", true},
		{"no device is needed", all, "", 0, nil, nil, "", false},
		{"more is required than needed", all, "3 5", 1, nil, nil, "3 5", false},
		{"an impossible count", all, "", -1, nil, nil, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			node, all := simulated(t, "c500-8", test.bad...)
			s := New(node, all, nil)
			for _, g := range test.outside {
				s.Outside = append(s.Outside, node.GPUs[g].BDF)
			}
			read := func(text string) (list []string) {
				for _, word := range strings.Fields(text) {
					if strings.HasPrefix(word, "GPU-") {
						list = append(list, word)
					} else {
						list = append(list, ids(all, word)...)
					}
				}
				return list
			}
			p := s.Prefer(read(test.available), read(test.required), test.n, true)
			if got := places(all, p.IDs); got != test.want || (p.Fallback != "") != test.fallback {
				t.Errorf("got %q (%s), want %q", got, p.Fallback, test.want)
			}
		})
	}
}

// wanting is a container of its own pod.
func wanting(pod string, n int, choice protocol.PodChoice) Request {
	return Request{allocations.Wanted{Container: allocations.Container{UID: pod, Pod: pod, Name: "main"}, Count: n}, choice, protocol.Resource}
}

func TestPreferByPod(t *testing.T) {
	node, all := simulated(t, "c500-8")
	uuids := func(places string) (list []gpu.UUID) {
		for _, id := range ids(all, places) {
			list = append(list, gpu.UUID(strings.ToLower(id[:4])+id[4:]))
		}
		return list
	}
	// of two and three free GPUs of two domains, spread takes two pairs and binpack the least
	// cut
	const available = "0 1 4 5 6"
	binpack := protocol.PodChoice{Policy: &key.Binpack}
	chosen := protocol.PodChoice{GPUs: uuids("1 4 5 6")}
	two := protocol.PodChoice{GPUs: uuids("1 6")}
	admitted := wanting("b", 4, protocol.PodChoice{})
	admitted.Admitted = true
	second := wanting("a", 4, protocol.PodChoice{Policy: &key.Spread})
	second.Name = "second"
	for _, test := range []struct {
		name     string
		requests []Request
		state    allocations.State
		n        int
		want     string
		guessed  bool
	}{
		{"nobody waits", nil, allocations.State{}, 4, "0 1 4 5", false},
		{"one waits", []Request{wanting("a", 4, binpack)}, allocations.State{}, 4, "0 4 5 6", true},
		{"one waits for another count", []Request{wanting("a", 2, binpack)}, allocations.State{}, 4, "0 1 4 5", false},
		{"two wait", []Request{wanting("a", 4, binpack), wanting("b", 4, binpack)}, allocations.State{}, 4, "0 1 4 5", false},
		{"the other is admitted", []Request{wanting("a", 4, binpack), admitted}, allocations.State{}, 4, "0 4 5 6", true},
		{"a pod's containers are served in turn", []Request{wanting("a", 4, binpack), second}, allocations.State{}, 4, "0 4 5 6", true},
		{
			"the other has its GPUs",
			[]Request{wanting("a", 4, binpack), wanting("b", 4, protocol.PodChoice{})},
			allocations.State{Entries: []allocations.Entry{{IDs: ids(all, "2 3 7"), For: &allocations.Container{UID: "b", Pod: "b", Name: "main"}}}},
			4, "0 4 5 6", true,
		},
		{
			"somebody has GPUs",
			[]Request{wanting("a", 4, binpack)},
			allocations.State{Entries: []allocations.Entry{{IDs: ids(all, "2 3 7")}}},
			4, "0 1 4 5", false,
		},
		{
			"somebody has more GPUs than are asked for",
			[]Request{wanting("a", 2, binpack)},
			allocations.State{Entries: []allocations.Entry{{IDs: ids(all, "2 3 7")}}},
			2, "0 1", true,
		},
		{"chosen GPUs", []Request{wanting("a", 4, chosen)}, allocations.State{}, 4, "1 4 5 6", true},
		{"too few chosen GPUs are free", []Request{wanting("a", 4, two)}, allocations.State{}, 4, "0 1 4 6", true},
		{"more chosen GPUs than needed", []Request{wanting("a", 2, chosen)}, allocations.State{}, 2, "4 5", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := New(node, all, nil)
			s.Waiting = NewWaiting(test.requests, test.state, nil)
			p := s.Prefer(ids(all, available), nil, test.n, true)
			if got := places(all, p.IDs); got != test.want || p.Guessed != test.guessed || p.Fallback != "" {
				t.Errorf("got %q, guessed %t (%s); want %q, %t", got, p.Guessed, p.Fallback, test.want, test.guessed)
			}
			if p := s.Prefer(ids(all, available), nil, 4, false); places(all, p.IDs) != "0 1 4 5" {
				t.Errorf("pods decide although they must not: %s", places(all, p.IDs))
			}
		})
	}
}

// TestPreferVFs: of four GPUs with four functions each, "0-3" are those of the first.
func TestPreferVFs(t *testing.T) {
	node := virtual(t, 4, 4)
	all := devices(node)
	for _, test := range []struct {
		available, required string
		n                   int
		want                string
	}{
		{"0 1 2 3 4 5 6 7", "", 1, "0"},
		{"0 1 2 3 5 6 7", "", 1, "5"},
		{"0 1 2 3 6 7 11", "", 2, "6 7"},
		{"0 1 2 3 7 11", "", 4, "0 1 2 3"},
		{"0 1 2 7 11", "", 4, "0 1 2 7"},
		{"0 1 2 3 7 11", "8", 2, "8 11"},
	} {
		p := New(node, all, nil).Prefer(ids(all, test.available), ids(all, test.required), test.n, true)
		if got := places(all, p.IDs); got != test.want || p.Fallback != "" {
			t.Errorf("%d of %q with %q: got %q (%s), want %q", test.n, test.available, test.required, got, p.Fallback, test.want)
		}
	}
}

// FuzzPrefer asks with any ids: the answer has only what was in the question, each once, all
// that is required, and n if there are as many.
func FuzzPrefer(f *testing.F) {
	node, all := simulated(f, "c500-8", 3)
	s := New(node, all, nil)
	f.Add(strings.Join(ids(all, "0 1 2 3"), " "), all[4].ID, 2)
	f.Add("GPU-x GPU-x \x00", "", 1)
	f.Fuzz(func(t *testing.T, available, required string, n int) {
		offered, must := strings.Fields(available), strings.Fields(required)
		for i, id := range offered { // numbers stand for devices
			if len(id) == 1 && id[0] >= '0' && id[0] <= '7' {
				offered[i] = all[id[0]-'0'].ID
			}
		}
		p := s.Prefer(offered, must, n, true)
		asked := slices.Concat(offered, must)
		slices.Sort(asked)
		asked = slices.Compact(asked)
		for i, id := range p.IDs {
			if !slices.Contains(asked, id) || slices.Contains(p.IDs[:i], id) {
				t.Fatalf("%q in %q", id, p.IDs)
			}
		}
		for _, id := range must {
			if !slices.Contains(p.IDs, id) {
				t.Fatalf("%q is missing in %q", id, p.IDs)
			}
		}
		if want := min(n, len(asked)); len(p.IDs) < want {
			t.Fatalf("%d of %d", len(p.IDs), want)
		}
	})
}

// TestPreferShares has available shares as "GPU.share".
func TestPreferShares(t *testing.T) {
	for _, test := range []struct {
		policy              key.Policy
		available, required string
		n                   int
		want                string
	}{
		{key.Spread, "0.1 1.0 1.1 2.0", "", 1, "1.0"},
		{key.Binpack, "0.1 1.0 1.1 2.0", "", 1, "0.1"},
		{key.Spread, "0.1 1.0 1.1 2.0", "", 3, "0.1 1.0 2.0"},
		{key.Spread, "0.0 0.1 1.0", "", 3, "0.0 0.1 1.0"},
		{key.Binpack, "0.1 1.0 1.1 2.0", "1.0", 2, "0.1 1.0"},
		{key.Spread, "0.0", "", 2, "0.0"},
	} {
		node, _ := simulated(t, "c500-8")
		state, _ := health.State{}.Next(health.FromNode(node), health.DefaultRules)
		all, _ := inventory.Devices(node, state, inventory.Options{ModeSettings: protocol.ModeSettings{Mode: protocol.ModeShared, Shares: 2}})
		s := New(node, all, nil)
		s.Policy = test.policy
		id := func(text string) (list []string) {
			for _, word := range strings.Fields(text) {
				list = append(list, string(node.GPUs[word[0]-'0'].UUID)+"::"+word[2:])
			}
			return list
		}
		if got := s.Prefer(id(test.available), id(test.required), test.n, false).IDs; !slices.Equal(got, id(test.want)) {
			t.Errorf("%d of %s with %s: %v, want %s", test.n, test.available, test.required, got, test.want)
		}
		answer, err := s.Allocate(id("0.0 0.1 1.0"), Form{CDI: true})
		if err != nil || len(answer.CDI) != 2 || answer.Env["METAX_GPU_INDICES"] != "0,1" || answer.Env["MACA_MPS_MODE"] != "1" {
			t.Errorf("three shares of two GPUs give %v, %v", answer, err)
		}
	}
}
