package alloc

// relation says which GPUs are related to which: one set for each of them. It is
// symmetric, and nothing is related to itself.
type relation struct {
	words int
	bits  []uint64
}

func newRelation(gpus int) relation {
	words := (gpus + 63) / 64
	return relation{words, make([]uint64, gpus*words)}
}

// of is the set of those related to GPU i.
func (r relation) of(i int) vertices { return r.bits[i*r.words : (i+1)*r.words] }

func (r relation) relate(i, j int) {
	r.of(i).add(j)
	r.of(j).add(i)
}

// reach is which members of x there is a path to from one of them, in at most so
// many steps within x.
func (r relation) reach(from int, x vertices, steps int) vertices {
	seen, edge := newVertices(r.words, from), newVertices(r.words, from)
	next := newVertices(r.words)
	for found := true; found && steps > 0; steps-- {
		clear(next)
		for i := range edge.each {
			next.join(next, r.of(i))
		}
		found = false
		for i := range next {
			next[i] &= x[i] &^ seen[i]
			seen[i] |= next[i]
			found = found || next[i] != 0
		}
		edge, next = next, edge
	}
	return seen
}
