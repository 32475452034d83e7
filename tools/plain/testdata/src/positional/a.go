package positional

type point struct{ X, Y, Z, t int }

type pair struct{ a, b int }

func positions() []point {
	_ = pair{1, 2}
	_ = point{X: 1, Y: 2, Z: 3, t: 4}
	_ = []int{1, 2, 3, 4}
	_ = point{1, 2, 3, 4}        // want "name the fields"
	return []point{{1, 2, 3, 4}} // want "name the fields"
}
