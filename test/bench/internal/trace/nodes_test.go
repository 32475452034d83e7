package trace

import (
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// fewLarge is a mix of the recommended sizes.
var fewLarge = []Portion{{1, 4}, {2, 3}, {4, 2}, {8, 1}}

// simulated is the picker of a node, and the GPUs that it gives. All but one have
// eight:
// "c500-8" is two quads, "c550-8" one mesh, "pairs" has no MetaXLink but two pairs
// under a switch, "hurt" is two quads of which GPU 6 is unhealthy, "lost" is pairs
// of which 6 and 7 were linked by MetaXLink, and 6 is unhealthy, "large" is five
// quads, for which there is no table.
func simulated(t testing.TB, name string) (*alloc.Picker, []int) {
	t.Helper()
	node := gpu.NewNode(name)
	n := 8
	if name == "large" {
		n = 20
	}
	for i := range n {
		node.GPUs = append(node.GPUs, gpu.GPU{Index: i, NUMA: i / 4, Healthy: name != "hurt" && name != "lost" || i != 6})
		for j := range i {
			kind := "SYS"
			switch {
			case name == "lost" && i == 7 && j == 6:
				kind = "MX"
			case (name == "pairs" || name == "lost") && (i == 1 || i == 7 && j == 6):
				kind = "PIX"
			case name == "c550-8", name != "pairs" && name != "lost" && i/4 == j/4:
				kind = "MX"
			}
			node.Links = append(node.Links, gpu.Link{A: j, B: i, Kind: kind})
		}
	}
	graph, warnings := topology.New(node)
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	return alloc.New(graph), node.Healthy()
}

func generated(t testing.TB, s Spec) []Job {
	t.Helper()
	jobs, err := Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}
