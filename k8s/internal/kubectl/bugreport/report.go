// SPDX-License-Identifier: Apache-2.0

package bugreport

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
)

// head explains the file to a person who opens it.
const head = `# Bug report of the MetaX GPUs of a cluster. Names, UUIDs and addresses are replaced,
# the same value always by the same placeholder. Read it before you send it.
# To look at it: kubectl metax top --from FILE
`

// New returns the report. versions are lines about the programs and the cluster.
func New(o objects.Objects, versions []string) ([]byte, error) {
	s := newScrubber(o)
	var b strings.Builder
	b.WriteString(head)
	for _, line := range versions {
		b.WriteString("# " + terminal.Message(line) + "\n")
	}
	for _, line := range o.Missing {
		b.WriteString("# not read: " + terminal.Message(s.Text(line)) + "\n")
	}
	var all []runtime.Object
	for i := range o.Nodes {
		all = append(all, s.scrubNode(&o.Nodes[i]))
	}
	for i := range o.Configs {
		all = append(all, s.scrubConfigMap(&o.Configs[i]))
	}
	for i := range o.Pods {
		all = append(all, s.scrubPod(&o.Pods[i]))
	}
	for i := range o.Events {
		all = append(all, s.scrubEvent(&o.Events[i], i))
	}
	items := []map[string]any{}
	for _, object := range all {
		tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return nil, fmt.Errorf("write the report: %w", err)
		}
		prune(tree)
		items = append(items, tree)
	}
	list := map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
	text, err := yaml.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("write the report: %w", err)
	}
	b.Write(text)
	return []byte(b.String()), nil
}

// prune removes members without a value, which the types of Kubernetes always write, and what
// YAML cannot have.
func prune(tree map[string]any) {
	for name, value := range tree {
		switch v := value.(type) {
		case nil:
			delete(tree, name)
		case string:
			tree[name] = terminal.Lines(v)
			if v == "" {
				delete(tree, name)
			}
		case int64:
			if v == 0 {
				delete(tree, name)
			}
		case map[string]any:
			if prune(v); len(v) == 0 {
				delete(tree, name)
			}
		case []any:
			for _, item := range v {
				if below, ok := item.(map[string]any); ok {
					prune(below)
				}
			}
		}
	}
}
