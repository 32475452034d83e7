// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/lazyregexp"
)

// Version is an engine's version; the zero Version means unknown.
type Version struct{ Major, Minor, Patch int }

// versionPattern matches a version in a program's output. It needs at least one dot, so
// that a year or a build number does not match.
var versionPattern = lazyregexp.New(`(?:^|[^0-9.])v?([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,6}))?`)

// ParseVersion returns the first version in a program's output, such as "Docker version
// 28.5.2, build ecc6942" or "containerd github.com/containerd/containerd 1.7.24"; the
// zero Version if there is none.
func ParseVersion(text string) Version {
	m := versionPattern().FindStringSubmatch(text)
	if m == nil {
		return Version{}
	}
	var v Version
	for i, to := range []*int{&v.Major, &v.Minor, &v.Patch} {
		*to, _ = strconv.Atoi(m[i+1]) // digits or nothing
	}
	return v
}

// Known reports whether the version is known.
func (v Version) Known() bool { return v != Version{} }

// Compare is negative if v is older than w, positive if it is newer.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch))
}

// AtLeast reports whether v is known and not older than major.minor.
func (v Version) AtLeast(major, minor int) bool {
	return v.Known() && v.Compare(Version{Major: major, Minor: minor}) >= 0
}

// Before reports whether v is known and older than major.minor.
func (v Version) Before(major, minor int) bool {
	return v.Known() && v.Compare(Version{Major: major, Minor: minor}) < 0
}

func (v Version) String() string {
	if !v.Known() {
		return "unknown"
	}
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}
