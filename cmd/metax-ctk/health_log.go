// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// readDriverErrors adds what the driver has logged about these GPUs, or why that is unknown.
func (r *healthReport) readDriverErrors(ctx context.Context, selector node.Selector) {
	found, err := selector.DriverErrors(ctx, r.State)
	r.DriverErrors = found
	r.DriverErrorsUnknown = unknownErrors(err)
}

// unknownErrors is why the driver's errors are unknown, and what to do; empty without err.
func unknownErrors(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fs.ErrPermission):
		return terminal.Message(err.Error()) + "; as root, run: metax-ctk health"
	}
	return terminal.Message(err.Error())
}

// driverErrorsText is a table of the errors, and a line if they are unknown.
func (r *healthReport) driverErrorsText() (text string) {
	if len(r.DriverErrors) > 0 {
		rows := [][]string{{"GPU", "BDF", "MODULE", "LEVEL", "EID", "COUNT", "LAST", "TEXT"}}
		for _, e := range r.DriverErrors {
			eid := ""
			if e.EID != 0 {
				eid = fmt.Sprintf("0x%x", e.EID)
			}
			rows = append(rows, []string{
				strconv.Itoa(e.GPU), e.BDF.String(), e.Module, e.Level, eid, strconv.Itoa(e.Count), formatTime(e.Last), e.Text,
			})
		}
		text = "\nThe driver has logged errors in this boot, which make no GPU unhealthy:\n" + terminal.Table(rows)
	}
	if r.DriverErrorsUnknown != "" {
		text += "Errors that the driver has logged are unknown: " + r.DriverErrorsUnknown + "\n"
	}
	return text
}
