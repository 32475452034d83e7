package emptycase

func cases(n int) string {
	switch {
	case n == 1: // it has no name
	case n == 2:
		// It has none either.
	/* want "say in a comment" */ case n == 3:
	case n > 3:
		return "many"
	}
	return ""
}
