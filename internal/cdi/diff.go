// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// The ways in which one spec differs from another.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// Difference is one step from a spec to another.
type Difference struct {
	// Op is Added, Removed or Changed.
	Op string `json:"op"`
	// Device is the CDI device concerned; empty is the spec as a whole.
	Device string `json:"device,omitempty"`
	// Field is the field of the spec, or of the device's edits, as CDI names it:
	// "cdiVersion", "deviceNodes". Empty is the device as such.
	Field string `json:"field,omitempty"`
	// Key distinguishes the entries of Field: the path in the container of a node or
	// mount, the name of a variable, a group, the command line of a hook.
	Key string `json:"key,omitempty"`
	// Have and Want are the entry in the two specs, as JSON.
	Have json.RawMessage `json:"have,omitempty"`
	Want json.RawMessage `json:"want,omitempty"`
}

// String is the difference in one line of printable text that begins with "+", "-" or "~".
func (d Difference) String() string {
	sign := map[string]string{Added: "+ ", Removed: "- ", Changed: "~ "}[d.Op]
	line := sign + d.subject()
	if d.Op == Changed {
		line += fmt.Sprintf(": %s → %s", d.Have, d.Want)
	}
	return terminal.Line(line)
}

// Text is the difference in words, such as "device 2 is missing".
func (d Difference) Text() string {
	return terminal.Line(d.subject() +
		map[string]string{Added: " is missing", Removed: " is obsolete", Changed: " differs"}[d.Op])
}

func (d Difference) subject() string {
	var where []string
	if d.Device != "" {
		where = append(where, "device "+d.Device)
	}
	if d.Field != "" {
		where = append(where, strings.TrimSpace(d.Field+" "+d.Key))
	}
	return strings.Join(where, ": ")
}

// Diff returns the steps that make have equal to want; both are valid specs. The order of
// devices, and of entries with different keys, does not matter.
func Diff(have, want *specs.Spec) []Difference {
	from, to := entries(have), entries(want)
	var list []Difference
	for at, v := range from {
		if _, ok := to[at]; !ok {
			list = append(list, Difference{Op: Removed, Device: at.device, Field: at.field, Key: at.key, Have: v})
		}
	}
	for at, v := range to {
		old, ok := from[at]
		switch {
		case !ok:
			list = append(list, Difference{Op: Added, Device: at.device, Field: at.field, Key: at.key, Want: v})
		case string(old) != string(v):
			list = append(list, Difference{Op: Changed, Device: at.device, Field: at.field, Key: at.key, Have: old, Want: v})
		}
	}
	list = withoutParts(list)
	rank := ranks(want, have)
	slices.SortFunc(list, func(a, b Difference) int {
		return cmp.Or(
			cmp.Compare(rank[a.Device], rank[b.Device]),
			cmp.Compare(a.Field, b.Field), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Op, b.Op))
	})
	return list
}

// withoutParts drops the edits of a device that was itself added or removed.
func withoutParts(list []Difference) []Difference {
	whole := map[string]bool{}
	for _, d := range list {
		whole[d.Device] = whole[d.Device] || (d.Device != "" && d.Field == "")
	}
	return slices.DeleteFunc(list, func(d Difference) bool { return d.Field != "" && whole[d.Device] })
}

// ranks numbers devices in the order of the specs.
func ranks(list ...*specs.Spec) map[string]int {
	rank := map[string]int{"": 0}
	for _, spec := range list {
		for _, d := range spec.Devices {
			if _, ok := rank[d.Name]; !ok {
				rank[d.Name] = len(rank)
			}
		}
	}
	return rank
}

// entryKey is where an entry of a spec stands.
type entryKey struct{ device, field, key string }

// entries returns every entry of every list of a spec by itself, as JSON.
func entries(spec *specs.Spec) map[entryKey]json.RawMessage {
	all := map[entryKey]json.RawMessage{}
	put := func(device, field, key string, v any) {
		at := entryKey{device, field, key}
		for n := 2; ; n++ { // a key that occurs again gets a number
			if _, ok := all[at]; !ok {
				break
			}
			at.key = fmt.Sprintf("%s #%d", key, n)
		}
		all[at] = compact(v)
	}
	put("", "cdiVersion", "", spec.Version)
	put("", "kind", "", spec.Kind)
	for k, v := range spec.Annotations {
		put("", "annotations", k, v)
	}
	for _, d := range spec.Devices {
		put(d.Name, "", "", nil)
		for k, v := range d.Annotations {
			put(d.Name, "annotations", k, v)
		}
	}
	for _, s := range editScopes(spec) {
		for _, v := range s.Env {
			name, _, _ := strings.Cut(v, "=")
			put(s.device, "env", name, v)
		}
		for _, n := range s.DeviceNodes {
			put(s.device, "deviceNodes", n.Path, n)
		}
		for _, n := range s.NetDevices {
			put(s.device, "netDevices", n.HostInterfaceName, n)
		}
		for _, h := range s.Hooks {
			put(s.device, "hooks", strings.Join(append([]string{h.HookName, h.Path}, h.Args...), " "), h)
		}
		for _, m := range s.Mounts {
			put(s.device, "mounts", m.ContainerPath, m)
		}
		for _, gid := range s.AdditionalGIDs {
			put(s.device, "additionalGids", fmt.Sprint(gid), gid)
		}
		if s.IntelRdt != nil {
			put(s.device, "intelRdt", "", s.IntelRdt)
		}
	}
	return all
}

// compact is v as JSON; every part of a spec has that form.
func compact(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	data, _ := json.Marshal(v)
	return data
}
