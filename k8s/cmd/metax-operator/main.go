// SPDX-License-Identifier: Apache-2.0

// Command metax-operator deploys what a cluster with MetaX GPUs needs, as a ClusterOperator
// says.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/urfave/cli/v2"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/metax-ctk/container-toolkit/k8s/charts"
	"github.com/metax-ctk/container-toolkit/k8s/internal/label/cleanup"
	"github.com/metax-ctk/container-toolkit/k8s/internal/logging"
	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/controller"
	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/faults"
	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/plan"
	"github.com/metax-ctk/container-toolkit/k8s/internal/program"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// buildVersion is set by the linker.
var buildVersion = "unknown"

func main() { program.Main(newApp(), buildVersion) }

func newApp() *cli.App {
	kubeconfig := &cli.StringFlag{Name: "kubeconfig", Usage: "file to reach the API server with; empty in a pod"}
	return &cli.App{
		Name:            protocol.Operator,
		Usage:           "deploy what a cluster with MetaX GPUs needs",
		HideHelpCommand: true,
		Commands: append(driverCommands(), []*cli.Command{
			runtimeCommand(), macaCommand(), vfCommand(), vfioCommand(),
			{
				Name: "controller", Usage: "follows the ClusterOperator until it is stopped", Action: control,
				Flags: append([]cli.Flag{
					&cli.StringFlag{
						Name: "namespace", EnvVars: []string{"NAMESPACE"}, Usage: "`NAMESPACE` of what is deployed",
						Required: true,
					},
					&cli.StringFlag{Name: "release", Value: protocol.Operator, Usage: "`NAME` in the labels of what is deployed"},
					&cli.StringFlag{Name: "values", Usage: "`FILE` with values of the chart metax-gpu-extensions"},
					&cli.StringFlag{Name: "values-sha256", Usage: "`SUM` that the file of --values has to have; empty for any"},
					&cli.StringFlag{Name: "aware-namespace", Usage: "`NAMESPACE` of metax-gpu-aware; empty without it"},
					&cli.BoolFlag{Name: "driver-upgrades", Usage: "upgrade the driver of nodes, which needs more rights"},
					&cli.StringFlag{
						Name: "on-fatal", Value: string(faults.None),
						Usage: "what follows where a GPU is lost to its pods: none, taint or evict, which needs more rights",
					},
					&cli.StringFlag{Name: "health-address", Value: ":8081", Usage: "`ADDRESS` of /healthz and /readyz"},
					&cli.StringFlag{Name: "metrics-address", Value: "0", Usage: "`ADDRESS` of /metrics; 0 for none"},
					kubeconfig,
				}, logging.Flags(protocol.Operator)...),
			},
			{
				Name: "define", Usage: "makes the definition of ClusterOperator that of this version, and ends",
				Flags: []cli.Flag{kubeconfig},
				Action: func(c *cli.Context) error {
					return removal(c, time.Minute,
						func(ctx context.Context, r controller.Removal) error { return r.Define(ctx, charts.CRD) })
				},
			},
			{
				Name:  "undefine",
				Usage: "deletes the controllers' Lease, and the definition of ClusterOperator unless an object is left, and ends",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "namespace", Usage: "`NAMESPACE` of the Lease", Required: true},
					kubeconfig,
				},
				Action: func(c *cli.Context) error {
					return removal(c, time.Minute, func(ctx context.Context, r controller.Removal) error {
						return errors.Join(r.Lease(ctx, c.String("namespace")), r.Undefine(ctx))
					})
				},
			},
			{
				Name: "remove", Usage: "deletes the ClusterOperator, waits for its end, and ends",
				Flags: []cli.Flag{
					&cli.DurationFlag{Name: "grace", Value: time.Minute, Usage: "let it go after `TIME` if the controller does not"},
					kubeconfig,
				},
				Action: func(c *cli.Context) error {
					grace := c.Duration("grace")
					return removal(c, grace+time.Minute,
						func(ctx context.Context, r controller.Removal) error { return r.Object(ctx, grace) })
				},
			},
		}...),
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   func(_ *cli.Context, err error, _ bool) error { return err },
	}
}

func control(c *cli.Context) error {
	log, file, err := logging.New(c, protocol.Operator, c.App.Writer)
	if err != nil {
		return err
	}
	defer file.Close()
	var values []byte
	if name := c.String("values"); name != "" {
		if values, err = os.ReadFile(name); err != nil { //nolint:gosec // G304: --values, which the chart mounts
			return err
		}
		if is, want := fmt.Sprintf("%x", sha256.Sum256(values)), c.String("values-sha256"); want != "" && is != want {
			return fmt.Errorf(
				"the values in %s have SHA-256 %s, and the release has %s: somebody changed them beside helm; to put them right: helm upgrade --reuse-values", name, is, want)
		}
	}
	onFatal, err := faults.ParseMode(c.String("on-fatal"))
	if err != nil {
		return fmt.Errorf("--on-fatal: %w", err)
	}
	manifests, err := plan.NewManifests(charts.Extensions, charts.Operator, values, c.String("release"),
		c.String("namespace"))
	if err != nil {
		return err
	}
	config, err := apiConfig(c)
	if err != nil {
		return err
	}
	return controller.Run(c.Context, config, controller.Options{
		Namespace: c.String("namespace"), AwareNamespace: c.String("aware-namespace"), Health: c.String("health-address"),
		Metrics: c.String("metrics-address"), Manifests: manifests, Upgrades: c.Bool("driver-upgrades"), OnFatal: onFatal,
		Log: log,
	})
}

// removal runs one step of installing or uninstalling, with a time limit.
func removal(c *cli.Context, limit time.Duration, step func(context.Context, controller.Removal) error) error {
	config, err := apiConfig(c)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Context, limit)
	defer cancel()
	log := slog.New(slog.NewJSONHandler(c.App.Writer, nil)).With("program", protocol.Operator, "command", c.Command.Name)
	slog.SetDefault(log) // of libraries
	// The roles of a hook are a moment old, and the API server may not know them yet.
	return cleanup.Retry(ctx,
		func(ctx context.Context) error { return step(ctx, controller.Removal{Client: client, Log: log}) })
}

// apiConfig returns how to reach the API server of --kubeconfig, or of the pod's cluster
// without it.
func apiConfig(c *cli.Context) (config *rest.Config, err error) {
	if name := c.String("kubeconfig"); name != "" {
		config, err = clientcmd.BuildConfigFromFlags("", name)
	} else {
		config, err = rest.InClusterConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	return config, nil
}
