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
		return "not proven the best: the search was not finished"
	}
	return "not proven the best: " + g.By.String() + " " + g.Answer + ", and no set can have better than " + g.Bound
}

// Figures are what the policy compares of a candidate, by the component's name.
func (p Policy) Figures(c Candidate) map[string]any {
	figures := map[string]any{}
	for _, by := range p.key() {
		figures[by.String()] = by.figure(c)
	}
	return figures
}
