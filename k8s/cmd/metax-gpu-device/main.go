// SPDX-License-Identifier: Apache-2.0

// Command metax-gpu-device is the device plugin of MetaX GPUs and the programs in its pod.
package main

import (
	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/k8s/internal/program"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// buildVersion is set by the linker.
var buildVersion = "unknown"

func main() { program.Main(app(), buildVersion) }

// app is the command line. Without the name of a command it is that of run.
func app() *cli.App {
	run := runCommand()
	return &cli.App{
		Name: protocol.Device, Usage: "gives MetaX GPUs to the pods of a Kubernetes node",
		Flags: run.Flags, Action: run.Action,
		Commands: []*cli.Command{run, healthCommand(), cdiCommand(), lookCommand()},
	}
}
