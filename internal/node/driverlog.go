// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/discover/kmsg"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// kernelLog is the device of the kernel's log.
const kernelLog = "/dev/kmsg"

// DriverError is an error of a GPU that the driver wrote to the kernel's log in this boot.
type DriverError struct {
	GPU int `json:"gpu"` // index
	// BDF is the address in the message: that of the GPU or of one of its virtual functions.
	BDF    gpu.BDF `json:"bdf"`
	Module string  `json:"module"` // of the driver
	Level  string  `json:"level"`  // ERROR or ALERT
	// EID is the vendor's number of the error, 0 without one. MetaX publishes no list of them.
	EID   uint32 `json:"eid,omitempty"`
	Count int    `json:"count"`
	// Last is when it was logged for the last time, in seconds.
	Last time.Time `json:"last"`
	Text string    `json:"text"` // of the first message
}

// DriverErrors returns what the kernel's log of this machine says about the GPUs of a state of
// health, in the order of GPUs, modules and numbers. A node elsewhere has nothing. If the log
// cannot be read to its end, there is an error beside what was found.
func (s Selector) DriverErrors(ctx context.Context, state health.State) ([]DriverError, error) {
	root, err := hostfs.New(s.Root)
	if err != nil || !s.IsHost() || !root.Real() {
		return nil, err
	}
	n, err := Selector{NoLinks: true}.Load(ctx) // the kernel knows addresses and functions
	if err != nil {
		return nil, err
	}
	isOut := func(g gpu.GPU) bool {
		return !slices.ContainsFunc(state.GPUs, func(c health.Condition) bool { return c.BDF == g.BDF })
	}
	gpus := slices.DeleteFunc(n.GPUs, isOut)
	var log kmsg.Log
	err = readKernelLog(root, &log, gpus)
	var since unix.Timespec
	if clockErr := unix.ClockGettime(unix.CLOCK_MONOTONIC, &since); clockErr != nil {
		return nil, fmt.Errorf("read the clock: %w", clockErr)
	}
	return driverErrors(log, gpus, time.Now().Add(-time.Duration(since.Nano()))), err
}

// readKernelLog reads the kernel's log, and nothing else that may have its name: in a
// container, that is sometimes a terminal.
func readKernelLog(root *hostfs.Root, log *kmsg.Log, gpus []gpu.GPU) error {
	device, err := root.Device(kernelLog)
	switch {
	case err != nil:
		return err
	case device.Major != 1 || device.Minor != 11:
		return fmt.Errorf("%s is the device %d:%d, not the kernel's log 1:11", kernelLog, device.Major, device.Minor)
	}
	f, err := os.OpenFile(kernelLog, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return log.ReadAll(f, gpus)
}

// driverErrors are the errors in a log as those of the GPUs; boot is when the kernel's clock
// began.
func driverErrors(log kmsg.Log, gpus []gpu.GPU, boot time.Time) (all []DriverError) {
	for _, c := range log.GPUs {
		at := slices.IndexFunc(gpus, func(g gpu.GPU) bool { return g.BDF == c.BDF || slices.Contains(g.VFs, c.BDF) })
		if at < 0 {
			continue
		}
		for _, e := range c.Errors {
			last := boot.Add(time.Duration(e.Last) * time.Microsecond).UTC().Round(time.Second)
			all = append(all, DriverError{
				GPU: gpus[at].Index, BDF: c.BDF, Module: e.Module, Level: e.Level, EID: e.EID,
				Count: e.Count, Last: last, Text: e.Text,
			})
		}
	}
	slices.SortFunc(all, func(a, b DriverError) int {
		return cmp.Or(cmp.Compare(a.GPU, b.GPU), a.BDF.Compare(b.BDF), cmp.Compare(a.Module, b.Module),
			cmp.Compare(a.Level, b.Level), cmp.Compare(a.EID, b.EID))
	})
	return all
}
