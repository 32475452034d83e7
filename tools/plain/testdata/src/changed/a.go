package changed

type pair struct{ a, b int }

func changes(p *pair, ok bool) {
	if p.a = 1; ok { // want "something else is tested"
		return
	}
	if p.a++; p.a > 1 {
		return
	}
	if x := p.a; ok && x > 1 {
		return
	} else if p.b--; ok { // want "something else is tested"
		return
	}
}
