package rival

import (
	"fmt"
	"math/bits"
	"testing"
)

// turned is a judge of a node, turned to sets of k.
func turned(t *testing.T, n Node, k int) *judge {
	t.Helper()
	j, err := newJudge(n)
	if err != nil {
		t.Fatal(err)
	}
	j.of(k)
	return j
}

// sum is the score of all pairs of a set, pair by pair.
func sum(n Node, set uint32) (total int32) {
	list := members(set)
	for at, a := range list {
		for _, b := range list[at+1:] {
			total += int32(n.score(a, b))
		}
	}
	return total
}

// bestPartition tries all ways to take sets of k one by one; what is left over counts if rest.
func bestPartition(n Node, set uint32, k int, rest bool) (most int32) {
	if bits.OnesCount32(set) < k {
		if rest {
			return sum(n, set)
		}
		return 0
	}
	for part := set; part != 0; part = (part - 1) & set {
		if bits.OnesCount32(part) == k {
			most = max(most, sum(n, part)+bestPartition(n, set&^part, k, rest))
		}
	}
	return most
}

func TestPackings(t *testing.T) {
	for _, n := range Nodes()[1:3] {
		for k := 1; k <= n.GPUs; k++ {
			j := turned(t, n, k)
			for _, set := range []uint32{0b11111111, 0b1111111, 0b10111011, 0b11010110, 0b101, 0} {
				for rest, most := range map[bool][]int32{true: j.whole, false: j.full} {
					if got, want := most[set], bestPartition(n, set, k, rest); got != want {
						t.Errorf("%s, sets of %d of %08b, rest %t: %d, want %d", n.Name, k, set, rest, got, want)
					}
				}
			}
		}
	}
}

func TestJudge(t *testing.T) {
	quads := Nodes()[2]
	const free = 0b11101111 // all but GPU 4
	for _, tc := range []struct {
		k      int
		answer []int
		want   verdict
	}{
		{4, []int{0, 1, 2, 3}, verdict{best: true, bestFull: true}},
		{4, []int{3, 2, 1, 0}, verdict{best: true, bestFull: true}},
		{4, []int{0, 1, 5, 6}, verdict{lowerClass: true, lower: true}},
		{2, []int{0, 1}, verdict{best: true, bestFull: true, lower: true}}, // 5 and 6 leave more
		{2, []int{5, 6}, verdict{best: true, bestFull: true}},
		{3, []int{5, 6, 7}, verdict{best: true, bestFull: true}},
		{3, []int{0, 1, 2}, verdict{best: true, bestFull: true, lower: true}},
		{3, []int{0, 1, 5}, verdict{lowerClass: true, lower: true}},
		{4, nil, verdict{none: true}},
		{4, []int{0, 1, 2}, verdict{wrong: true}},
		{4, []int{0, 1, 2, 3, 5}, verdict{wrong: true}},
		{4, []int{0, 1, 2, -1}, verdict{wrong: true}},
		{4, []int{0, 1, 2, 2}, verdict{wrong: true}},
		{4, []int{0, 1, 2, 4}, verdict{wrong: true}},
		{4, []int{0, 1, 2, 8}, verdict{wrong: true}},
	} {
		t.Run(fmt.Sprint(tc.k, tc.answer), func(t *testing.T) {
			j := turned(t, quads, tc.k)
			best, err := j.best(free)
			if err != nil {
				t.Fatal(err)
			}
			got, err := j.judge(free, tc.answer, best)
			if err != nil || got != tc.want {
				t.Errorf("got %+v, %v\nwant %+v", got, err, tc.want)
			}
		})
	}
}

// TestJudgeFindsBetterThanBest fails a comparison whose best is not the best.
func TestJudgeFindsBetterThanBest(t *testing.T) {
	j := turned(t, Nodes()[2], 4)
	worse, err := j.candidate(0xff, 0b110011)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := j.judge(0xff, []int{0, 1, 2, 3}, worse); err == nil {
		t.Errorf("better than the best: %+v", v)
	}
	best, err := j.best(0xff)
	if err != nil {
		t.Fatal(err)
	}
	j.whole[0xff]--
	if v, err := j.judge(0xff, []int{0, 1, 2, 3}, best); err == nil {
		t.Errorf("worth more than the most: %+v", v)
	}
}
