package protocol

import (
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"
)

// Mode is what a node's GPUs are given as.
type Mode string

// The modes, by the vendor's names.
const (
	ModeNative Mode = "native" // whole GPUs, or virtual functions where every GPU has some
	ModeSGPU   Mode = "sgpu"   // slices that schedulers choose, as SliceResource
	ModeShared Mode = "shared" // shares of GPUs, whose containers are not kept apart
	ModeVGPU   Mode = "vgpu"   // virtual functions only
)

// The limits of ModeSettings.
const (
	DefaultShares = 4
	MaxShares     = 256
)

// ModeSettings are what a DeviceConfig says about one node.
type ModeSettings struct {
	// Mode is empty if the configured one is not valid: then the node keeps the mode that it has.
	Mode Mode
	// Shares is how often each GPU is given in ModeShared.
	Shares int
}

// DeviceConfig is the content of the ConfigMap metax-device-config. The zero value is that of one
// that does not exist.
type DeviceConfig struct {
	scopes   []scope // entries of nodes by name, by labels, and the cluster's, the first that fits wins
	problems []string
}

// scope is a part of a DeviceConfig for some nodes. Fields that it does not have are nil.
type scope struct {
	name     string            // of its node; empty for every node
	selector map[string]string // labels that its nodes have
	fields   map[string]any
	where    string // "cluster-config", "nodes-config[3]"
}

const maxConfig = 1 << 20 // as large as a ConfigMap can be

// ParseDeviceConfig reads the data of the ConfigMap. What is not valid is left out, and is among
// the problems that For returns.
func ParseDeviceConfig(data map[string]string) DeviceConfig {
	var c DeviceConfig
	size := 0
	for _, text := range data {
		size += len(text)
	}
	if size > maxConfig {
		c.complain("%d bytes; at most %d are read", size, maxConfig)
		return c
	}
	var byName, byLabels []scope
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text := data[key]
		var err error
		switch key {
		case "version":
			if text != "v1" {
				c.complain("version %.40q is not known; want v1", text)
			}
		case "cluster-config":
			var fields map[string]any
			if err = yaml.UnmarshalStrict([]byte(text), &fields); err == nil {
				c.scopes = append(c.scopes, scope{fields: fields, where: key})
			}
		case "nodes-config":
			var list []map[string]any
			err = yaml.UnmarshalStrict([]byte(text), &list)
			for i, fields := range list {
				s := scope{fields: fields, where: fmt.Sprintf("%s[%d]", key, i)}
				switch problem := s.readNodes(); {
				case problem != "":
					c.complain("%s: %s", s.where, problem)
				case s.name != "":
					byName = append(byName, s)
				default:
					byLabels = append(byLabels, s)
				}
			}
		case "kind-config":
			var kinds []any
			if err = yaml.UnmarshalStrict([]byte(text), &kinds); err == nil && len(kinds) > 0 {
				c.complain("kind-config has no effect here")
			}
		default:
			c.complain("key %.40q is not known", key)
		}
		if err != nil {
			c.complain("%s cannot be read: %.200q", key, err.Error())
		}
	}
	c.scopes = slices.Concat(byName, byLabels, c.scopes)
	return c
}

func (c *DeviceConfig) complain(format string, a ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, fmt.Sprintf(format, a...))
	}
}

// maxProblems is enough to find a mistake.
const maxProblems = 16

// readNodes takes from the fields which nodes they are for. It returns what is wrong.
func (s *scope) readNodes() string {
	name, hasName := s.fields["nodeName"]
	selector, hasSelector := s.fields["nodeSelector"]
	if hasName == hasSelector {
		return "want nodeName or nodeSelector"
	}
	if hasName {
		if s.name, _ = name.(string); s.name == "" {
			return fmt.Sprintf("nodeName %.40q is not a name", fmt.Sprint(name))
		}
		return ""
	}
	labels, _ := selector.(map[string]any)
	s.selector = map[string]string{}
	for key, value := range labels {
		text, ok := value.(string)
		if !ok {
			return fmt.Sprintf("nodeSelector: the value of %.80q is not text; quote it", key)
		}
		s.selector[key] = text
	}
	if len(s.selector) == 0 {
		return "nodeSelector has no labels"
	}
	return ""
}

func (s scope) isFor(node string, labels map[string]string) bool {
	if s.name != "" {
		return s.name == node
	}
	for key, want := range s.selector {
		if got, ok := labels[key]; !ok || got != want {
			return false
		}
	}
	return true
}

// For returns the settings of a node: each field as the entry with the node's name states it, else
// the first entry whose labels the node has, else cluster-config. problems are in what concerns this
// node, each one line that can be printed.
func (c DeviceConfig) For(node string, labels map[string]string) (settings ModeSettings, problems []string) {
	settings = ModeSettings{Mode: ModeNative, Shares: DefaultShares}
	problems = slices.Clone(c.problems)
	read := map[string]bool{}
	for _, s := range c.scopes {
		if !s.isFor(node, labels) {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(s.fields)) {
			problem := s.field(key, &settings, read[key])
			if problem != "" && len(problems) < maxProblems {
				problems = append(problems, s.where+": "+problem)
			}
			read[key] = true
		}
	}
	return settings, problems
}

// field reads a field into the settings, unless a scope before had it. It returns what is wrong.
func (s scope) field(key string, settings *ModeSettings, known bool) string {
	value := s.fields[key]
	switch key {
	case "nodeName", "nodeSelector":
		return ""
	case "mode":
		mode := Mode(fmt.Sprint(value))
		valid := slices.Contains([]Mode{ModeNative, ModeSGPU, ModeShared, ModeVGPU}, mode)
		if !known {
			if settings.Mode = mode; !valid {
				settings.Mode = ""
			}
		}
		if !valid {
			return fmt.Sprintf("mode %.40q is not known; want %s, %s, %s or %s", mode, ModeNative, ModeSGPU, ModeShared, ModeVGPU)
		}
	case "shareNums":
		n, ok := value.(float64)
		if !ok || n != float64(int(n)) || n < 1 || n > MaxShares {
			return fmt.Sprintf("shareNums %.40q; want 1 to %d", fmt.Sprint(value), MaxShares)
		}
		if !known {
			settings.Shares = int(n)
		}
	case "sgpuHybrid":
		if value != nil && value != false {
			return fmt.Sprintf("sgpuHybrid %.40q has no effect here; want false", fmt.Sprint(value))
		}
	case "deviceAllocationStrategy":
		if value != nil && value != "native" {
			return fmt.Sprintf("deviceAllocationStrategy %.40q has no effect here; want native", fmt.Sprint(value))
		}
	default:
		return fmt.Sprintf("field %.40q is not known", key)
	}
	return ""
}
