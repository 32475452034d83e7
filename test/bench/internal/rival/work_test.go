package rival

import "testing"

// TestPartitions counts one by one.
func TestPartitions(t *testing.T) {
	for free := 2; free <= 9; free++ {
		for k := 2; k <= free; k++ {
			filling := (k - free%k) % k
			list := make([]bool, free+filling) // whether it is filling
			for i := range filling {
				list[free+i] = true
			}
			wantSets, wantWays := walk(list, k, filling)
			sets, ways := partitions(free, k, filling)
			if sets != float64(wantSets) || ways != float64(wantWays) {
				t.Errorf("%d of %d: %v sets and %v partitions, want %d and %d", k, free, sets, ways, wantSets, wantWays)
			}
		}
	}
}

// walk writes down all sets that hold the first of the list, and goes on with the others where
// the set holds no filling or all there is in the beginning.
func walk(list []bool, k, filling int) (sets, ways int) {
	if len(list) == k {
		return 0, 1
	}
	for chosen := range uint32(1) << len(list) {
		if chosen&1 == 0 || len(members(chosen)) != k {
			continue
		}
		sets++
		fill := 0
		var others []bool
		for i, f := range list {
			if chosen>>i&1 == 0 {
				others = append(others, f)
			} else if f {
				fill++
			}
		}
		if fill != 0 && fill != filling {
			continue
		}
		s, w := walk(others, k, filling)
		sets, ways = sets+s, ways+w
	}
	return sets, ways
}

// TestBestEffortWork takes pairs and sets of 4 GPUs, counted by hand: three ways to make two
// pairs, each found by a set of its own.
func TestBestEffortWork(t *testing.T) {
	for _, tc := range []struct {
		free, k int
		want    float64
	}{
		{4, 1, 4},
		{4, 2, 3*3 + 3*2},
		{4, 4, 6},
		{3, 2, 3*3 + 3*2},
		{2, 2, 1},
	} {
		if got := bestEffortWork(tc.free, tc.k); got != tc.want {
			t.Errorf("%d of %d: %v steps, want %v", tc.k, tc.free, got, tc.want)
		}
	}
}
