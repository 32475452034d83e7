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
	source, failed, err := h.ask(func(r mxsml.Reader) (int, error) {
		readings, err = r.Readings(ctx)
		return len(readings), err
	}, func(r mxsmi.Reader) error {
		readings, err = r.Readings(ctx)
		return err
	})
	switch {
	case !errors.Is(err, errNoTool):
		return readings, source, err
	case failed != nil:
		return nil, "", failed
	}
	return nil, "", fmt.Errorf("%w: there is neither libmxsml.so nor mx-smi in %s", ErrNoReadings, strings.Join(driverDirs, " or "))
}

// driverDirs are where the vendor's tools are looked for, for messages.
var driverDirs = []string{"/opt/mxdriver", "/opt/maca", "/opt/mxn100", "/usr/bin"}
