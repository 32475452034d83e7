package rival

// bestEffortWork is how many steps NVIDIA's best-effort policy takes for k of so many free
// GPUs: one for each pair in each way to partition the GPUs, whose scores it adds up, and three
// for each set that it writes down on the way, by their time. The links do not matter.
//
// It fills up the GPUs to a multiple of k; a set has all of the filling or none of it.
func bestEffortWork(free, k int) float64 {
	if k == 1 {
		return float64(free)
	}
	filling := (k - free%k) % k
	sets, ways := partitions(free, k, filling)
	parts := (free + filling) / k
	return 3*sets + ways*float64(parts*k*(k-1)/2)
}

// partitions counts the sets that are written down on the way, and the partitions.
func partitions(gpus, k, filling int) (sets, ways float64) {
	if gpus+filling == k {
		return 0, 1
	}
	sets = choose(gpus+filling-1, k-1)
	// The first of the GPUs that are left is in the next set, so k-1 more are chosen.
	branch := func(times float64, gpus, filling int) {
		if times > 0 {
			s, w := partitions(gpus, k, filling)
			sets, ways = sets+times*s, ways+times*w
		}
	}
	branch(choose(gpus-1, k-1), gpus-k, filling)
	if filling > 0 {
		branch(choose(gpus-1, k-1-filling), gpus-k+filling, 0)
	}
	return sets, ways
}

// choose is the number of sets of k out of n; 0 if there is none.
func choose(n, k int) float64 {
	if k < 0 || k > n {
		return 0
	}
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return c
}
