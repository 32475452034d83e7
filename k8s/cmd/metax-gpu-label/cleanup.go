// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/urfave/cli/v2"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/k8s/internal/label/cleanup"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/slicefile"
)

// cleanupCommand are the steps of uninstalling the chart. They are in this program because its
// image is on every node.
func cleanupCommand() *cli.Command {
	return &cli.Command{
		Name: "cleanup", Usage: "removes what the chart's programs left, after they have ended",
		HideHelpCommand: true,
		Subcommands: []*cli.Command{
			{
				Name: "files", Usage: "removes the files of this host, and ends", Action: cleanFiles,
				Flags: []cli.Flag{
					directory("run-dir", "/run/metax-container-toolkit", "state until the next boot"),
					directory("lib-dir", protocol.HookDir, "metax-hook and the recorded node"),
					directory("cdi-dir", "/var/run/cdi", "CDI specs"),
					directory("slice-dir", protocol.SliceDir, "files that say whose slices of GPUs are"),
					&cli.StringSliceFlag{Name: "log-dir", Usage: "`DIR` with log files; can be repeated"},
					&cli.StringFlag{Name: "nfd-file", Usage: "features file of Node Feature Discovery"},
					directory("koordlet-dir", "", "the file of metax-gpu-device for Koordinator's koordlet"),
					&cli.StringFlag{
						Name: "podresources-socket", Value: podresources.Socket,
						Usage: "`SOCKET` on which the kubelet lists the devices of pods",
					},
				},
			},
			{
				Name: "stay", Usage: "does nothing until it is stopped; its pod is ready when files has ended",
				Action: func(c *cli.Context) error {
					<-c.Context.Done()
					return nil
				},
			},
			{
				Name:   "nodes",
				Usage:  "waits for the pods that remove the files, and removes labels, annotations and conditions of all Nodes",
				Action: cleanNodes,
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "namespace", EnvVars: []string{"NAMESPACE"}, Usage: "namespace of --daemonset"},
					&cli.StringFlag{Name: "daemonset", Usage: "DaemonSet that removes the files; empty: do not wait"},
					&cli.DurationFlag{Name: "timeout", Value: 4 * time.Minute, Usage: "wait up to `TIME`"},
					&cli.StringFlag{Name: "kubeconfig", Usage: "file to reach the API server with; empty in a pod"},
				},
			},
		},
	}
}

func directory(name, value, holds string) cli.Flag {
	return &cli.StringFlag{Name: name, Value: value, Usage: "`DIR` with " + holds}
}

func logger(c *cli.Context) *slog.Logger {
	log := slog.New(slog.NewJSONHandler(c.App.Writer, nil)).With("program", protocol.Label, "command",
		c.Command.FullName())
	slog.SetDefault(log) // of libraries
	return log
}

func cleanFiles(c *cli.Context) error {
	return cleanup.Files{
		Run: c.String("run-dir"), Lib: c.String("lib-dir"), CDI: c.String("cdi-dir"),
		Slices: slicefile.Dir(c.String("slice-dir")),
		Logs:   c.StringSlice("log-dir"), Features: c.String("nfd-file"), Koordlet: c.String("koordlet-dir"),
		List: podresources.New(c.String("podresources-socket")).List, Log: logger(c),
	}.Remove(c.Context)
}

func cleanNodes(c *cli.Context) error {
	config, err := apiConfig(c.String("kubeconfig"))
	if err != nil {
		return err
	}
	reader, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(c.Context, c.Duration("timeout"))
	defer cancel()
	var files error
	if name := c.String("daemonset"); name != "" {
		files = cleanup.Retry(waiting, func(ctx context.Context) error {
			return cleanup.Done(ctx, reader, c.String("namespace"), name)
		})
	}
	writing, cancel := context.WithTimeout(c.Context, time.Minute)
	defer cancel()
	return errors.Join(files, cleanup.Retry(writing, cleanup.Nodes{Client: client, Log: logger(c)}.Remove))
}
