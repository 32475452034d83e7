// SPDX-License-Identifier: Apache-2.0

package podresources

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of the fields that are read, as k8s.io/kubelet/pkg/apis/podresources/v1
// states them.
const (
	fieldPods = 1 // of ListPodResourcesResponse

	fieldAllocatable = 1 // of AllocatableResourcesResponse

	fieldPodName       = 1 // of PodResources
	fieldPodNamespace  = 2
	fieldPodContainers = 3

	fieldContainerName    = 1 // of ContainerResources
	fieldContainerDevices = 2

	fieldResource = 1 // of ContainerDevices
	fieldIDs      = 2
)

// decodeListResponse reads a ListPodResourcesResponse. Fields that it does not know are passed
// over.
func decodeListResponse(message []byte) ([]Container, error) {
	var list []Container
	err := fields(message, func(field protowire.Number, pod []byte) error {
		if field != fieldPods {
			return nil
		}
		containers, err := decodePod(pod)
		list = append(list, containers...)
		return err
	})
	return list, err
}

// decodeAllocatable reads an AllocatableResourcesResponse.
func decodeAllocatable(message []byte) (map[string][]string, error) {
	all := map[string][]string{}
	err := fields(message, func(field protowire.Number, value []byte) error {
		if field != fieldAllocatable {
			return nil
		}
		resource, ids, err := decodeDevices(value)
		if len(ids) > 0 {
			all[resource] = append(all[resource], ids...)
		}
		return err
	})
	return all, err
}

func decodePod(message []byte) ([]Container, error) {
	var name, namespace string
	var list []Container
	err := fields(message, func(field protowire.Number, value []byte) error {
		switch field {
		case fieldPodName:
			name = string(value)
		case fieldPodNamespace:
			namespace = string(value)
		case fieldPodContainers:
			c, err := decodeContainer(value)
			if len(c.Devices) > 0 {
				list = append(list, c)
			}
			return err
		}
		return nil
	})
	for i := range list {
		list[i].Pod, list[i].Namespace = name, namespace
	}
	return list, err
}

func decodeContainer(message []byte) (c Container, err error) {
	err = fields(message, func(field protowire.Number, value []byte) error {
		switch field {
		case fieldContainerName:
			c.Name = string(value)
		case fieldContainerDevices:
			resource, ids, err := decodeDevices(value)
			if len(ids) > 0 {
				if c.Devices == nil {
					c.Devices = map[string][]string{}
				}
				c.Devices[resource] = append(c.Devices[resource], ids...) // one message for each NUMA node
			}
			return err
		}
		return nil
	})
	return c, err
}

func decodeDevices(message []byte) (resource string, ids []string, err error) {
	err = fields(message, func(field protowire.Number, value []byte) error {
		switch field {
		case fieldResource:
			resource = string(value)
		case fieldIDs:
			ids = append(ids, string(value))
		}
		return nil
	})
	return resource, ids, err
}

// fields calls read with each field of a message that is a string or a message.
func fields(message []byte, read func(field protowire.Number, value []byte) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return fmt.Errorf("not a message: %w", protowire.ParseError(n))
		}
		message = message[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(field, kind, message); n < 0 {
				return fmt.Errorf("field %d: %w", field, protowire.ParseError(n))
			}
			message = message[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(message)
		if n < 0 {
			return fmt.Errorf("field %d: %w", field, protowire.ParseError(n))
		}
		message = message[n:]
		if err := read(field, value); err != nil {
			return err
		}
	}
	return nil
}
