package alloc

// PickMask is the search alone, for tests and benchmarks: bit i stands for GPU i,
// scope and size are free, and nothing is allocated once the first pick by the
// policy has built the tables. ok is false if there is no such set, required is
// not within free, free names a GPU that is not there, or the node has more than
// 16 GPUs.
func (p *Picker) PickMask(policy Policy, free, required uint32, n int) (gpus uint32, ok bool) {
	if p.table == nil || free>>p.gpus != 0 || required&^free != 0 {
		return 0, false
	}
	s := p.table.load().best(query{policy: policy, free: set(free), required: set(required), n: n})
	return uint32(s), s != 0
}
