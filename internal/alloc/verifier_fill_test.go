package alloc

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// family is a set of GPUs with the families into which it splits when its worst links are
// removed: by class, and among links of one class by how near the GPUs sit.
type family struct {
	gpus []int
	into []*family // empty for a single GPU
}

// descend finds the families within GPUs that paths join.
func (j *judge) descend(gpus []int) *family {
	f := &family{gpus: gpus}
	if len(gpus) < 2 {
		return f
	}
	rank := func(a, b int) int { return 16*int(alloctest.ClassOf(j.g, a, b)) + int(alloctest.PlaceOf(j.g, a, b)) }
	var ranks []int
	for i, a := range gpus {
		for _, b := range gpus[:i] {
			ranks = append(ranks, rank(a, b))
		}
	}
	slices.Sort(ranks)
	for _, worst := range slices.Compact(ranks) {
		parts := joined(gpus, func(a, b int) bool { return rank(a, b) > worst })
		if len(parts) == 1 {
			continue
		}
		for _, part := range parts {
			f.into = append(f.into, j.descend(part))
		}
		return f
	}
	return f
}

// joined are the sets of GPUs that paths join.
func joined(gpus []int, linked func(a, b int) bool) (parts [][]int) {
	left := slices.Clone(gpus)
	for len(left) > 0 {
		part := []int{left[0]}
		left = left[1:]
		for at := 0; at < len(part); at++ {
			left = slices.DeleteFunc(left, func(g int) bool {
				if linked(part[at], g) {
					part = append(part, g)
					return true
				}
				return false
			})
		}
		parts = append(parts, part)
	}
	return parts
}

// jobs is the measure MTF: how many jobs of 8, 4, 2 and 1 fill the free GPUs. A
// job takes families of 1, 2, 4 or 8 that are wholly free, side by side; those
// within such a family are not looked at.
func (f *family) jobs(free []int) int {
	is := map[int]bool{}
	for _, g := range free {
		is[g] = true
	}
	var visit func(f *family) (whole, jobs int)
	visit = func(f *family) (whole, jobs int) {
		members := len(f.gpus)
		busy := slices.ContainsFunc(f.gpus, func(g int) bool { return !is[g] })
		if !busy && slices.Contains([]int{1, 2, 4, 8}, members) {
			return members, 0
		}
		for _, in := range f.into {
			w, n := visit(in)
			whole, jobs = whole+w, jobs+n
		}
		return 0, jobs + inJobs(whole)
	}
	whole, jobs := visit(f)
	return jobs + inJobs(whole)
}

// inJobs takes the greatest job that has room, again and again.
func inJobs(gpus int) (jobs int) {
	for _, job := range []int{8, 4, 2, 1} {
		jobs += gpus / job
		gpus %= job
	}
	return jobs
}
