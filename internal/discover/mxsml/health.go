// SPDX-License-Identifier: Apache-2.0

package mxsml

import (
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
)

// Health returns a reading without an index for each device with a valid address, except for
// virtual functions of a listed GPU.
func (a Answer) Health() []health.Reading {
	owners := a.vfOwners()
	var readings []health.Reading
	for _, d := range a.Devices {
		bdf, err := gpu.ParseBDF(d.BDF)
		if _, part := owners[d.ID]; part || err != nil {
			continue
		}
		uuid, _ := gpu.ParseUUID(d.UUID)
		readings = append(readings, health.Reading{GPU: health.GPU{UUID: uuid, BDF: bdf}, Problems: d.problems()})
	}
	return readings
}

func (d Device) problems() []health.Problem {
	if !d.Limited && (d.Available == nil || *d.Available) {
		return nil
	}
	p := health.Problem{Code: health.Vendor, Text: "libmxsml reports it as unhealthy"}
	if d.Limited {
		p.Text = limitedText
	}
	if d.Code != 0 {
		p.Code += fmt.Sprintf("-%d", d.Code)
	}
	if d.Reason != "" {
		p.Text, p.Words = p.Text+": "+d.Reason, d.Reason
	}
	return []health.Problem{p}
}

// limitedText is why a device is limited that has no reason of its own.
const limitedText = "libmxsml lists it as limited: the driver does not serve it"
