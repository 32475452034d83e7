// SPDX-License-Identifier: Apache-2.0

package mxmaca

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/compat"
)

// The cleanup policies.
const (
	Never       = "Never"
	ByVersion   = "OlderVersionFirst"
	ByTimestamp = "OlderTimestampFirst"
)

// Policy is which versions are removed: the oldest of those that nobody uses, until the
// threshold is not exceeded.
type Policy struct {
	Order     string // one of the policies
	Threshold int    // versions that may be there
}

// Check fails for a policy that there is not.
func (p Policy) Check() error {
	if !slices.Contains([]string{Never, ByVersion, ByTimestamp}, p.Order) {
		return fmt.Errorf("%q is not a cleanup policy; want %s, %s or %s", p.Order, Never, ByVersion, ByTimestamp)
	}
	if p.Threshold < 1 {
		return fmt.Errorf("the threshold %d is not a number of versions: want 1 or more", p.Threshold)
	}
	return nil
}

// Version is an installed version.
type Version struct {
	Name string
	At   time.Time // of the installation
	// Kept is a version that is configured or in use.
	Kept bool
}

// Expired returns the versions to remove, in that order.
func (p Policy) Expired(all []Version) (names []string) {
	if p.Order == Never {
		return nil
	}
	older := func(a, b Version) int { return compareVersions(a.Name, b.Name) }
	if p.Order == ByTimestamp {
		older = func(a, b Version) int { return cmp.Or(a.At.Compare(b.At), compareVersions(a.Name, b.Name)) }
	}
	for _, v := range slices.SortedFunc(slices.Values(all), older) {
		if !v.Kept && len(all)-len(names) > p.Threshold {
			names = append(names, v.Name)
		}
	}
	return names
}

// compareVersions compares by number; what is not one, by text.
func compareVersions(a, b string) int {
	x, err1 := compat.Parse(a)
	y, err2 := compat.Parse(b)
	if err1 != nil || err2 != nil {
		return cmp.Compare(a, b)
	}
	return cmp.Or(x.Compare(y), cmp.Compare(a, b))
}
