// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// Privileged reports whether the container may open every device of the host, as with
// the engines' --privileged: CAP_SYS_ADMIN in the bounding set, and a device cgroup
// that allows everything. Only one of the two, for instance by --cap-add, is not
// sufficient.
func (c *Config) Privileged() bool {
	admin := false
	for name := range c.valueAt("process", "capabilities", "bounding").Elements() {
		admin = admin || name.Is("CAP_SYS_ADMIN")
	}
	open := false
	for v := range c.valueAt("linux", "resources", "devices").Elements() {
		r := readRule(v)
		switch {
		case !r.allow:
			open = false
		case r.everything():
			open = true
		}
	}
	return admin && open
}

// rule is an entry of linux.resources.devices.
type rule struct {
	allow        bool
	typ, access  string
	major, minor int64
	numbers      uint8 // bits: 1 if major is present, 2 if minor is present
}

func readRule(v jsontree.Value) rule {
	r := rule{allow: v.At("allow").True(), typ: v.At("type").Text(), access: v.At("access").Text()}
	var ok bool
	if r.major, ok = v.At("major").Int(); ok {
		r.numbers |= 1
	}
	if r.minor, ok = v.At("minor").Int(); ok {
		r.numbers |= 2
	}
	return r
}

// everything reports whether the rule is about all devices and all access; -1 is any
// number.
func (r rule) everything() bool {
	return (r.typ == "" || r.typ == "a") &&
		(r.numbers&1 == 0 || r.major == -1) && (r.numbers&2 == 0 || r.minor == -1) &&
		strings.Contains(r.access, "r") && strings.Contains(r.access, "w") && strings.Contains(r.access, "m")
}
