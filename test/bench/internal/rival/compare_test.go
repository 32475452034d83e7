package rival

import (
	"math/bits"
	"testing"
	"time"
)

// asks is an allocator that answers so, whatever it is asked.
func asks(answer func(free uint32, k int) []int) allocator {
	return allocator{name: "test", ask: func(free uint32, k int) question {
		var got []int
		return question{func() { got = answer(free, k) }, func() []int { return got }}
	}}
}

// TestTally counts every kind of answer for what it is.
func TestTally(t *testing.T) {
	sets := []uint32{0b11111111, 0b1111, 0b110011, 0b11110000}
	common := map[uint32]bool{0b11111111: true, 0b1111: true, 0b110011: true}
	a := asks(func(free uint32, k int) []int {
		switch free {
		case 0b11111111:
			panic("as it should")
		case 0b1111:
			return []int{0, 1, -1, 3}
		case 0b110011:
			return []int{0, 1, 4, 5}
		}
		return nil // not common
	})
	tally := tally{Record: Record{AllFree: make([]float64, 9)}}
	if err := tally.run(a, turned(t, Nodes()[2], 4), sets, common); err != nil {
		t.Fatal(err)
	}
	r := tally.record(4)
	if r.Asked != 3 || r.Panics != 1 || r.Wrong != 1 || r.None != 0 || r.Right() != 1 || r.Best != 1 || r.Lower != 0 {
		t.Errorf("got %+v", r)
	}
	if r.Took.Runs != 3 || r.All == nil || r.All.Runs != 4 || r.First != nil {
		t.Errorf("took %+v, all %+v, first %+v", r.Took, r.All, r.First)
	}
	if r := tally.record(5); r.All != nil {
		t.Errorf("a question is missing, and yet: %+v", r.All)
	}
}

func TestLimit(t *testing.T) {
	size := func(free, _ int) float64 { return float64(free) }
	all := []allocator{{}, {work: size}}
	sets := []uint32{0b111111, 0b11, 0b101, 0b110, 0b1111, 0b1001}
	for _, tc := range []struct {
		limit Limit
		want  []uint32
	}{
		{Limit{Work: 100, Single: 100}, sets},
		{Limit{Work: 100, Single: 5}, sets[1:]},
		{Limit{Work: 5, Single: 6}, []uint32{0b111111, 0b11, 0b101, 0b1111}}, // two pairs, one of four
		{Limit{Work: 3, Single: 6}, []uint32{0b111111, 0b11}},
		{Limit{}, nil},
	} {
		chosen, common := tc.limit.choose(all, sets, 2)
		if len(chosen[0]) != len(sets) || len(chosen[1]) != len(tc.want) || len(common) != len(tc.want) {
			t.Errorf("%+v: %v, common %v, want %v", tc.limit, chosen, common, tc.want)
			continue
		}
		for i, s := range tc.want {
			if chosen[1][i] != s || !common[s] {
				t.Errorf("%+v: %b, common %v, want %b", tc.limit, chosen[1], common, tc.want)
			}
		}
	}
}

var sink [][]byte

func TestClock(t *testing.T) {
	picks := 0
	r := clock(func() {
		picks++
		sink = [][]byte{make([]byte, 64), make([]byte, 64)} // three allocations
	})
	// What else runs may allocate now and then, but not once in every pick.
	if r.panicked || r.ns <= 0 || picks < 1+batches || int(r.allocations) != 3 {
		t.Errorf("%+v by %d picks", r, picks)
	}
	picks = 0
	r = clock(func() { picks++; time.Sleep(2 * long) })
	if picks != 2 || r.ns < float64(2*long) {
		t.Errorf("a pick that is not short: %+v by %d", r, picks)
	}
	if r = clock(func() { panic("as it should") }); !r.panicked {
		t.Error("a panic is lost")
	}
}

func TestMembers(t *testing.T) {
	if got := members(0b1010_0001); len(got) != 3 || got[0] != 0 || got[1] != 5 || got[2] != 7 {
		t.Errorf("got %v", got)
	}
	seen := 0
	eachSubset(0b110101, 2, func(s uint32) {
		if bits.OnesCount32(s) != 2 || s&^0b110101 != 0 {
			t.Errorf("subset %b", s)
		}
		seen++
	})
	if seen != 6 {
		t.Errorf("%d pairs of four", seen)
	}
}
