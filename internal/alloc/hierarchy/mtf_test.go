// SPDX-License-Identifier: Apache-2.0

package hierarchy

import (
	"math/bits"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// TestMTFOfAllMasks compares the count on two wings of four with a definition of its own: a
// job is the whole node, or 4, 2 or 1 GPUs of one wing; the least number of jobs for a set
// is one more than that for the set without some job.
func TestMTFOfAllMasks(t *testing.T) {
	var legal []uint32
	for job := uint32(1); job < 256; job++ {
		k, left := bits.OnesCount32(job), bits.OnesCount32(job&0x0f)
		if k == 8 || (left == 0 || left == k) && (k == 1 || k == 2 || k == 4) {
			legal = append(legal, job)
		}
	}
	least := make([]int, 256)
	for free := uint32(1); free < 256; free++ {
		least[free] = bits.OnesCount32(free)
		for _, job := range legal {
			if free&job == job {
				least[free] = min(least[free], 1+least[free-job])
			}
		}
	}
	for _, name := range []string{"two quads", "two quads, SYS", "wings"} {
		root, _ := New(link.ByClass(alloctest.Named(t, name)))
		for free := range uint32(256) {
			if got := root.Jobs(func(gpu int) bool { return free>>gpu&1 == 1 }); got != least[free] {
				t.Errorf("%s, free %08b: %d jobs, want %d", name, free, got, least[free])
			}
		}
	}
}

// TestPublishedMTF checks the rows that Kunlunxin and HAMi publish; the leftmost digit is GPU
// 7, and a 1 is a GPU in use.
func TestPublishedMTF(t *testing.T) {
	root, _ := New(link.ByClass(alloctest.Named(t, "wings")))
	for _, c := range []struct {
		source string
		used   uint32
		want   int
	}{
		{"Kunlunxin's table", 0b11111111, 0},
		{"Kunlunxin's table", 0b00000000, 1},
		{"Kunlunxin's table", 0b00000011, 2},
		{"Kunlunxin's table", 0b00000001, 3},
		{"Kunlunxin's table", 0b00010001, 4},
		{"HAMi, TestCountbubble, empty", 0b00000000, 1},
		{"HAMi, TestCountbubble, full group of 4", 0b00001111, 1},
		{"HAMi, TestCountbubble, single left device", 0b00000001, 3},
		{"HAMi, TestCountbubble, single right device", 0b00010000, 3},
		{"HAMi, TestCountbubble, two left devices", 0b00000011, 2},
	} {
		if got := root.Jobs(func(gpu int) bool { return c.used>>gpu&1 == 0 }); got != c.want {
			t.Errorf("%s: %08b in use: %d jobs, want %d", c.source, c.used, got, c.want)
		}
	}
}

// TestBuddiesOfAnyShape counts in hierarchies unlike two wings.
func TestBuddiesOfAnyShape(t *testing.T) {
	for _, c := range []struct {
		node string
		used uint32
		want int
	}{
		{"unlinked", 0, 1},             // eight GPUs of one cluster
		{"unlinked", 0b00000001, 3},    // 4, 2, 1
		{"four pairs", 0, 1},           // the whole node
		{"four pairs", 0b00000001, 3},  // 4 of the other side, a pair, the single
		{"four pairs", 0b00010001, 4},  // twice a pair and a single
		{"PCIe only", 0b00001001, 3},   // GPU 1 and 2 side by side, though 0 is 1's twin: 1, 1… and 4
		{"quad, pair and 2", 0b1, 3},   // 2 and 1 of the quad, and the other half whole
		{"mesh over 4 NUMA", 0b11, 2},  // a pair's worth less: three pairs are 4 and 2
		{"mesh over 4 NUMA", 0b101, 3}, // 1 and 1, and two pairs as one
	} {
		root, _ := New(link.ByClass(alloctest.Named(t, c.node)))
		if got := root.Jobs(func(gpu int) bool { return c.used>>gpu&1 == 0 }); got != c.want {
			t.Errorf("%s, %08b in use: %d jobs, want %d", c.node, c.used, got, c.want)
		}
	}
}
