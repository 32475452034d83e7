// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover/kmsg"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
)

// TestDriverErrors: the errors of a GPU and of its virtual functions are the GPU's, in one
// order, with the time of the last.
func TestDriverErrors(t *testing.T) {
	at0e, at0f, function := gpu.BDF{Bus: 0x0e}, gpu.BDF{Bus: 0x0f}, gpu.BDF{Bus: 0x0f, Function: 1}
	gpus := []gpu.GPU{{Index: 3, BDF: at0e}, {Index: 4, BDF: at0f, VFs: []gpu.BDF{function}}}
	var log kmsg.Log
	for i, text := range []string{
		"METAX.B0F01.VF.ALERT x", "METAX.B0E00.SMI.ERROR a", "METAX.B0F00.SMI.ERROR b", "METAX.B1000.SMI.ERROR of no GPU",
		"METAX.B0E00.IOCTL.ERROR EID (0000:0e:00.0): 0x2202, c", "METAX.B0E00.SMI.ERROR d", "METAX.B0E00.SMI.ERROR EID (0000:0e:00.0): 0x1, e",
	} {
		log.Add(fmt.Sprintf("3,%d,%d499999,-;%s", i+1, i, text), gpus)
	}
	boot := time.Date(2026, 5, 4, 3, 2, 0, 0, time.FixedZone("", 8*3600))
	at := func(second int) time.Time { return time.Date(2026, 5, 3, 19, 2, second, 0, time.UTC) }
	want := []DriverError{
		{GPU: 3, BDF: at0e, Module: "IOCTL", Level: "ERROR", EID: 0x2202, Count: 1, Last: at(4), Text: "c"},
		{GPU: 3, BDF: at0e, Module: "SMI", Level: "ERROR", Count: 2, Last: at(5), Text: "a"},
		{GPU: 3, BDF: at0e, Module: "SMI", Level: "ERROR", EID: 1, Count: 1, Last: at(6), Text: "e"},
		{GPU: 4, BDF: at0f, Module: "SMI", Level: "ERROR", Count: 1, Last: at(2), Text: "b"},
		{GPU: 4, BDF: function, Module: "VF", Level: "ALERT", Count: 1, Last: at(0), Text: "x"},
	}
	if diff := cmp.Diff(want, driverErrors(log, gpus, boot)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[3:], driverErrors(log, gpus[1:], boot)); diff != "" {
		t.Errorf("without a GPU: %s", diff)
	}
}

// TestDriverErrorsElsewhere: a node that is not this machine has no log, also if it has a GPU
// of this machine.
func TestDriverErrorsElsewhere(t *testing.T) {
	for _, s := range []Selector{{Node: "c500-8"}, {Root: t.TempDir()}, {Node: Host, Root: t.TempDir()}} {
		found, err := s.DriverErrors(t.Context(), health.State{GPUs: []health.Condition{{GPU: health.GPU{BDF: gpu.BDF{Bus: 0x0e}}}}})
		if found != nil || err != nil {
			t.Errorf("%+v: %+v, %v", s, found, err)
		}
	}
}
