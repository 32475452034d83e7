package trace

import (
	"slices"
	"testing"
)

func TestFragmentation(t *testing.T) {
	for _, c := range []struct {
		node string
		free []int
		want float64
	}{
		{"c500-8", []int{0, 1, 2, 3, 4, 5, 6, 7}, 0}, // no ring of eight there ever was
		{"c500-8", []int{4, 5, 6, 7}, 0},
		{"c500-8", []int{0, 1, 4, 5}, 0.5},          // no four, two pairs
		{"c500-8", []int{0, 1, 2, 4, 5, 6}, 0.6},    // no four, two of three pairs
		{"c500-8", []int{1, 2, 3, 4, 5, 6, 7}, 0},   // four, three pairs
		{"c500-8", []int{0, 4}, 1},                  // one from each
		{"c500-8", []int{0, 1}, 0},                  // a pair
		{"c500-8", []int{5}, 0},                     // nothing to lose
		{"c500-8", nil, 0},                          //
		{"c550-8", []int{0, 2, 4, 5, 6, 7}, 0},      // a mesh has no bad places
		{"pairs", []int{0, 1, 2, 3, 4, 5, 6, 7}, 0}, // no MetaXLink: pairs by PCIe
		{"pairs", []int{0, 1, 2, 3, 4, 5, 6}, 0.5},  // one of two
		{"pairs", []int{0, 2, 3, 4, 5, 6}, 1},       // none of two
		{"large", []int{0, 1, 4, 5}, 0.5},
		{"large", []int{16, 17, 18, 19}, 0},
		{"lost", []int{0, 1, 2}, 0},                  // PCIe's pair is the best there is now
		{"lost", []int{0, 2, 7}, 1},                  //
		{"hurt", []int{0, 1, 2, 3, 4, 5, 7}, 0},      // a quad and a triple
		{"hurt", []int{3, 4, 5, 7}, 0.75},            // no four, one of two pairs
		{"hurt", []int{0, 1, 2, 3, 4, 5}, 0},         // four, three pairs
		{"hurt", []int{1, 2, 3, 4, 5, 7}, 1 - 4/10.}, // no four, two of three pairs
	} {
		picker, gpus := simulated(t, c.node)
		g, err := newGauge(picker, gpus)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // measured, then known
			got, err := g.fragmentation(c.free)
			if got != c.want || err != nil {
				t.Errorf("%s with %v free: %v, %v, want %v", c.node, c.free, got, err, c.want)
			}
		}
	}
}

// It is a share for every set of free GPUs, and what is kept is what is measured.
func TestFragmentationOfEverySet(t *testing.T) {
	for _, node := range []string{"c500-8", "c550-8", "pairs", "hurt", "lost"} {
		picker, gpus := simulated(t, node)
		g, err := newGauge(picker, gpus)
		if err != nil {
			t.Fatal(err)
		}
		for mask := range 1 << 8 {
			var free []int
			for _, i := range gpus {
				if mask>>i&1 == 1 {
					free = append(free, i)
				}
			}
			got, err := g.fragmentation(free)
			if err != nil || got < 0 || got > 1 {
				t.Errorf("%s with %v free: %v, %v", node, free, got, err)
			}
			slices.Reverse(free)
			if again, err := g.measure(free); again != got || err != nil {
				t.Errorf("%s with %v free: kept %v, measured %v, %v", node, free, got, again, err)
			}
		}
	}
}
