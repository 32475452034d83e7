package alloc

// span is what is known of a number: it is at least low and at most high.
type span struct{ low, high int }

// counter counts disjoint sets that fit a class, for one question. What it has
// found out about one set often answers for another: a set that holds the same
// rings holds as many, and a part of a set holds no more.
type counter struct {
	f       *fabric
	matcher *matcher
	work    int // steps that may be spent
	each    int // on a single count
	nets    []*net
	memo    []memo // by class and size
}

// memo is the last findings about a class and a size.
type memo struct {
	full [16]finding // these GPUs make so many sets
	poor [16]finding // in these, no more can be found
	nf   int
	np   int
	// rings are those of the last count that has found any in a piece too large for
	// a net: most of them are there in the next set as well
	rings [][]int
}

type finding struct {
	x     vertices
	count int
}

const maxSizeBits = 13 // sizes up to MaxGPUs

func newCounter(f *fabric, work int) *counter {
	c := &counter{matcher: newMatcher(f.gpus), f: f, work: work, each: work / 4, memo: make([]memo, len(f.kinds)*maxSizeBits)}
	if f.words == 1 {
		for _, pairs := range f.joined {
			n := &net{work: &c.work}
			copy(n.links[:], pairs.bits)
			c.nets = append(c.nets, n)
		}
	}
	return c
}

// count is how many disjoint sets of that size, a power of two greater than 1,
// that fit the class are in x; more than enough are not asked for.
func (c *counter) count(x vertices, class, size, enough int) span {
	s := span{0, min(x.len()/size, enough)}
	c.work -= 5 + 2*c.f.words
	m := &c.memo[class*maxSizeBits+power(size)]
	for i := range min(m.nf, len(m.full)) {
		if f := &m.full[i]; f.count > s.low && f.x.within(x) {
			s.low = min(f.count, s.high)
		}
	}
	for i := range min(m.np, len(m.poor)) {
		if p := &m.poor[i]; p.count < s.high && x.within(p.x) {
			s.high = max(s.low, p.count)
		}
	}
	if s.low == s.high || c.work <= 0 {
		return s
	}
	top := s.high
	found, taken := c.search(m, x, class, size, s.high)
	s.low, s.high = max(s.low, found.low), min(s.high, found.high)
	s.low = min(s.low, s.high)
	if found.low > 0 {
		m.full[m.nf%len(m.full)] = finding{taken, found.low}
		m.nf++
	}
	if s.high < top {
		m.poor[m.np%len(m.poor)] = finding{append(vertices(nil), x...), s.high}
		m.np++
	}
	return s
}

// search counts anew, up to enough; taken are the GPUs of the sets found.
func (c *counter) search(m *memo, x vertices, class, size, enough int) (s span, taken vertices) {
	pairs := c.f.joined[class]
	if size == 2 {
		return c.pairUp(pairs, x)
	}
	if c.f.words == 1 {
		s, mask := c.limited(c.nets[class], x[0], size, enough)
		return s, vertices{mask}
	}
	taken = newVertices(c.f.words)
	left := append(vertices(nil), x...)
	for v := left.first(); v >= 0; v = left.first() {
		piece := pairs.reach(v, left, len(left)*64)
		left.less(left, piece)
		n := piece.len()
		c.work -= n * c.f.words
		if n < size {
			continue
		}
		found, t := c.inPiece(m, pairs, piece, n, size)
		s.low, s.high = s.low+found.low, s.high+found.high
		taken.join(taken, t)
	}
	return s, taken
}

// limited counts in a net.
func (c *counter) limited(n *net, x uint64, size, enough int) (span, uint64) {
	own := min(c.work, c.each)
	before := own
	n.work = &own
	s, taken := n.count(x, size, enough)
	c.work -= before - own
	n.work = &c.work
	return s, taken
}

func (c *counter) inPiece(m *memo, pairs relation, piece vertices, n, size int) (span, vertices) {
	f := ringFinder{pairs, &c.work}
	if n > maxNet {
		var taken vertices
		m.rings, taken = f.gather(m.rings, piece, size)
		return span{taken.len() / size, n / size}, taken
	}
	gpus := piece.list()
	c.work -= n * n
	s, mask := c.limited(f.net(gpus), uint64(1)<<n-1, size, n/size)
	taken := newVertices(len(piece))
	for i, g := range gpus {
		if mask>>i&1 == 1 {
			taken.add(g)
		}
	}
	return s, taken
}

// pairUp is search for pairs, which is never in doubt.
func (c *counter) pairUp(pairs relation, x vertices) (span, vertices) {
	n := x.len()
	count, trees, taken := c.matcher.match(pairs, x)
	c.work -= 10 + n*(2+c.f.words)*(1+trees)
	return span{count, count}, taken
}

// spans is whether a ring of links of the class, or a single link, joins exactly
// the GPUs of x.
func (c *counter) spans(x vertices, class int) verdict {
	pairs := c.f.joined[class]
	n := x.len()
	switch {
	case n < 2 || class == len(c.f.kinds)-1:
		return yes
	case c.f.words == 1:
		return c.nets[class].spans(x[0])
	case n <= maxNet:
		return ringFinder{pairs, &c.work}.net(x.list()).spans(uint64(1)<<n - 1)
	}
	least := n
	for i := range x.each {
		least = min(least, pairs.of(i).common(x))
	}
	c.work -= n * c.f.words / 2
	switch {
	case least < 2:
		return no
	case 2*least >= n: // Dirac's theorem
		return yes
	case pairs.reach(x.first(), x, n).len() < n:
		return no
	case len(ringFinder{pairs, &c.work}.long(x.first(), x, n)) == n:
		return yes
	}
	return perhaps
}
