package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/k8s/internal/logging"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/publish"
)

func cleanupCommand() *cli.Command {
	node := text("node-name", "", "name of this node")
	node.EnvVars = append(node.EnvVars, "NODE_NAME")
	return &cli.Command{
		Name: "cleanup", Usage: "removes from the Node what run published, and ends",
		Flags: append([]cli.Flag{
			node,
			text("kubeconfig", "", "file that names the API server; empty for the one of this pod's cluster"),
		}, logging.Flags(protocol.Device)...),
		Action: func(c *cli.Context) error {
			log, file, err := logging.New(c, protocol.Device, c.App.Writer)
			if err != nil {
				return err
			}
			defer file.Close()
			log = log.With("command", c.Command.Name)
			api := client(c.String("kubeconfig"), log)
			if name := c.String("node-name"); name != "" && api != nil {
				return publish.New(api, name, log).Remove(c.Context)
			}
			return errors.New("nothing is removed: name the node (--node-name) and the API server (--kubeconfig)")
		},
	}
}
