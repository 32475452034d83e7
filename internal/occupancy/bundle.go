package occupancy

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// bundle is the part of an OCI bundle's config.json that tells which devices the
// container has.
type bundle struct {
	Annotations map[string]string `json:"annotations"`
	Mounts      []struct {
		Source string `json:"source"`
	} `json:"mounts"`
	Linux *struct {
		Devices []struct {
			Type  string `json:"type"`
			Major int64  `json:"major"`
			Minor int64  `json:"minor"`
		} `json:"devices"`
		Resources *struct {
			Devices []rule `json:"devices"`
		} `json:"resources"`
	} `json:"linux"`
}

// rule is a rule of the device cgroup.
type rule struct {
	Allow  bool   `json:"allow"`
	Type   string `json:"type"`
	Major  *int64 `json:"major"`
	Minor  *int64 `json:"minor"`
	Access string `json:"access"`
}

// everything tells whether the rule opens all devices.
func (r rule) everything() bool {
	return r.Allow && (r.Type == "" || r.Type == "a") && r.Major == nil && r.Minor == nil && strings.Contains(r.Access, "rw")
}

// Bundle returns the facts that the text of a bundle's config.json tells: the
// GPUs, and the lease of an annotation. A privileged container has the devices
// of the whole host and asked for none of them; what it uses, its processes
// tell.
func (d Devices) Bundle(config []byte) (Facts, error) {
	var b bundle
	if err := json.Unmarshal(config, &b); err != nil {
		return Facts{}, fmt.Errorf("read OCI bundle configuration: %w", err)
	}
	facts := Facts{Lease: b.Annotations[LeaseLabel]}
	if b.Linux == nil {
		return facts, nil
	}
	if b.Linux.Resources != nil {
		for _, r := range b.Linux.Resources.Devices {
			if r.everything() {
				facts.Privileged = true
				return facts, nil
			}
		}
	}
	var found []gpu.BDF
	for _, device := range b.Linux.Devices {
		if device.Type != "c" && device.Type != "u" {
			continue
		}
		n := Number{uint32(device.Major), uint32(device.Minor)}
		if int64(n.Major) != device.Major || int64(n.Minor) != device.Minor {
			continue // what is cut off would mean another device
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
	facts.GPUs = Sorted(found)
	return facts, nil
}
