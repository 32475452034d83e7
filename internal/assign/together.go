package assign

import (
	"errors"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
)

// checkTogether fails for services of which each could get its GPUs, but not all of them, even
// if nobody else used any: no wait would help. Services that run keep their GPUs. Requests
// that share GPUs do not count.
func checkTogether(healthy []int, picker *alloc.Picker, kept, wants []want) error {
	var counts []alloc.Want
	var counting []want
	asking, wanted, scoped := 0, 0, false
	named := map[int]bool{}
	for _, w := range kept {
		for _, i := range w.whole {
			named[i] = true
		}
	}
	running := ""
	if len(named) > 0 {
		running = fmt.Sprintf("; running services keep %d", len(named))
	}
	for _, w := range wants {
		if w.Count > 0 && w.Share {
			continue
		}
		asking++
		for _, i := range w.whole {
			named[i] = true
		}
		if w.Count > 0 {
			counts, counting = append(counts, w.jointWant()), append(counting, w)
			wanted, scoped = wanted+w.Count, scoped || w.Scope != key.Any
		}
	}
	left := slices.DeleteFunc(slices.Clone(healthy), func(i int) bool { return named[i] })
	asking += len(kept)
	if asking > 1 && wanted > len(left) {
		return fmt.Errorf("%d GPUs requested by %d services, but this node has only %d usable ones%s (metax-ctk device list)", wanted+len(named), asking, len(healthy), running)
	}
	if asking < 2 || !scoped {
		return nil
	}
	_, err := picker.Joint(left, counts, false)
	var one *alloc.WantError
	if errors.As(err, &one) {
		return fmt.Errorf("the services cannot all be served: %w", counting[one.Want].wrapError(one.Err))
	}
	return err
}
