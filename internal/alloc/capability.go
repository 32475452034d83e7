package alloc

// Capability tells which jobs the free GPUs could serve: for each class of link
// and each size how many disjoint sets they hold at once, the most important
// count first. Sizes greater than their number are left out. An error is an
// *ArgumentError or a *TooLargeError.
func (p *Picker) Capability(free []int) ([]Count, error) {
	q, err := Request{N: 1, Free: free}.check(p.gpus)
	if err != nil {
		return nil, err
	}
	if p.solver() == nil {
		return nil, &TooLargeError{GPUs: p.gpus, Max: MaxGPUs}
	}
	return p.solver().figures(q, q.free).Capability, nil
}
