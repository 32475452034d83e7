// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/request"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// bundle is the part of an OCI bundle's config.json that says which devices the container
// has or requests.
type bundle struct {
	Annotations map[string]string `json:"annotations"`
	Mounts      []Mount           `json:"mounts"` // by any case of its names
	Hooks       map[string][]hook `json:"hooks"`  // by stage
	Linux       *struct {
		Devices []struct {
			Path  string `json:"path"` // in the container
			Type  string `json:"type"`
			Major int64  `json:"major"`
			Minor int64  `json:"minor"`
		} `json:"devices"`
		Resources *struct {
			Devices []rule `json:"devices"`
		} `json:"resources"`
	} `json:"linux"`
}

// hook is a program that the runtime runs for the container.
type hook struct {
	Path string   `json:"path"`
	Args []string `json:"args"`
}

// injects reports whether the hook is metax-hook that injects GPUs when the container
// starts. The hooks of a CDI spec are metax-hook with other actions. What metax-hook
// injected before the bundle was made is in the bundle.
func (h hook) injects() bool {
	return filepath.Base(h.Path) == "metax-hook" && slices.Contains(h.Args, "prestart")
}

// injectedByHook reports whether a hook injects what the container requests.
func (b *bundle) injectedByHook() bool {
	for _, stage := range b.Hooks {
		if slices.ContainsFunc(stage, hook.injects) {
			return true
		}
	}
	return false
}

// unservedAnnotations returns the annotations that count for a container which neither the
// shim nor a hook serves. Kubernetes' engines serve CDI names themselves; what they injected
// into a privileged container is not among its devices.
func (b *bundle) unservedAnnotations() map[string]string {
	kept := map[string]string{}
	for key, value := range b.Annotations {
		if key == usage.SlicesLabel || (b.privileged() && strings.HasPrefix(key, request.CDIAnnotations)) {
			kept[key] = value
		}
	}
	return kept
}

// rule is a rule of the device cgroup.
type rule struct {
	Allow  bool   `json:"allow"`
	Type   string `json:"type"`
	Major  *int64 `json:"major"`
	Minor  *int64 `json:"minor"`
	Access string `json:"access"`
}

// allowsAll reports whether the rule opens all devices.
func (r rule) allowsAll() bool {
	return r.Allow && (r.Type == "" || r.Type == "a") && r.Major == nil && r.Minor == nil &&
		strings.Contains(r.Access, "rw")
}

// privileged reports whether the container has the devices of the whole host.
func (b *bundle) privileged() bool {
	return b.Linux != nil && b.Linux.Resources != nil && slices.ContainsFunc(b.Linux.Resources.Devices, rule.allowsAll)
}

// Bundle returns the facts in the text of a bundle's config.json: the GPUs, and the lease
// of an annotation. What the container requests counts if a hook of the bundle injects it,
// or if shim is true: its runtime may be the shim. A privileged container has the devices
// of the whole host; only those count that it requests by name, as its processes show what
// else it uses.
func (d Devices) Bundle(config []byte, shim bool) (usage.Facts, error) {
	var b bundle
	if err := json.Unmarshal(config, &b); err != nil {
		return usage.Facts{}, fmt.Errorf("read OCI bundle configuration: %w", err)
	}
	facts := usage.Facts{Lease: b.Annotations[usage.LeaseLabel], Privileged: b.privileged()}
	annotations, mounts := b.Annotations, b.Mounts
	if !shim && !b.injectedByHook() {
		annotations, mounts = b.unservedAnnotations(), nil
	}
	found := d.Requested(annotations, mounts)
	hasNodes := b.Linux != nil && !facts.Privileged && d.mayBeNodes(b)
	if hasNodes {
		found = append(found, d.deviceGPUs(b)...)
	}
	facts.GPUs = usage.Sorted(found)
	evidence := Evidence{Annotations: annotations, GPUs: facts.GPUs}
	if hasNodes {
		for _, device := range b.Linux.Devices {
			evidence.Numbers = append(evidence.Numbers, Number{uint32(device.Major), uint32(device.Minor)})
		}
		for _, m := range b.Mounts {
			evidence.Paths = append(evidence.Paths, m.Source)
		}
	}
	facts.Slices = d.Slices(evidence)
	return facts, nil
}

// mayBeNodes reports whether the container's devices may be those of the node: it has a
// device or a mount from below the node's root. A device has the same path in the
// container, or it comes by CDI together with the driver's files.
func (d Devices) mayBeNodes(b bundle) bool {
	for _, device := range b.Linux.Devices {
		if d.belowRoot(device.Path) {
			return true
		}
	}
	return slices.ContainsFunc(b.Mounts, func(m Mount) bool { return d.belowRoot(m.Source) })
}

// deviceGPUs returns the GPUs whose device nodes the container has.
func (d Devices) deviceGPUs(b bundle) []gpu.BDF {
	var found []gpu.BDF
	for _, device := range b.Linux.Devices {
		if device.Type != "c" && device.Type != "u" {
			continue
		}
		n := Number{uint32(device.Major), uint32(device.Minor)}
		if int64(n.Major) != device.Major || int64(n.Minor) != device.Minor {
			continue // cut off, the number would be that of another device
		}
		if bdf, ok := d.Number(n); ok {
			found = append(found, bdf)
		}
	}
	// In a user namespace a node cannot be made, and is mounted instead.
	for _, m := range b.Mounts {
		if bdf, ok := d.byPath[m.Source]; ok {
			found = append(found, bdf)
		}
	}
	return found
}
