package mixed

func parentheses(a, b, c bool) bool {
	return a || (b && c) || a && b // want "inside"
}
