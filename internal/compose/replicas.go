package compose

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Scale is how many containers services have.
type Scale struct {
	// Want are the numbers that the command line gives, by service.
	Want map[string]int
	// There are the services of the project's containers.
	There []string
	// Keep leaves the copies in There as they are; without it those that are too
	// many are to be removed.
	Keep bool
}

// Expand gives each container of these services a service of its own, so that
// each can have its own GPUs: svc, svc-2, svc-3. In their networks the copies have
// the name of the first as well, and what depends on it depends on them all.
func (p *Project) Expand(names []string, s Scale) error {
	names = slices.Sorted(slices.Values(names))
	own := p.Services()
	for _, name := range names {
		n, err := p.replicas(name)
		if err != nil {
			return err
		}
		if want, ok := s.Want[name]; ok {
			n = want
		}
		total := n
		for _, there := range s.There {
			if k := copyOf(there, name); k > total && !slices.Contains(own, there) {
				total = k
			}
		}
		if s.Keep {
			n = total
		}
		if err := p.expand(name, n, total, own); err != nil {
			return err
		}
	}
	return nil
}

// copyOf returns k for the name of the kth copy of a service, else 0.
func copyOf(name, service string) int {
	number, ok := strings.CutPrefix(name, service+"-")
	k, err := strconv.Atoi(number)
	if !ok || err != nil || k < 2 || strconv.Itoa(k) != number || k > maxCopies {
		return 0
	}
	return k
}

// maxCopies bounds the replicas of a service: more than GPUs of any node.
const maxCopies = 1024

// replicas is how many containers the service has.
func (p *Project) replicas(name string) (int, error) {
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
	if err != nil || n < 0 || n > maxCopies {
		return 0, fmt.Errorf("service %q: %s replicas: a number from 0 to %d", name, number, maxCopies)
	}
	return n, nil
}

// expand makes total services of one, of which the first n have a container.
func (p *Project) expand(name string, n, total int, own []string) error {
	first := p.services[name]
	if _, ok := first["container_name"]; ok && n > 1 {
		return fmt.Errorf("service %q: %d replicas cannot all have its container_name: remove it", name, n)
	}
	if now, err := p.replicas(name); err != nil || now != min(n, 1) {
		setReplicas(first, min(n, 1))
	}
	p.copies[name] = []string{name}
	for k := 2; k <= total; k++ {
		copied := name + "-" + strconv.Itoa(k)
		if slices.Contains(own, copied) {
			return fmt.Errorf("service %q: its replica %d needs the service name %q, which is already used: rename that service", name, k, copied)
		}
		service := toObject(clone(first))
		delete(service, "container_name")
		setReplicas(service, 1)
		if k > n {
			setReplicas(service, 0)
		}
		alias(service, name)
		if service["build"] != nil && service["image"] == nil {
			service["image"] = p.Name + "-" + name // what compose makes of the first
		}
		p.services[copied] = service
		p.copies[name] = append(p.copies[name], copied)
	}
	for _, service := range p.services {
		on := toObject(service["depends_on"])
		for _, copied := range p.copies[name][1:min(max(n, 1), len(p.copies[name]))] {
			if on[name] != nil {
				on[copied] = clone(on[name])
			}
		}
	}
	return nil
}

func setReplicas(service object, n int) {
	number := json.Number(strconv.Itoa(n))
	service["scale"] = number
	if deploy := toObject(service["deploy"]); deploy["replicas"] != nil {
		deploy["replicas"] = number
	}
}

// alias gives the service one more name in its networks.
func alias(service object, name string) {
	networks := toObject(service["networks"])
	for key, value := range networks {
		network := toObject(value)
		if network == nil {
			network = object{}
			networks[key] = network
		}
		aliases, _ := network["aliases"].([]any)
		if !slices.Contains(aliases, any(name)) {
			network["aliases"] = append(aliases, name)
		}
	}
}

// Copies are the services that a service was expanded to, itself first.
func (p *Project) Copies(name string) []string {
	if copies := p.copies[name]; copies != nil {
		return slices.Clone(copies)
	}
	return []string{name}
}

// Empty reports whether the service is to have no container.
func (p *Project) Empty(name string) bool {
	n, err := p.replicas(name)
	return err == nil && n == 0
}
