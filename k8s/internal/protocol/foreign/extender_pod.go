// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// questionReader reads a question of a scheduler, and of its pods what an extender needs.
type questionReader struct {
	scanner
	resource    corev1.ResourceName
	annotations []string
	containers  int // up to now
}

// parseAskedPod is parsePod of a text all of which has to be JSON.
func (r *questionReader) parseAskedPod(text []byte) (*corev1.Pod, error) {
	if !json.Valid(text) {
		return nil, errNotJSON
	}
	return r.parsePod(text)
}

// parsePod reads the text of a pod. It does not check the parts that it skips.
func (r *questionReader) parsePod(text []byte) (*corev1.Pod, error) {
	after := r.scanner
	r.scanner = scanner{text}
	defer func() { r.scanner = after }()
	var pod corev1.Pod
	err := r.members(func(name []byte) error {
		switch string(name) {
		case "metadata":
			return prefixError("metadata", r.readMeta(&pod))
		case "spec":
			return prefixError("spec", r.readSpec(&pod.Spec))
		}
		return nil
	})
	return &pod, prefixError("Pod", err)
}

func (r *questionReader) readMeta(pod *corev1.Pod) error {
	return r.members(func(name []byte) (err error) {
		switch string(name) {
		case "name":
			pod.Name, err = r.readName()
		case "namespace":
			pod.Namespace, err = r.readName()
		case "uid":
			var uid string
			uid, err = r.readName()
			pod.UID = types.UID(uid)
		case "annotations":
			pod.Annotations = map[string]string{}
			err = r.members(func(name []byte) error {
				at := slices.Index(r.annotations, string(name))
				if at < 0 {
					return nil
				}
				value, err := r.value()
				if err == nil {
					pod.Annotations[r.annotations[at]], err = decodeString(value)
				}
				return err
			})
		}
		return err
	})
}

func (r *questionReader) readSpec(spec *corev1.PodSpec) error {
	return r.members(func(name []byte) (err error) {
		switch string(name) {
		case "containers":
			err = prefixError("containers", r.readContainers(&spec.Containers))
		case "schedulerName":
			spec.SchedulerName, err = r.readName()
		case "initContainers":
			err = prefixError("initContainers", r.readContainers(&spec.InitContainers))
		}
		return err
	})
}

func (r *questionReader) readContainers(to *[]corev1.Container) error {
	*to = nil
	return r.items('[', ']', func() error {
		if len(*to) == maxContainers {
			return fmt.Errorf("more than %d", maxContainers)
		}
		if err := r.countContainers(1); err != nil {
			return err
		}
		var c corev1.Container
		err := r.members(func(name []byte) error {
			switch string(name) {
			case "restartPolicy":
				word, err := r.readName()
				c.RestartPolicy = nil
				if word != "" {
					c.RestartPolicy = new(corev1.ContainerRestartPolicy(word))
				}
				return err
			case "resources":
				c.Resources = corev1.ResourceRequirements{}
				return r.members(func(name []byte) error {
					switch string(name) {
					case "requests":
						return r.readQuantity(&c.Resources.Requests)
					case "limits":
						return r.readQuantity(&c.Resources.Limits)
					}
					return nil
				})
			}
			return nil
		})
		*to = append(*to, c)
		return err
	})
}

// countContainers bounds the containers of all pods together.
func (r *questionReader) countContainers(more int) error {
	if r.containers += more; r.containers > mostContainers {
		return fmt.Errorf("more than %d of all pods", mostContainers)
	}
	return nil
}

// readQuantity reads how much of the resource is in a list. A quantity may also be a number.
func (r *questionReader) readQuantity(to *corev1.ResourceList) error {
	*to = nil
	return r.members(func(name []byte) error {
		if string(name) != string(r.resource) {
			return nil
		}
		value, err := r.value()
		if err != nil || value[0] == 'n' {
			return err
		}
		word := string(value[:min(len(value), maxQuantity+1)])
		if len(word) <= maxQuantity && value[0] == '"' {
			if word, err = decodeString(value); err != nil {
				return err
			}
		}
		if len(word) > maxQuantity {
			return fmt.Errorf("%s: a quantity is longer than %d bytes", r.resource, maxQuantity)
		}
		q, err := resource.ParseQuantity(word)
		*to = corev1.ResourceList{r.resource: q}
		return prefixError(string(r.resource), err)
	})
}

// readName reads a name; null is empty.
func (r *questionReader) readName() (string, error) {
	text, err := r.value()
	if err == nil && len(text) > maxName+len(`""`) {
		err = fmt.Errorf("a name is longer than %d bytes", maxName)
	}
	if err != nil {
		return "", err
	}
	return decodeString(text)
}
