package alloc

// matcher finds a greatest matching, by Edmonds' algorithm: as long as there is
// a path between two GPUs without partner on which links out of and in the
// matching alternate, the two sorts change places. On the way, rings of odd
// length shrink to one GPU, their base.
type matcher struct {
	pairs   relation
	x, left vertices
	partner []int // by GPU; -1 is none
	before  []int // by GPU at an odd place of the tree: the one that it was reached from
	base    []int
	even    []bool
	inside  []bool // the odd ring that is found
	passed  []bool // on the way to the root
	queue   []int
}

func newMatcher(gpus int) *matcher {
	return &matcher{
		partner: make([]int, gpus), before: make([]int, gpus), base: make([]int, gpus),
		even: make([]bool, gpus), inside: make([]bool, gpus), passed: make([]bool, gpus),
	}
}

// match finds a greatest matching of x: how many pairs it has, and the GPUs in
// them. The work is counted by how many trees are grown.
func (m *matcher) match(pairs relation, x vertices) (count, trees int, paired vertices) {
	m.pairs, m.x = pairs, x
	for i := range x.each {
		m.partner[i] = -1
	}
	count = m.greedy()
	n := x.len()
	for i := range x.each {
		if m.partner[i] >= 0 {
			continue
		}
		// GPUs from which no path leads anywhere stay single
		if n--; n-2*count < 1 {
			break
		}
		trees++
		if end := m.grow(i); end >= 0 {
			m.swap(end)
			count++
			n++
		}
	}
	paired = newVertices(pairs.words)
	for i := range x.each {
		if m.partner[i] >= 0 {
			paired.add(i)
		}
	}
	return count, trees, paired
}

// greedy pairs each GPU with that of its neighbours that has the fewest others.
func (m *matcher) greedy() (count int) {
	left := append(m.left[:0], m.x...)
	m.left = left
	for i := range m.x.each {
		if m.partner[i] >= 0 {
			continue
		}
		best, fewest := -1, 0
		for w, neighbours := range m.pairs.of(i) {
			one := vertices{neighbours & left[w]}
			for j := range one.each {
				j += w << 6
				if d := m.pairs.of(j).common(left); best < 0 || d < fewest {
					best, fewest = j, d
				}
			}
		}
		if best >= 0 {
			m.partner[i], m.partner[best] = best, i
			left.drop(i)
			left.drop(best)
			count++
		}
	}
	return count
}

// grow grows the tree of alternating paths from a single GPU, and returns another
// single one at the end of a path, -1 if there is none.
func (m *matcher) grow(root int) int {
	for i := range m.x.each {
		m.base[i], m.before[i], m.even[i] = i, -1, false
	}
	m.even[root] = true
	m.queue = append(m.queue[:0], root)
	for at := 0; at < len(m.queue); at++ {
		v := m.queue[at]
		for w, neighbours := range m.pairs.of(v) {
			one := vertices{neighbours & m.x[w]}
			for u := range one.each {
				u += w << 6
				switch {
				case m.base[u] == m.base[v] || m.partner[v] == u:
				case u == root || m.partner[u] >= 0 && m.before[m.partner[u]] >= 0:
					m.shrink(v, u, root)
				case m.before[u] < 0:
					m.before[u] = v
					if m.partner[u] < 0 {
						return u
					}
					m.even[m.partner[u]] = true
					m.queue = append(m.queue, m.partner[u])
				}
			}
		}
	}
	return -1
}

// shrink makes one GPU of the odd ring that the link of v and u closes.
func (m *matcher) shrink(v, u, root int) {
	base := m.meet(v, u, root)
	clear(m.inside)
	m.mark(v, base, u)
	m.mark(u, base, v)
	for i := range m.x.each {
		if m.inside[m.base[i]] {
			m.base[i] = base
			if !m.even[i] {
				m.even[i] = true
				m.queue = append(m.queue, i)
			}
		}
	}
}

// meet is where the paths from v and from u to the root meet first.
func (m *matcher) meet(v, u, root int) int {
	clear(m.passed)
	for {
		v = m.base[v]
		m.passed[v] = true
		if v == root || m.partner[v] < 0 {
			break
		}
		v = m.before[m.partner[v]]
	}
	for u = m.base[u]; !m.passed[u]; u = m.base[m.before[m.partner[u]]] {
	}
	return u
}

// mark notes the bases of the path from v down to base, and the way back up it.
func (m *matcher) mark(v, base, child int) {
	for m.base[v] != base {
		m.inside[m.base[v]], m.inside[m.base[m.partner[v]]] = true, true
		m.before[v] = child
		child = m.partner[v]
		v = m.before[m.partner[v]]
	}
}

// swap exchanges the links in and out of the matching along the path that ends
// at v.
func (m *matcher) swap(v int) {
	for v >= 0 {
		from := m.before[v]
		next := m.partner[from]
		m.partner[v], m.partner[from] = from, v
		v = next
	}
}
