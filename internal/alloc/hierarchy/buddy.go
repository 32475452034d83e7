package hierarchy

import "math/bits"

// maxBuddy is the greatest job that MTF counts with.
const MaxBuddy = 8

// jobs is the least number of jobs of 8, 4, 2 and 1 GPUs that would fill the free
// GPUs of a hierarchy (Kunlunxin's MTF), where a job takes whole free buddies
// that lie side by side in one domain. A buddy is a GPU, or a domain of 2, 4 or 8
// GPUs. It is 0 if no GPU is free, and 1 for a free node of 8.
func (d *Cluster) Jobs(free func(gpu int) bool) int {
	whole, jobs, _ := d.fill(free)
	return jobs + FewestJobs(whole)
}

// fill returns the size of d if d is a whole free buddy, and 0 otherwise, with
// the number of jobs that fill it then; and whether all of it is free.
func (d *Cluster) fill(free func(gpu int) bool) (whole, jobs int, all bool) {
	if len(d.Parts) == 0 {
		if len(d.GPUs) == 1 && free(d.GPUs[0]) {
			return 1, 0, true
		}
		return 0, 0, false
	}
	all = true
	for _, in := range d.Parts {
		w, j, a := in.fill(free)
		whole, jobs, all = whole+w, jobs+j, all && a
	}
	if size := len(d.GPUs); all && IsBuddy(size) {
		return size, 0, true
	}
	return 0, jobs + FewestJobs(whole), all
}

// buddy reports whether a domain of that size can be a part of a job.
func IsBuddy(size int) bool { return size <= MaxBuddy && bits.OnesCount(uint(size)) == 1 }

// fill is the least number of jobs of 8, 4, 2 and 1 that make so many GPUs.
func FewestJobs(gpus int) int { return gpus/MaxBuddy + bits.OnesCount(uint(gpus%MaxBuddy)) }
