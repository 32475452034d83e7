// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// Strategy is a way to choose the Form.
type Strategy string

// The strategies.
const (
	Auto        Strategy = "auto"
	CDI         Strategy = "cdi"
	DeviceSpecs Strategy = "device-specs"
)

// ParseStrategy reads the name of a strategy.
func ParseStrategy(s string) (Strategy, error) {
	switch v := Strategy(s); v {
	case Auto, CDI, DeviceSpecs:
		return v, nil
	}
	return "", fmt.Errorf("device list strategy %q is not known; want %s, %s or %s", s, Auto, CDI, DeviceSpecs)
}

// UsesCDI reports whether containers are given CDI names on a node with these versions, as
// nodeInfo of its Node object states them: "v1.34.4" and "containerd://2.1.9". Auto gives
// names where the kubelet hands them on (1.29 or later) and the engine resolves them as
// installed (containerd 2 or later, CRI-O); containerd 1.7 ignores them without a word.
// Unknown versions do not count as new.
func (s Strategy) UsesCDI(kubelet, engine string) bool {
	if s != Auto {
		return s == CDI
	}
	name, release, _ := strings.Cut(engine, "://")
	return atLeast(kubelet, "1.29.0") && (name == "cri-o" || (name == "containerd" && atLeast(release, "2.0.0")))
}

// atLeast reports whether a release is known and not older than another. A release candidate
// of that one counts as it: it has the same features.
func atLeast(release, least string) bool {
	v, err := version.ParseGeneric(release)
	return err == nil && v.AtLeast(version.MustParseGeneric(least))
}
