package assign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// After returns which GPUs are free after some events, ascending, if those in free are now. An
// event is fail=IDS, free=IDS or end=CONTAINER, by its name or the beginning of its ID; without
// known holders, end is an error. All errors are about events.
func After(node gpu.Node, free []int, events []string, holders []usage.Holder, known bool) ([]int, error) {
	then := slices.Clone(free)
	var failed []int
	for _, event := range events {
		what, of, _ := strings.Cut(event, "=")
		var gpus []int
		var err error
		switch what {
		case "fail", "free":
			gpus, err = Indices(node, "--what-if "+what, of)
		case "end":
			if !known {
				return nil, fmt.Errorf("--what-if %s: it needs the GPUs in use, which --free ignores", event)
			}
			gpus, err = ends(node, of, holders)
		default:
			return nil, fmt.Errorf("--what-if %q: want fail=IDS, end=CONTAINER or free=IDS", event)
		}
		if err != nil {
			return nil, err
		}
		if len(gpus) == 0 {
			return nil, fmt.Errorf("--what-if %q names no GPU", event)
		}
		if what == "fail" {
			failed = append(failed, gpus...)
			continue
		}
		for _, g := range gpus {
			if !node.GPUs[g].Healthy {
				return nil, fmt.Errorf("--what-if %s: GPU %d is unhealthy: it cannot be picked (metax-ctk device list)", event, g)
			}
			if _, divided := node.GPUs[g].Divided(); !divided && !slices.Contains(then, g) {
				then = append(then, g)
			}
		}
	}
	then = Without(then, failed)
	slices.Sort(then)
	return then, nil
}

// ends are the GPUs that are no longer in use once the container has ended.
func ends(node gpu.Node, name string, holders []usage.Holder) ([]int, error) {
	var others, ending []usage.Holder
	for _, h := range holders {
		if h.Container != nil && name != "" && (h.Container.Name == name || strings.HasPrefix(h.Container.ID, name)) {
			ending = append(ending, h)
		} else {
			others = append(others, h)
		}
	}
	if len(ending) == 0 {
		return nil, fmt.Errorf("--what-if end=%q: no container of that name or ID uses a GPU (metax-ctk ps)", name)
	}
	return Without(Held(node, ending), Held(node, others)), nil
}
