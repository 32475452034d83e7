package maca

import (
	"cmp"
	"slices"
	"strings"
)

// highest adds a version, such as "GLIBC_2.34", to a list that keeps the highest
// of each line ("GLIBC"). Names that do not end in a number, such as
// "GLIBC_PRIVATE", make no demand that can be compared.
func highest(versions []string, name string) []string {
	line, number, ok := strings.Cut(name, "_")
	if !ok || !isNumber(number) {
		return versions
	}
	for i, v := range versions {
		if l, n, _ := strings.Cut(v, "_"); l == line {
			if compareNumbers(number, n) > 0 {
				versions[i] = name
			}
			return versions
		}
	}
	return append(versions, name)
}

// isNumber recognises numbers between dots.
func isNumber(s string) bool {
	for word := range strings.SplitSeq(s, ".") {
		if word == "" || len(word) > 18 || strings.Trim(word, "0123456789") != "" {
			return false
		}
	}
	return true
}

// compareNumbers compares "3.4.9" to "3.4.30" number by number.
func compareNumbers(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
	})
}
