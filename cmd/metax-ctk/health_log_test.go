// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/node"
)

// TestDriverErrorsText has a table and a line; a text cannot control the terminal.
func TestDriverErrorsText(t *testing.T) {
	last := time.Date(2026, 5, 4, 3, 2, 1, 0, time.Local)
	r := healthReport{
		DriverErrors: []node.DriverError{
			{GPU: 1, BDF: gpu.BDF{Bus: 0x0f}, Module: "IOCTL", Level: "ERROR", EID: 0x2202, Count: 3, Last: last, Text: "device array\x1b[31m empty"},
			{GPU: 1, BDF: gpu.BDF{Bus: 0x0f}, Module: "SMI", Level: "ALERT", Count: 1, Last: last, Text: "hot"},
		},
		DriverErrorsUnknown: "too many",
	}
	want := `
The driver has logged errors in this boot, which make no GPU unhealthy:
GPU  BDF           MODULE  LEVEL  EID     COUNT  LAST                 TEXT
1    0000:0f:00.0  IOCTL   ERROR  0x2202  3      2026-05-04 03:02:01  device array�[31m empty
1    0000:0f:00.0  SMI     ALERT  -       1      2026-05-04 03:02:01  hot
Errors that the driver has logged are unknown: too many
`
	if diff := cmp.Diff(want, r.driverErrorsText()); diff != "" {
		t.Error(diff)
	}
	if got := new(healthReport).driverErrorsText(); got != "" {
		t.Errorf("without errors: %q", got)
	}
	for want, err := range map[string]error{
		"": nil,
		"open /dev/kmsg: operation not permitted; as root, run: metax-ctk health": &fs.PathError{Op: "open", Path: "/dev/kmsg", Err: syscall.EPERM},
		"open /dev/kmsg: no such file or directory":                               &fs.PathError{Op: "open", Path: "/dev/kmsg", Err: syscall.ENOENT},
	} {
		if got := unknownErrors(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
