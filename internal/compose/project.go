// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// object is a JSON object with all that is in it.
type object = map[string]any

// Project is a project of compose, all defaults filled in and all variables replaced.
type Project struct {
	// Name is the project's name.
	Name string

	model    object
	services map[string]object
}

// Read reads what docker compose config --format json prints.
func Read(text []byte) (*Project, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber() // an int64 is not a float64
	p := &Project{services: map[string]object{}}
	if err := dec.Decode(&p.model); err != nil {
		return nil, fmt.Errorf("read compose project: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read compose project: something follows it")
	}
	name, ok := p.model["name"].(string)
	if !ok || name == "" {
		return nil, errors.New("read compose project: it has no name")
	}
	p.Name = name
	services, ok := p.model["services"].(object)
	if !ok && p.model["services"] != nil {
		return nil, errors.New("read compose project: services must be an object")
	}
	for name, value := range services {
		service, ok := value.(object)
		if !ok {
			return nil, fmt.Errorf("read compose project: service %q must be an object", name)
		}
		p.services[name] = service
	}
	return p, nil
}

// JSON is the project as compose reads it. The same project gives the same bytes.
func (p *Project) JSON() ([]byte, error) {
	services := make(object, len(p.services))
	for name, service := range p.services {
		services[name] = service
	}
	model := maps.Clone(p.model)
	model["services"] = services
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(model); err != nil {
		return nil, fmt.Errorf("write compose project: %w", err)
	}
	return out.Bytes(), nil
}

// Services are the names of all services, ascending.
func (p *Project) Services() []string { return slices.Sorted(maps.Keys(p.services)) }

// Has reports whether there is a service of that name.
func (p *Project) Has(service string) bool { return p.services[service] != nil }

// Conditional reports whether the service exists only with one of its profiles.
func (p *Project) Conditional(service string) bool {
	profiles, _ := p.services[service]["profiles"].([]any)
	return len(profiles) > 0
}

// Label returns a label of the service's containers; section is "labels" or "annotations".
func (p *Project) Label(section, service, key string) (value string, ok bool) {
	labels, _ := p.services[service][section].(object)
	value, ok = labels[key].(string)
	return value, ok
}

// Replicas is how many containers the project gives the service.
func (p *Project) Replicas(name string) (int, error) {
	service := p.services[name]
	value := service["scale"]
	if value == nil {
		value = toObject(service["deploy"])["replicas"]
	}
	number, ok := value.(json.Number)
	if !ok {
		return 1, nil
	}
	n, err := strconv.Atoi(number.String())
	if err != nil || n < 0 {
		return 0, fmt.Errorf("service %q: invalid number of replicas %s", name, number)
	}
	return n, nil
}

// Closure returns the services that start with these, ascending: they and all that they
// depend on, or they alone.
func (p *Project) Closure(names []string, alone bool) []string {
	found := map[string]bool{}
	for todo := slices.Clone(names); len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if found[name] || !p.Has(name) {
			continue
		}
		found[name] = true
		if !alone {
			todo = append(todo, p.needs(name)...)
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// needs are the services that one depends on: those that it names under depends_on, and
// those whose network, processes or volumes it uses.
func (p *Project) needs(name string) []string {
	service := p.services[name]
	on, _ := service["depends_on"].(object)
	out := slices.Sorted(maps.Keys(on))
	for _, key := range []string{"network_mode", "ipc", "pid"} {
		mode, _ := service[key].(string)
		if of, ok := strings.CutPrefix(mode, "service:"); ok {
			out = append(out, of)
		}
	}
	for _, key := range []string{"links", "volumes_from"} {
		list, _ := service[key].([]any)
		for _, item := range list {
			text, _ := item.(string)
			of, _, _ := strings.Cut(text, ":")
			out = append(out, of)
		}
	}
	return out
}
