package usage

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Sorted returns the BDFs ascending and each once. It may reuse its argument.
func Sorted(bdfs []gpu.BDF) []gpu.BDF {
	slices.SortFunc(bdfs, gpu.BDF.Compare)
	return slices.Compact(bdfs)
}

// Overlap reports whether two lists of GPUs have one in common.
func Overlap(a, b []gpu.BDF) bool {
	return slices.ContainsFunc(a, func(x gpu.BDF) bool { return slices.Contains(b, x) })
}
