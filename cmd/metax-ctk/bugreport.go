// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/doctor"
)

func (t toolkit) bugreportCommand() *cli.Command {
	return &cli.Command{
		Name:      "bugreport",
		Usage:     "collect a snapshot, doctor's findings and versions in one text file",
		ArgsUsage: "[FILE]",
		Flags:     []cli.Flag{fileFlag()},
		Action: func(c *cli.Context) error {
			host, err := t.snapshotHost(c)
			if err != nil {
				return err
			}
			taken, err := host.BugReport(c.Context, func() (string, error) {
				found, err := t.diagnoseHost(c, doctor.Checks())
				return found.Text(), err
			})
			if err != nil {
				return err
			}
			return t.saveSnapshot(c, taken)
		},
	}
}
