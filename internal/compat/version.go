// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits of a version. The vendor's have three or four components, and suffixes such as
// "-c600u".
const (
	maxText       = 64
	maxComponents = 8
)

// ErrVersion reports a text that is not a version.
var ErrVersion = errors.New("not a version")

// Version is a version of MXMACA or of the driver. The zero Version is invalid.
type Version struct{ components []uint64 }

// Parse parses "3.8.0.3-c600u": components separated by dots, and after the first "-" a
// suffix that is ignored in comparisons. It fails with ErrVersion.
func Parse(text string) (Version, error) {
	bad := func(why string) error {
		return fmt.Errorf("%w: %.80q %s", ErrVersion, text, why)
	}
	if len(text) > maxText {
		return Version{}, bad("is too long")
	}
	numbers, suffix, _ := strings.Cut(text, "-")
	if strings.ContainsFunc(suffix, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Version{}, bad("has a suffix with invalid characters")
	}
	var v Version
	for word := range strings.SplitSeq(numbers, ".") {
		if len(v.components) == maxComponents {
			return Version{}, bad("has too many components")
		}
		n, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return Version{}, bad("has a component that is not a number")
		}
		v.components = append(v.components, n)
	}
	return v, nil
}

// Compare compares versions by their components as numbers: 3.10 is greater than 3.9,
// and 3.4 equals 3.4.0. Suffixes are ignored.
func (v Version) Compare(other Version) int {
	for i := range max(len(v.components), len(other.components)) {
		if c := cmp.Compare(v.component(i), other.component(i)); c != 0 {
			return c
		}
	}
	return 0
}

func (v Version) component(i int) uint64 {
	if i < len(v.components) {
		return v.components[i]
	}
	return 0
}

// Begins reports whether v begins with all components of the prefix: 3.7.1 begins with
// 3 and 3.7, and 3.71 only with 3.
func (v Version) Begins(prefix Version) bool {
	return len(prefix.components) > 0 && len(v.components) >= len(prefix.components) &&
		slices.Equal(v.components[:len(prefix.components)], prefix.components)
}

// FromFile returns the version in the text of a Version.txt: the text after the last
// colon of the first line. For "Version:3.8.0.3-c600u" it is "3.8.0.3-c600u".
func FromFile(text string) (string, error) {
	line, _, _ := strings.Cut(text, "\n")
	version := strings.TrimSpace(line[strings.LastIndexByte(line, ':')+1:])
	if !IsWord(version) {
		return "", fmt.Errorf("begins with the line %.80q; want Version:<version>", line)
	}
	return version, nil
}

// IsWord reports whether a text may be a version of any form: printable ASCII without
// blanks, not empty and not long.
func IsWord(text string) bool {
	return text != "" && len(text) <= maxText &&
		!strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}
