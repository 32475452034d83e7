package switchinit

type pair struct{ a, b int }

func inits(p pair) {
	switch a := p.a; { // want "in front of the switch"
	case a > 1:
	}
	switch b := p.b; b {
	case 1:
	}
	switch b := p.a; { // want "in front of the switch"
	case b > 1:
	}
}
