// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"sigs.k8s.io/yaml"
)

// VFIOGPUs is the content of the ConfigMap metax-vfio-config: which GPUs of which node are for
// virtual machines. The zero value is that of one that does not exist.
type VFIOGPUs struct{ wishes[VFIOWish] }

// VFIOWish is what is wished of a node.
type VFIOWish struct {
	Named bool     // an entry names the node, or the data cannot be read
	GPUs  []string // indices, PCI addresses or UUIDs, which need not exist
	// Problem is why they are not known, in one line; then the GPUs stay as they are.
	Problem string
}

func (w VFIOWish) problem() string { return w.Problem }

func (VFIOWish) unknown(named bool, problem string) VFIOWish {
	return VFIOWish{Named: named, Problem: problem}
}

// maxNames is how many GPUs of a node can be named.
const maxNames = 256

// ParseVFIOGPUs reads the data of the ConfigMap: a text of any key with {vfio: [{nodeName:
// NAME, gpus: [...]}]}, or the list itself below the key vfio.
func ParseVFIOGPUs(data map[string]string) VFIOGPUs {
	v := VFIOGPUs{wishes[VFIOWish]{nodes: map[string]VFIOWish{}, broken: tooLarge(data)}}
	if v.broken != "" {
		return v
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if err := v.read(key, data[key]); err != nil && v.broken == "" {
			v.broken = fmt.Sprintf("%.80q cannot be read: %.200q", key, err.Error())
		}
	}
	return v
}

func (v *VFIOGPUs) read(key, text string) error {
	var content any
	if err := yaml.UnmarshalStrict([]byte(text), &content); err != nil {
		return err
	}
	if file, ok := content.(map[string]any); ok {
		for _, field := range slices.Sorted(maps.Keys(file)) {
			if field != "vfio" {
				v.notes.addUnclear("%.80q: field %.40q is not known; want vfio", key, field)
			}
		}
		content = file["vfio"]
	} else if key != "vfio" && content != nil {
		return fmt.Errorf("want vfio: and a list of nodes")
	}
	list, ok := content.([]any)
	if !ok && content != nil {
		return fmt.Errorf("vfio is not a list of nodes")
	}
	for i, entry := range list {
		if err := v.readEntry(entry); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
	}
	return nil
}

// readEntry reads the GPUs of one node.
func (v *VFIOGPUs) readEntry(entry any) error {
	fields, _ := entry.(map[string]any)
	node, ok := fields["nodeName"].(string)
	if !ok || node == "" {
		return fmt.Errorf("nodeName %.40q is not a name", fmt.Sprint(fields["nodeName"]))
	}
	wish := v.nodes[node]
	wish.Named = true
	gpus, ok := fields["gpus"].([]any)
	if !ok {
		wish.Problem = fmt.Sprintf("the gpus of %.80q are not a list; want gpus: [0], or gpus: [] for none", node)
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if field != "nodeName" && field != "gpus" {
			v.notes.addUnclear("vfio of %.80q: field %.40q is not known", node, field)
		}
	}
	for _, g := range gpus {
		var name string
		switch g := g.(type) {
		case string:
			name = g
		case float64:
			name = strconv.FormatFloat(g, 'f', -1, 64)
		}
		switch {
		case name == "" || len(name) > 96 || len(wish.GPUs) == maxNames:
			wish.Problem = fmt.Sprintf("the gpus of %.80q: %.40q; want an index, a PCI address or a UUID, at most %d", node,
				fmt.Sprint(g), maxNames)
		case !slices.Contains(wish.GPUs, name):
			wish.GPUs = append(wish.GPUs, name)
		}
	}
	if wish.Problem != "" {
		wish.GPUs = nil
		v.notes.markUnclear(wish.Problem)
	}
	v.nodes[node] = wish
	return nil
}
