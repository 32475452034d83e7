// SPDX-License-Identifier: Apache-2.0

package hierarchy

import "math/bits"

// MaxBuddy is the size of the largest buddy, and of the largest job, that MTF counts.
const MaxBuddy = 8

// Jobs returns the least number of jobs of 8, 4, 2 and 1 GPUs that fill the free GPUs:
// 0 if no GPU is free, 1 for a free node of 8.
func (c *Cluster) Jobs(free func(gpu int) bool) int {
	buddy, jobs, _ := c.countJobs(free)
	return jobs + FewestJobs(buddy)
}

// countJobs returns the size of c if c is a buddy, and 0 otherwise; the number of jobs
// that fill the free GPUs of c, unless c is a buddy; and whether all of c is free.
func (c *Cluster) countJobs(free func(gpu int) bool) (buddy, jobs int, allFree bool) {
	if len(c.Parts) == 0 {
		if len(c.GPUs) == 1 && free(c.GPUs[0]) {
			return 1, 0, true
		}
		return 0, 0, false
	}
	allFree = true
	inBuddies := 0 // GPUs of the parts that are buddies
	for _, part := range c.Parts {
		b, j, all := part.countJobs(free)
		inBuddies, jobs, allFree = inBuddies+b, jobs+j, allFree && all
	}
	if size := len(c.GPUs); allFree && IsBuddy(size) {
		return size, 0, true
	}
	return 0, jobs + FewestJobs(inBuddies), allFree
}

// IsBuddy reports whether a cluster of that size, wholly free, is a buddy.
func IsBuddy(size int) bool { return size <= MaxBuddy && bits.OnesCount(uint(size)) == 1 }

// FewestJobs returns the least number of jobs of 8, 4, 2 and 1 GPUs that have as many
// GPUs together.
func FewestJobs(gpus int) int { return gpus/MaxBuddy + bits.OnesCount(uint(gpus%MaxBuddy)) }
