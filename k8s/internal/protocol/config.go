// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"cmp"
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
	// Mode is empty if the configured one is not valid: then the node keeps the mode that it
	// has.
	Mode Mode
	// Shares is how often each GPU is given in ModeShared.
	Shares int
}

// DeviceConfig is the content of the ConfigMap metax-device-config. The zero value is that of
// one that does not exist.
type DeviceConfig struct {
	// Over are the keys that people edited and that the chart's values say otherwise.
	Over []string

	scopes   []scope // entries of nodes by name, by labels, and the cluster's, the first that fits wins
	problems []string
	unclear  bool // something is not understood that may have been meant for any node
}

// scope is a part of a DeviceConfig for some nodes. Fields that it does not have are nil.
type scope struct {
	name     string            // of its node; empty for every node
	selector map[string]string // labels that its nodes have
	fields   map[string]any
	where    string // "cluster-config", "nodes-config[3]"
}

const maxConfig = 1 << 20 // as large as a ConfigMap can be

// ParseDeviceConfig reads the data of the ConfigMap. What is not valid is left out, and is
// among the problems that For returns.
//
// While something is not understood that may have been meant for any node, a node has another
// mode only by an entry with its name: a misspelt key must not end a mode.
func ParseDeviceConfig(data map[string]string) DeviceConfig {
	var c DeviceConfig
	if problem := tooLarge(data); problem != "" {
		c.addUnclear("%s", problem)
		return c
	}
	var byName, byLabels []scope
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text := data[key]
		var err error
		switch key {
		case "version":
			if text != "v1" {
				c.addUnclear("version %.40q is not known; want v1", text)
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
				problem := s.readNodes()
				switch {
				case problem != "":
					c.addUnclear("%s: %s", s.where, problem)
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
			c.addUnclear("key %.40q is not known", key)
		}
		if err != nil {
			c.addUnclear("%s cannot be read: %.200q", key, err.Error())
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

func (c *DeviceConfig) addUnclear(format string, a ...any) {
	c.complain(format, a...)
	c.unclear = true
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

// For returns the settings of a node: each field as the entry with the node's name states it,
// else the first entry whose labels the node has, else cluster-config. problems are in what
// concerns this node, each one line that can be printed.
func (c DeviceConfig) For(node string, labels map[string]string) (settings ModeSettings, problems []string) {
	settings = ModeSettings{Mode: ModeNative, Shares: DefaultShares}
	problems = slices.Clone(c.problems)
	read := map[string]bool{}
	named := false // an entry with the node's name states the mode
	for _, s := range c.scopes {
		if !s.isFor(node, labels) {
			continue
		}
		if _, ok := s.fields["mode"]; ok {
			named = named || (s.name != "" && !read["mode"])
		} else if !read["mode"] && s.hasUnknownField() {
			settings.Mode, read["mode"] = "", true // it may be the mode, misspelt
		}
		for _, key := range slices.Sorted(maps.Keys(s.fields)) {
			problem := s.field(key, &settings, read[key])
			if problem != "" && len(problems) < maxProblems {
				problems = append(problems, s.where+": "+problem)
			}
			read[key] = true
		}
	}
	if (c.unclear && !named) || (settings.Mode == ModeShared && settings.Shares == 0) {
		settings.Mode = ""
	}
	settings.Shares = cmp.Or(settings.Shares, DefaultShares)
	return settings, problems
}

// Names are the nodes that entries name, sorted.
func (c DeviceConfig) Names() (names []string) {
	for _, s := range c.scopes {
		if s.name != "" {
			names = append(names, s.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Problems are all that is wrong, for any node, one line each.
func (c DeviceConfig) Problems() []string {
	problems := slices.Clone(c.problems)
	for _, s := range c.scopes {
		for _, key := range slices.Sorted(maps.Keys(s.fields)) {
			if p := s.field(key, &ModeSettings{}, true); p != "" && len(problems) < maxProblems {
				problems = append(problems, s.where+": "+p)
			}
		}
	}
	return problems
}

// knownFields are those of a scope.
var knownFields = []string{"nodeName", "nodeSelector", "mode", "shareNums", "sgpuHybrid", "deviceAllocationStrategy"}

// hasUnknownField reports whether the scope has a field that is not known.
func (s scope) hasUnknownField() bool {
	for key := range s.fields {
		if !slices.Contains(knownFields, key) {
			return true
		}
	}
	return false
}

// field reads a field into the settings, unless a scope before had it. It returns what is
// wrong.
func (s scope) field(key string, settings *ModeSettings, known bool) string {
	value := s.fields[key]
	switch key {
	case "nodeName", "nodeSelector":
		return ""
	case "mode":
		mode := Mode(fmt.Sprint(value))
		valid := slices.Contains([]Mode{ModeNative, ModeSGPU, ModeShared, ModeVGPU}, mode)
		if !known {
			settings.Mode = mode
			if !valid {
				settings.Mode = ""
			}
		}
		if !valid {
			return fmt.Sprintf("mode %.40q is not known; want %s, %s, %s or %s", mode, ModeNative, ModeSGPU, ModeShared,
				ModeVGPU)
		}
	case "shareNums":
		n, ok := value.(float64)
		if !ok || n != float64(int(n)) || n < 1 || n > MaxShares {
			if !known {
				settings.Shares = 0 // not known
			}
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
