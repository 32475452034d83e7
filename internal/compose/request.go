// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/request"
)

// Request is what each container of a service requests.
type Request struct {
	request.Request
	// Policy, Scope and Sizes are the options of these names; empty if not given.
	Policy, Scope, Sizes string
	// ByDevice is true for GPUs and slices that are named under devices.
	ByDevice bool
	// Share is the option "share": also GPUs that are in use.
	Share bool
	// MACA is the option "maca": true, false or a version of the host's MXMACA; empty if not
	// given.
	MACA string
}

// Requests returns the requests for MetaX GPUs, by service. Requests to other drivers are
// left out.
func (p *Project) Requests() (map[string]Request, error) {
	found := map[string]Request{}
	for _, name := range p.Services() {
		entries, err := reservations(p.services[name])
		if err != nil {
			return nil, fmt.Errorf("service %q: %w", name, err)
		}
		entries = slices.DeleteFunc(entries, func(e entry) bool { return !e.ours })
		switch len(entries) {
		case 0:
			continue
		case 1: // as it should be
		default:
			return nil, fmt.Errorf("service %q has %d GPU requests, but only one is allowed", name, len(entries))
		}
		r, err := entries[0].request()
		if err != nil {
			return nil, fmt.Errorf("service %q: %w", name, err)
		}
		r.ByDevice = entries[0].device
		found[name] = r
	}
	return found, nil
}

// OtherDrivers returns the drivers of other vendors from which services request GPUs, by
// service. Requests by CDI name have no such driver.
func (p *Project) OtherDrivers() map[string]string {
	found := map[string]string{}
	for _, name := range p.Services() {
		entries, _ := reservations(p.services[name]) // Requests returns the error
		for _, e := range entries {
			driver, _ := e.object["driver"].(string)
			capabilities, _ := e.object["capabilities"].([]any)
			if !e.ours && driver != "" && driver != "cdi" && slices.Contains(capabilities, any("gpu")) {
				found[name] = driver
			}
		}
	}
	return found
}

// entry is one request for devices of any driver.
type entry struct {
	object
	ours   bool
	device bool // from devices
}

var errMixed = errors.New("device_ids mixes MetaX GPUs with other devices: split it into two requests")

// reservations are the requests of a service, under deploy, under gpus and under devices.
func reservations(service object) ([]entry, error) {
	var out []entry
	for _, place := range []struct {
		list []any
		all  bool // every entry is about GPUs
	}{{listAt(service, "deploy", "resources", "reservations", "devices"), false}, {listAt(service, "gpus"), true}} {
		for _, value := range place.list {
			e := entry{object: toObject(value)}
			var err error
			if e.ours, err = e.isOurs(place.all); err != nil {
				return nil, err
			}
			out = append(out, e)
		}
	}
	if ids, _ := cdiDevices(service); ids != nil {
		out = append(out, entry{object{"device_ids": ids}, true, true})
	}
	return out, nil
}

// cdiDevices splits the devices of a service into the CDI names of GPUs and slices, which
// request them, and the others. Compose prints devices as objects, and in older versions as
// texts.
func cdiDevices(service object) (ids, others []any) {
	for _, value := range listAt(service, "devices") {
		name, ok := value.(string)
		if !ok {
			name, _ = toObject(value)["source"].(string)
		}
		kind, _, ok := strings.Cut(name, "=")
		if !ok || (kind != request.CDIKind && kind != request.SliceKind) {
			others = append(others, value)
			continue
		}
		name, _, _ = strings.Cut(name, ":")
		ids = append(ids, name)
	}
	return ids, others
}

// isOurs reports whether the request is for GPUs of MetaX.
func (e entry) isOurs(gpus bool) (bool, error) {
	driver, _ := e.object["driver"].(string)
	qualified, others := 0, 0
	ids := e.ids()
	for _, id := range ids {
		kind, _, ok := strings.Cut(id, "=")
		switch {
		case ok && kind == request.CDIKind:
			qualified++
		case ok && strings.Contains(kind, "/"):
			others++
		}
	}
	switch {
	case qualified > 0 && others > 0:
		return false, errMixed
	case driver == "cdi":
		return qualified > 0, nil
	case driver == "metax" || driver == "metax-tech.com":
		return true, nil
	case driver != "" || others > 0:
		return false, nil
	}
	capabilities, _ := e.object["capabilities"].([]any)
	return gpus || qualified > 0 || slices.Contains(capabilities, any("gpu")), nil
}

func (e entry) ids() []string {
	values, _ := e.object["device_ids"].([]any)
	var ids []string
	for _, value := range values {
		ids = append(ids, fmt.Sprint(value))
	}
	return ids
}

// request reads a request for MetaX GPUs. Compose writes a count of -1 for all, and
// leaves one of 0 out.
func (e entry) request() (r Request, err error) {
	text := ""
	ids := e.ids()
	switch count := e.object["count"].(type) {
	case nil:
		text = "0"
	case string:
		text = count
	default:
		if text = fmt.Sprint(count); text == "-1" {
			text = "all"
		}
	}
	if len(ids) > 0 {
		text = "[" + strings.Join(ids, ",") + "]"
		if slices.Equal(ids, []string{"all"}) || slices.Equal(ids, []string{request.CDIKind + "=all"}) {
			text = "all"
		}
	}
	if r.Request, err = request.Parse(text); err != nil {
		return r, err
	}
	options, _ := e.object["options"].(object)
	for key, value := range options {
		switch word := fmt.Sprint(value); key {
		case "policy":
			r.Policy = word
		case "scope":
			r.Scope = word
		case "sizes":
			r.Sizes = word
		case "maca":
			r.MACA = word
		case "share":
			if r.Share, err = strconv.ParseBool(word); err != nil {
				return r, fmt.Errorf("option share is %q: true or false", word)
			}
		}
	}
	return r, nil
}

func toObject(value any) object {
	o, _ := value.(object)
	return o
}

// listAt returns the list at a path of keys, nil where there is none.
func listAt(o object, path ...string) []any {
	for _, key := range path[:len(path)-1] {
		o = toObject(o[key])
	}
	l, _ := o[path[len(path)-1]].([]any)
	return l
}
