// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// podReader reads of a pod what a scheduler extender needs.
type podReader struct {
	pod         *corev1.Pod
	resource    corev1.ResourceName
	annotations []string
}

func (r podReader) readPod(text []byte) error {
	return eachMember(text, func(name string, value []byte) error {
		switch name {
		case "metadata":
			return prefixError(name, r.readMeta(value))
		case "spec":
			return prefixError(name, eachMember(value, func(name string, value []byte) error {
				switch name {
				case "containers":
					return prefixError(name, r.readContainers(value, &r.pod.Spec.Containers))
				case "schedulerName":
					var err error
					r.pod.Spec.SchedulerName, err = readName(value)
					return err
				case "initContainers":
					return prefixError(name, r.readContainers(value, &r.pod.Spec.InitContainers))
				}
				return nil
			}))
		}
		return nil
	})
}

func (r podReader) readMeta(text []byte) error {
	return eachMember(text, func(name string, value []byte) (err error) {
		switch name {
		case "name":
			r.pod.Name, err = readName(value)
		case "namespace":
			r.pod.Namespace, err = readName(value)
		case "uid":
			var uid string
			uid, err = readName(value)
			r.pod.UID = types.UID(uid)
		case "annotations":
			r.pod.Annotations = map[string]string{}
			err = eachMember(value, func(name string, value []byte) (err error) {
				if slices.Contains(r.annotations, name) {
					r.pod.Annotations[name], err = decodeString(value)
				}
				return err
			})
		}
		return err
	})
}

func (r podReader) readContainers(text []byte, to *[]corev1.Container) error {
	*to = nil
	return eachElement(text, func(value []byte) error {
		if len(*to) == maxContainers {
			return fmt.Errorf("more than %d", maxContainers)
		}
		var c corev1.Container
		err := eachMember(value, func(name string, value []byte) error {
			switch name {
			case "restartPolicy":
				word, err := readName(value)
				c.RestartPolicy = nil
				if word != "" {
					c.RestartPolicy = new(corev1.ContainerRestartPolicy(word))
				}
				return err
			case "resources":
				c.Resources = corev1.ResourceRequirements{}
				return eachMember(value, func(name string, value []byte) error {
					switch name {
					case "requests":
						return r.readQuantity(value, &c.Resources.Requests)
					case "limits":
						return r.readQuantity(value, &c.Resources.Limits)
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

// readQuantity reads how much of the resource is in a list. A quantity may also be a number.
func (r podReader) readQuantity(text []byte, to *corev1.ResourceList) error {
	*to = nil
	return eachMember(text, func(name string, value []byte) error {
		if name != string(r.resource) || value[0] == 'n' {
			return nil
		}
		word := string(value)
		if len(word) <= maxQuantity && value[0] == '"' {
			var err error
			if word, err = decodeString(value); err != nil {
				return err
			}
		}
		if len(word) > maxQuantity {
			return fmt.Errorf("%s: a quantity is longer than %d bytes", name, maxQuantity)
		}
		q, err := resource.ParseQuantity(word)
		*to = corev1.ResourceList{r.resource: q}
		return prefixError(name, err)
	})
}
