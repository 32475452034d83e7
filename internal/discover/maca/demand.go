package maca

import (
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/compat"
)

// highest adds a version, such as "GLIBC_2.34", to a list that keeps the highest
// of each line ("GLIBC"). Names that do not end in a number, such as
// "GLIBC_PRIVATE", make no demand that can be compared.
func highest(versions []string, name string) []string {
	line, number, _ := strings.Cut(name, "_")
	version, err := compat.Parse(number)
	if err != nil || strings.Contains(number, "-") {
		return versions
	}
	for i, v := range versions {
		if l, n, _ := strings.Cut(v, "_"); l == line {
			if known, err := compat.Parse(n); err == nil && version.Compare(known) > 0 {
				versions[i] = name
			}
			return versions
		}
	}
	return append(versions, name)
}
