package alloc

// ringFinder looks for disjoint rings in a graph of any size without a claim to find
// them all.
type ringFinder struct {
	pairs relation
	work  *int
}

// maxNet is the greatest graph that a net takes.
const maxNet = 64

// gather takes as many disjoint rings of that size, which is more than 2, out of
// x as it finds, first those of some known that are there; taken is what they
// consist of. Known rings that have nothing of x are passed on.
func (f ringFinder) gather(known [][]int, x vertices, size int) (rings [][]int, taken vertices) {
	left := append(vertices(nil), x...)
	taken = newVertices(f.pairs.words)
	take := func(ring []int) {
		rings = append(rings, ring)
		for _, g := range ring {
			taken.add(g)
			left.drop(g)
		}
	}
	var elsewhere [][]int
	for _, ring := range known {
		there := 0
		for _, g := range ring {
			if left.has(g) {
				there++
			}
		}
		*f.work -= size / 2
		if there == size {
			take(ring)
		} else if there == 0 {
			elsewhere = append(elsewhere, ring)
		}
	}
	n := left.len()
	for v := left.first(); v >= 0 && n >= size && *f.work > 0; v = left.first() {
		ring := f.ring(v, left, size)
		left.drop(v)
		n--
		if len(ring) > 0 {
			take(ring)
			n -= size - 1
		}
	}
	return append(rings, elsewhere...), taken
}

// ring is one of that size through v, of members of x; nil if none is found.
func (f ringFinder) ring(v int, x vertices, size int) []int {
	if size > maxNet/2 {
		return f.long(v, x, size)
	}
	ball := f.ball(v, x)
	n := f.net(ball)
	own := min(*f.work, size*2000)
	n.work = &own
	before := own
	var found []int
	n.rings(0, uint64(1)<<len(ball)-1, size, func(set uint64) bool {
		for i, g := range ball {
			if set>>i&1 == 1 {
				found = append(found, g)
			}
		}
		return false
	})
	*f.work -= before - own + len(ball)*len(ball)
	return found
}

// ball is v and the members of x nearest to it, maxNet together.
func (f ringFinder) ball(v int, x vertices) []int {
	ball := []int{v}
	seen := newVertices(f.pairs.words, v)
	for at := 0; at < len(ball); at++ {
		for word, near := range f.pairs.of(ball[at]) {
			one := vertices{near & x[word] &^ seen[word]}
			for u := range one.each {
				if len(ball) == maxNet {
					return ball
				}
				u += word << 6
				seen.add(u)
				ball = append(ball, u)
			}
		}
	}
	return ball
}

// net is the graph of some GPUs, which are at most maxNet.
func (f ringFinder) net(gpus []int) *net {
	n := &net{work: f.work}
	for i, g := range gpus {
		row := f.pairs.of(g)
		for j, o := range gpus {
			if row.has(o) {
				n.links[i] |= 1 << j
			}
		}
	}
	return n
}

// long grows a path from v, turning its end round where it cannot go on, until it
// is long enough and closes.
func (f ringFinder) long(v int, x vertices, size int) []int {
	path := []int{v}
	left := append(vertices(nil), x...)
	left.drop(v)
	for turns := 0; *f.work > 0; {
		*f.work -= f.pairs.words
		end := f.pairs.of(path[len(path)-1])
		if len(path) == size {
			if end.has(path[0]) {
				return path
			}
		} else if next := firstCommon(end, left); next >= 0 {
			path = append(path, next)
			left.drop(next)
			continue
		}
		if turns++; turns > 2*size || !f.turn(path, end, turns) {
			return nil
		}
	}
	return nil
}

// turn makes another vertex the end of the path: a link from the end back to one
// inside lets all after that one be passed the other way round. Which link it
// is depends on the number of turns before.
func (f ringFinder) turn(path []int, end vertices, turns int) bool {
	n := len(path)
	for i := range n - 2 {
		at := (turns*7919 + i) % (n - 2)
		if !end.has(path[at]) {
			continue
		}
		*f.work -= i + n - at
		for a, b := at+1, n-1; a < b; a, b = a+1, b-1 {
			path[a], path[b] = path[b], path[a]
		}
		return true
	}
	return false
}

func firstCommon(a, b vertices) int {
	for i, w := range a {
		if w &= b[i]; w != 0 {
			return vertices{w}.first() + i<<6
		}
	}
	return -1
}
