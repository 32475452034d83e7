// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/k8s/internal/device/insidelook"
)

func lookCommand() *cli.Command {
	return &cli.Command{
		Name: "look", Usage: "shows the GPUs that this container was given, and fails if it may not open them",
		Flags: []cli.Flag{
			&cli.IntFlag{
				Name: "gpus", Value: 1, Usage: "number of GPUs that the container requested",
				EnvVars: envVarsOf("gpus"),
			},
			stringFlag("host-dev", "",
				"directory of this container with the node's /dev: also tries what was not given, and fails if it can be opened"),
		},
		Action: look,
	}
}

// look is the pod of "helm test".
func look(c *cli.Context) error {
	container := insidelook.Container{
		Root: "/", HostDev: c.String("host-dev"), Env: os.Getenv,
		Open: func(path string) error {
			file, err := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // G304: a device node of a GPU in a /dev
			if err != nil {
				return err
			}
			return file.Close()
		},
	}
	found, err := container.Look()
	if err != nil {
		return err
	}
	fmt.Fprint(c.App.Writer, found)
	return found.Check(c.Int("gpus"))
}
