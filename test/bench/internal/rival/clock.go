package rival

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// What takes less than long is measured again: batches of picks that take about a batch's
// time each, of which the median counts. What takes longer, but less than tooLong, is measured
// twice, and the lesser counts. So neither the clock, which is read in tens of nanoseconds, nor
// what else the machine does in between is taken for the pick.
const (
	long    = time.Millisecond
	tooLong = time.Second
	batch   = 20 * time.Microsecond
	batches = 5
	most    = 64 // picks in a batch
)

// reading is what one question took.
type reading struct {
	ns          float64
	allocations float64
	panicked    bool
}

// clock measures a pick.
func clock(pick func()) reading {
	before := mallocs()
	one, panicked := once(pick)
	allocated := float64(mallocs() - before)
	if one >= long && one < tooLong && !panicked {
		again, _ := once(pick)
		one = min(one, again)
	}
	if one >= long || panicked {
		return reading{float64(one), allocated, panicked}
	}
	picks := int(min(most, max(1, batch/max(1, one))))
	times := make([]float64, batches)
	before = mallocs()
	for i := range times {
		took, panicked := once(func() {
			for range picks {
				pick()
			}
		})
		if panicked {
			return reading{panicked: true}
		}
		times[i] = float64(took) / float64(picks)
	}
	allocated = float64(mallocs()-before) / float64(batches*picks)
	slices.Sort(times)
	return reading{ns: times[batches/2], allocations: allocated}
}

func once(do func()) (took time.Duration, panicked bool) {
	start := time.Now()
	defer func() {
		took = time.Since(start)
		panicked = recover() != nil
	}()
	do()
	return
}

// mallocs is how often this process has allocated.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// firstError reports an allocator that failed its first question, about a node with all
// GPUs free.
type firstError struct {
	allocator string
	k         int
	cause     error // nil for a panic
}

func (e *firstError) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("ask %s for %d GPUs: it panicked", e.allocator, e.k)
	}
	return fmt.Sprintf("ask %s for %d GPUs: %v", e.allocator, e.k, e.cause)
}

func (e *firstError) Unwrap() error { return e.cause }
