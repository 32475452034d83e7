package alloc

// gap says where an answer stays below what no set exceeds.
func (p Policy) gap(a, bound Candidate) *Gap {
	for _, c := range p.key() {
		if by := c.compare(a, bound); by < 0 && !p.opposite() || by > 0 && p.opposite() {
			return &Gap{By: c, Answer: c.cell(a), Bound: c.cell(bound)}
		}
	}
	return &Gap{By: ByOrder}
}

// String says it in a few words.
func (g *Gap) String() string {
	if g.By == ByOrder {
		return "the search was not finished: an equally good set may come first"
	}
	return "the search was not finished: " + g.By.String() + " " + g.Answer + ", and none can have better than " + g.Bound
}
