// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/edits"
)

// Injection is what replaces the GPU requests of a service.
type Injection struct {
	edits.Edits
	Labels map[string]string
}

// Inject replaces the service's GPU requests with edits and labels. CDI names are put under
// deploy with the driver cdi, which every version of compose passes to docker; only the newest
// version passes CDI names under devices. Variables of the service win over GPUEnv, but not
// over Env, which has been made from them. Inject ignores Libraries, Links and Programs: it
// does not know the image's PATH.
func (p *Project) Inject(name string, in Injection) error {
	service := p.services[name]
	if service == nil {
		return fmt.Errorf("no service %q", name)
	}
	if err := removeRequests(service); err != nil {
		return fmt.Errorf("service %q: %w", name, err)
	}
	if len(in.Names) > 0 {
		inner := service
		for _, key := range []string{"deploy", "resources", "reservations"} {
			next := toObject(inner[key])
			if next == nil {
				next = object{}
				inner[key] = next
			}
			inner = next
		}
		inner["devices"] = append(listAt(inner, "devices"), object{
			"driver": "cdi", "device_ids": anys(in.Names), "capabilities": []any{"gpu"},
		})
	}
	for _, d := range in.Devices {
		service["devices"] = append(listAt(service, "devices"),
			object{"source": d.HostPath, "target": d.Path, "permissions": d.Permissions})
	}
	for _, m := range in.Mounts {
		service["volumes"] = append(listAt(service, "volumes"), object{
			"type": "bind", "source": m.HostPath, "target": m.Path, "read_only": m.ReadOnly(),
		})
	}
	groups := listAt(service, "group_add")
	for _, gid := range in.Groups {
		group := strconv.FormatUint(uint64(gid), 10)
		if !slices.Contains(groups, any(group)) {
			groups = append(groups, group)
		}
	}
	if len(groups) > 0 {
		service["group_add"] = groups
	}
	if err := errors.Join(setVariables(service, in.GPUEnv, false), setVariables(service, in.Env, true)); err != nil {
		return fmt.Errorf("service %q: %w", name, err)
	}
	for _, key := range slices.Sorted(maps.Keys(in.Labels)) {
		labels, ok := service["labels"].(object)
		if !ok {
			labels = object{}
			service["labels"] = labels
		}
		labels[key] = in.Labels[key]
	}
	return nil
}

// setVariables sets variables that the service does not set, or all of them.
func setVariables(service object, variables []string, all bool) error {
	for _, v := range variables {
		name, value, _ := strings.Cut(escapeDollars(v), "=")
		switch env := service["environment"].(type) {
		case nil:
			service["environment"] = object{name: value}
		case object:
			if _, set := env[name]; !set || all {
				env[name] = value
			}
		default: // compose prints an object
			return fmt.Errorf("environment is not an object")
		}
	}
	return nil
}

// removeRequests removes the requests for MetaX GPUs from the service.
func removeRequests(service object) error {
	for _, place := range []struct {
		in  object
		key string
		all bool
	}{
		{toObject(toObject(toObject(service["deploy"])["resources"])["reservations"]), "devices", false},
		{service, "gpus", true},
	} {
		var left []any
		for _, value := range listAt(place.in, place.key) {
			ours, err := entry{object: toObject(value)}.isOurs(place.all)
			if err != nil {
				return err
			}
			if !ours {
				left = append(left, value)
			}
		}
		if left != nil {
			place.in[place.key] = left
		} else if place.in[place.key] != nil {
			delete(place.in, place.key)
		}
	}
	ids, others := cdiDevices(service)
	switch {
	case ids == nil: // no name of our class
	case others == nil:
		delete(service, "devices")
	default:
		service["devices"] = others
	}
	return nil
}

func anys(words []string) []any {
	out := make([]any, len(words))
	for i, word := range words {
		out[i] = word
	}
	return out
}
