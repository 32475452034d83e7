package trace

import (
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
)

// BenchmarkCompare runs 10,000 jobs on eight GPUs by one policy.
func BenchmarkCompare(b *testing.B) {
	for _, node := range []string{"c500-8", "c550-8"} {
		b.Run(node, func(b *testing.B) {
			picker, gpus := simulated(b, node)
			jobs := generated(b, Spec{Jobs: 10_000, GPUs: 8, Load: 0.7, Mix: fewLarge, MeanDuration: Hour, Seed: 1})
			for b.Loop() {
				if _, err := Compare(picker, []key.Policy{key.Spread}, gpus, jobs, Options{Timeline: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
