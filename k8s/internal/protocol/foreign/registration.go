// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"encoding/json"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Registered is a GPU in the RegistrationAnnotation, by which schedulers know what can be cut
// from it. Every field is always written: HAMi takes a GPU without "healthy" for unhealthy.
type Registered struct {
	UUID             gpu.UUID `json:"uuid"`
	BDF              string   `json:"bdf"`
	Model            string   `json:"model"`
	TotalDevices     int      `json:"totalDevCount"`
	TotalCompute     int      `json:"totalCompute"`
	TotalMemory      int      `json:"totalVRam"` // MiB
	AvailableDevices int      `json:"availableDevCount"`
	AvailableCompute int      `json:"availableCompute"`
	AvailableMemory  int      `json:"availableVRam"`
	NUMA             int      `json:"numa"`
	Healthy          bool     `json:"healthy"`
	// QoS is the class of the GPU's slices; empty if it can have any.
	QoS string `json:"qosPolicy"`
	// Domain is the MetaXLink domain from 1; 0 if the GPU is in none.
	Domain int `json:"linkZone"`
}

// Registration returns the annotation; empty for no GPU, since schedulers refuse an empty
// list.
func Registration(list []Registered) string {
	if len(list) == 0 {
		return ""
	}
	text, err := json.Marshal(list)
	if err != nil {
		return "" // does not happen: there are only numbers, strings and booleans
	}
	return string(text)
}
