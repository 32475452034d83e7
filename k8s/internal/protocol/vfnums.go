// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"
)

// VFCounts are the numbers of virtual functions that a GPU can be split into; 0 is none.
var VFCounts = []int{0, 1, 2, 4, 8}

// VFNums is the content of the ConfigMap driver-config: how many virtual functions the GPUs of
// which node have. The zero value is that of one that does not exist.
type VFNums struct{ wishes[VFWish] }

// VFWish is what is wished of a node.
type VFWish struct {
	Named bool // an entry names the node, or the data cannot be read
	Count int  // one of VFCounts, of each GPU
	// Problem is why the number is not known, in one line; then the GPUs stay as they are.
	Problem string
}

func (w VFWish) problem() string { return w.Problem }

func (VFWish) unknown(named bool, problem string) VFWish {
	return VFWish{Named: named, Problem: problem}
}

// ParseVFNums reads the data of the ConfigMap: node-vfnums, and nodes-config of version v2.
func ParseVFNums(data map[string]string) VFNums {
	v := VFNums{wishes[VFWish]{nodes: map[string]VFWish{}, broken: tooLarge(data)}}
	if v.broken != "" {
		return v
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text := data[key]
		var err error
		switch key {
		case "version":
			if text != "v1" && text != "v2" {
				v.notes.addUnclear("version %.40q is not known; want v1 or v2", text)
			}
		case "node-vfnums":
			err = v.readNodes(text)
		case "nodes-config":
			err = v.readList(text)
		case "module-params", "node-module-params":
			var params any
			if err := yaml.Unmarshal([]byte(text), &params); err != nil || !isEmpty(params) {
				v.notes.addUnapplied("%s is not applied: this version does not set parameters of the kernel module", key)
			}
		default:
			v.notes.addUnclear("key %.40q is not known", key)
		}
		if err != nil && v.broken == "" {
			v.broken = fmt.Sprintf("%s cannot be read: %.200q", key, err.Error())
		}
	}
	return v
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// readNodes reads {nodes: {NAME: {vfnum: N}}}.
func (v *VFNums) readNodes(text string) error {
	var file map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &file); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(file)) {
		if key != "nodes" {
			v.notes.addUnclear("node-vfnums: field %.40q is not known; want nodes", key)
		}
	}
	nodes, ok := file["nodes"].(map[string]any)
	if !ok && file["nodes"] != nil {
		return fmt.Errorf("nodes is not a map of nodes")
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		where := fmt.Sprintf("node-vfnums: nodes.%.80q", name)
		fields, ok := nodes[name].(map[string]any)
		if !ok && nodes[name] != nil {
			v.nodes[name] = VFWish{Named: true, Problem: where + " has no vfnum; want {vfnum: NUMBER}"}
			v.notes.markUnclear(v.nodes[name].Problem)
			continue
		}
		v.add(name, where, "vfnum", fields, "vfnum")
	}
	return nil
}

// readList reads [{nodeName: NAME, vfNum: N}].
func (v *VFNums) readList(text string) error {
	var list []map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &list); err != nil {
		return err
	}
	for i, fields := range list {
		where := fmt.Sprintf("nodes-config[%d]", i)
		name, ok := fields["nodeName"].(string)
		if !ok || name == "" {
			v.notes.addUnclear("%s: nodeName %.40q is not a name", where, fmt.Sprint(fields["nodeName"]))
			continue
		}
		v.add(name, where, "vfNum", fields, "nodeName", "vfNum")
	}
	return nil
}

// add adds the wish of an entry, whose number is in a field and which has other fields also.
func (v *VFNums) add(name, where, field string, fields map[string]any, known ...string) {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, key) {
			v.notes.addUnclear("%s: field %.40q is not applied", where, key)
		}
	}
	wish := VFWish{Named: true}
	value, stated := fields[field]
	n, ok := value.(float64)
	switch {
	case ok && n == float64(int(n)) && slices.Contains(VFCounts, int(n)):
		wish.Count = int(n)
	case !stated:
		wish.Problem = fmt.Sprintf("%s has no %s; want 0, 1, 2, 4 or 8", where, field)
	default:
		wish.Problem = fmt.Sprintf("%s: %s %.40q; want 0, 1, 2, 4 or 8", where, field, fmt.Sprint(value))
	}
	if before, ok := v.nodes[name]; ok && before != wish {
		wish = VFWish{Named: true, Problem: fmt.Sprintf("%s says another number than an entry before it", where)}
	}
	if wish.Problem != "" {
		v.notes.markUnclear(wish.Problem)
	}
	v.nodes[name] = wish
}

// Wishes reports whether something is wished of a node, or it is not known whether it is.
func (v VFNums) Wishes() bool { return len(v.nodes) > 0 || v.broken != "" }
