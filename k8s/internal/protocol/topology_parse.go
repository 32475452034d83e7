// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"encoding/json"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// The limits of a NodeTopology.
const (
	maxTopologyText = 64 << 10 // a quarter of what all annotations of a node may have together
	maxTopologyGPUs = 256      // MetaX announced systems of 128
	maxBridges      = 32       // above one GPU
	maxModel        = 64
	maxNumber       = 1 << 16 // of NUMA nodes and bridges
)

// ParseNodeTopology reads a NodeAnnotation. Unknown fields are ignored, because later versions
// add some. The error is an ErrAnnotation.
func ParseNodeTopology(text string) (NodeTopology, error) {
	t, err := parseNodeTopology(text)
	if err != nil {
		return NodeTopology{}, err
	}
	return t, nil
}

func parseNodeTopology(text string) (t NodeTopology, err error) {
	if len(text) > maxTopologyText {
		return t, Invalid(NodeAnnotation, "%d bytes; at most %d are read", len(text), maxTopologyText)
	}
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return t, Invalid(NodeAnnotation, "%.200q", err.Error())
	}
	if t.Version != TopologyVersion {
		return t, Invalid(NodeAnnotation, "version %d; want %d", t.Version, TopologyVersion)
	}
	if len(t.GPUs) > maxTopologyGPUs {
		return t, Invalid(NodeAnnotation, "%d GPUs; at most %d", len(t.GPUs), maxTopologyGPUs)
	}
	seen := map[string]bool{}
	for i, g := range t.GPUs {
		uuid := strings.ToLower(string(g.UUID))
		if uuid != "" && seen[uuid] {
			return t, Invalid(NodeAnnotation, "two GPUs have the UUID %s", g.UUID)
		}
		seen[uuid] = true
		if what := g.invalid(); what != "" {
			return t, Invalid(NodeAnnotation, "GPU %d has an invalid %s", i, what)
		}
	}
	_, err = t.decodeLinks()
	return t, err
}

// invalid returns which field is not valid; empty if all are.
func (t TopologyGPU) invalid() string {
	isNumber := func(n int) bool { return n >= 0 && n <= maxNumber }
	switch {
	case !isModel(t.Model):
		return "model"
	case t.NUMA != nil && !isNumber(*t.NUMA):
		return "NUMA node"
	case len(t.Bridges) > maxBridges:
		return "number of bridges"
	case !isNumber(t.Switch):
		return "switch"
	}
	for level, b := range t.Bridges {
		if !isNumber(b) || (b == 0 && level > 0) {
			return "bridge"
		}
	}
	return ""
}

func isModel(text string) bool { return len(text) <= maxModel && terminal.Line(text) == text }
