// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// ErrFile reports a file that has no objects.
var ErrFile = errors.New("not a file of Kubernetes objects")

// MaxFile is the greatest size of a file, in bytes.
const MaxFile = 256 << 20

// Parse reads a list in JSON or YAML, as "kubectl get nodes,pods,events -A -o json" and a bug
// report write it, and leaves out what has nothing to do with GPUs. The error is an ErrFile.
func Parse(text []byte) (Objects, error) {
	if len(text) > MaxFile {
		return Objects{}, fmt.Errorf("%w: %d bytes; at most %d are read", ErrFile, len(text), MaxFile)
	}
	var list struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	var err error
	if !json.Valid(text) { // in JSON, a text can have control characters that YAML cannot
		text, err = yaml.YAMLToJSON(text)
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return Objects{}, fmt.Errorf("%w: %w", ErrFile, err)
	}
	if list.Kind != "List" {
		return Objects{}, fmt.Errorf("%w: its kind is %.40q, not List", ErrFile, list.Kind)
	}
	var o Objects
	for i, item := range list.Items {
		if err := o.parse(item); err != nil {
			return Objects{}, fmt.Errorf("%w: item %d: %w", ErrFile, i, err)
		}
	}
	o.Unread = unreadConfigs(o.Configs, o.Pods)
	o.filterAndSort()
	return o, nil
}

func (o *Objects) parse(item []byte) error {
	var of struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(item, &of); err != nil {
		return err
	}
	switch of.Kind {
	case "Node":
		return add(item, &o.Nodes)
	case "Pod":
		return add(item, &o.Pods)
	case "Event":
		return add(item, &o.Events)
	case "ConfigMap":
		return add(item, &o.Configs)
	}
	return nil
}

func add[T corev1.Node | corev1.Pod | corev1.Event | corev1.ConfigMap](item []byte, to *[]T) error {
	var object T
	if err := json.Unmarshal(item, &object); err != nil {
		return err
	}
	*to = append(*to, object)
	return nil
}
