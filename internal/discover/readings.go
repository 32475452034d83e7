package discover

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// ErrNoReadings reports a host with neither libmxsml nor mx-smi.
var ErrNoReadings = errors.New("GPUs cannot be read")

// Readings queries what each GPU of the host measures now, from libmxsml, or from mx-smi if
// libmxsml is absent or gives no answer. source is "libmxsml" or "mx-smi". Each runs in a
// process of its own, which ends with the context or after Timeout.
func (h Host) Readings(ctx context.Context) (readings []gpu.Reading, source string, err error) {
	library := fmt.Errorf("%w: there is neither libmxsml.so nor mx-smi in %s", ErrNoReadings, strings.Join(driverDirs, " or "))
	if path, ok := h.Root.First(mxsml.Paths()); ok && h.Library != nil {
		readings, err := mxsml.Reader{Run: h.Library, Path: path, Timeout: h.Timeout}.Readings(ctx)
		if err == nil && len(readings) > 0 {
			return readings, "libmxsml", nil
		}
		if library = err; err == nil {
			library = fmt.Errorf("%w: libmxsml reports no GPU", ErrNoReadings)
		}
	}
	path, ok := h.Root.First(mxsmi.Paths())
	if !ok || h.Run == nil {
		return nil, "", library
	}
	readings, err = mxsmi.Reader{Run: h.Run, Path: path, Timeout: h.Timeout}.Readings(ctx)
	return readings, "mx-smi", err
}

// driverDirs are where the vendor's tools are looked for, for messages.
var driverDirs = []string{"/opt/mxdriver", "/opt/maca", "/opt/mxn100", "/usr/bin"}
