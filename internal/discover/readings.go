// SPDX-License-Identifier: Apache-2.0

package discover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover/layout"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// ErrNoReadings reports a host with neither libmxsml nor mx-smi.
var ErrNoReadings = errors.New("GPUs cannot be read")

// FromDriver is the source of readings that only the driver's own files have.
const FromDriver = "driver"

// Readings queries what each GPU of the host measures now, from libmxsml, or from mx-smi if
// libmxsml is absent or gives no answer; what they do not say is read in the driver's own
// files. source is "libmxsml", "mx-smi" or FromDriver. Each program runs in a process of its
// own, which ends with the context or after Timeout.
func (h Host) Readings(ctx context.Context, n gpu.Node) (readings []gpu.Reading, source string, err error) {
	source, failed, err := h.queryVendor(func(r mxsml.Reader) (int, error) {
		readings, err = r.Readings(ctx)
		return len(readings), err
	}, func(r mxsmi.Reader) error {
		readings, err = r.Readings(ctx)
		return err
	})
	if err != nil {
		readings, source = nil, FromDriver
	}
	filled, late := layout.Fill(h.Root, n, readings)
	switch {
	case err == nil || slices.ContainsFunc(filled, showsLoad):
		return filled, source, nil
	case late != nil:
		return nil, "", late
	case errors.Is(err, errNoTool) && failed != nil:
		return nil, "", failed
	case errors.Is(err, errNoTool):
		return nil, "",
			fmt.Errorf("%w: there is neither libmxsml.so nor mx-smi in %s", ErrNoReadings, strings.Join(driverDirs, " or "))
	}
	return nil, "", err
}

// showsLoad reports whether a GPU says how much of it is used, for which readings are asked
// first of all.
func showsLoad(r gpu.Reading) bool { return r.UtilizationPercent != nil || r.MemoryUsedMiB != nil }

// driverDirs are where the vendor's tools are looked for, for messages.
var driverDirs = []string{"/opt/mxdriver", "/opt/maca", "/opt/mxn100", "/usr/bin"}
