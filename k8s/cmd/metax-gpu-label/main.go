// SPDX-License-Identifier: Apache-2.0

// Command metax-gpu-label labels a Kubernetes node with what its MetaX GPUs are.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/urfave/cli/v2"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/k8s/internal/label"
	"github.com/metax-ctk/container-toolkit/k8s/internal/label/labeler"
	"github.com/metax-ctk/container-toolkit/k8s/internal/label/validate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/logging"
	"github.com/metax-ctk/container-toolkit/k8s/internal/program"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
	"github.com/metax-ctk/container-toolkit/k8s/internal/status"
)

// buildVersion is set by the linker.
var buildVersion = "unknown"

func main() { program.Main(newApp(), buildVersion) }

func newApp() *cli.App {
	return &cli.App{
		Name:            protocol.Label,
		Usage:           "label a Kubernetes node with what its MetaX GPUs are",
		HideHelpCommand: true,
		Flags:           flags(),
		Action:          run,
		Commands:        []*cli.Command{cleanupCommand()},
		ExitErrHandler:  func(*cli.Context, error) {},
		OnUsageError:    func(_ *cli.Context, err error, _ bool) error { return err },
	}
}

// The values of --output.
const (
	toLabels = "labels"
	toNFD    = "nfd"
)

func flags() []cli.Flag {
	env := func(name string) []string { return []string{"METAX_GPU_LABEL_" + name} }
	return append([]cli.Flag{
		&cli.StringFlag{Name: "node-name", EnvVars: append(env("NODE_NAME"), "NODE_NAME"), Usage: "name of the node object"},
		&cli.StringFlag{Name: "root", Value: "/", EnvVars: env("ROOT"), Usage: "directory that stands for the host's /"},
		&cli.StringFlag{
			Name: "product", Value: string(label.ProductManual), EnvVars: env("PRODUCT"),
			Usage: "value of gpu.product: manual (C500) or mx-smi (MXC500)",
		},
		&cli.StringFlag{
			Name: "output", Value: toLabels, EnvVars: env("OUTPUT"),
			Usage: "labels (on the node object) or nfd (a features file of Node Feature Discovery)",
		},
		&cli.StringFlag{
			Name: "nfd-file", Value: "/etc/kubernetes/node-feature-discovery/features.d/metax-gpu-label",
			EnvVars: env("NFD_FILE"), Usage: "features file that --output=nfd writes",
		},
		&cli.DurationFlag{Name: "interval", Value: time.Minute, EnvVars: env("INTERVAL"), Usage: "time between two readings"},
		&cli.BoolFlag{Name: "once", EnvVars: env("ONCE"), Usage: "exit when the labels are written"},
		&cli.BoolFlag{
			Name: "validate", EnvVars: env("VALIDATE"),
			Usage: "also say whether the node can give GPUs to containers; only with --output=labels",
		},
		&cli.StringFlag{
			Name: "engine-root", Value: "/", EnvVars: env("ENGINE_ROOT"),
			Usage: "directory of the host below which the container engine finds its files, for --validate",
		},
		&cli.StringFlag{Name: "ready-file", Value: "/run/metax-container-toolkit/validation/ready", EnvVars: env(
			"READY_FILE"), Usage: "file that exists while this program runs with --validate and finds the node ready"},
		&cli.StringFlag{
			Name: "metrics-address", EnvVars: env("METRICS_ADDRESS"),
			Usage: "address of /metrics and the probes, such as :8000; empty: none",
		},
		&cli.StringFlag{
			Name: "kubeconfig", EnvVars: env("KUBECONFIG"),
			Usage: "file to reach the API server with; empty in a pod",
		},
	}, logging.Flags(protocol.Label)...)
}

func run(c *cli.Context) error {
	if c.Args().Present() {
		return fmt.Errorf("%q is an argument; there are only options", c.Args().First())
	}
	product := label.ProductName(c.String("product"))
	if product != label.ProductManual && product != label.ProductMXSMI {
		return fmt.Errorf("--product %q: want %s or %s", product, label.ProductManual, label.ProductMXSMI)
	}
	if c.Duration("interval") <= 0 {
		return fmt.Errorf("--interval %s: want a time above 0", c.Duration("interval"))
	}
	log, closer, err := logging.New(c, protocol.Label, os.Stdout)
	if err != nil {
		return err
	}
	defer closer.Close()
	write, err := output(c, log)
	if err != nil {
		return err
	}
	host, err := hostfs.New(c.String("root"))
	if err != nil {
		return err
	}
	l := labeler.Labeler{
		Read:     func(ctx context.Context) (gpu.Node, error) { return labeler.Host(ctx, c.String("root")) },
		Reports:  func() (map[string]report.Report, []string) { return report.Read(host) },
		Recorded: func() string { return labeler.Recorded(host) },
		Product:  product, Write: write, Log: log,
	}
	ctx, stop := context.WithCancelCause(c.Context)
	defer stop(nil)
	registry := prometheus.NewRegistry()
	if c.Bool("validate") {
		validator, err := newValidator(c, host, log)
		if err != nil {
			return err
		}
		validator.Register(registry)
		defer validator.End()
		l.Validate = validator.Look
	}
	if address := c.String("metrics-address"); address != "" {
		go func() { stop(status.Serve(ctx, address, registry, func() error { return nil })) }()
	}
	err = l.Run(ctx, c.Duration("interval"), c.Bool("once"))
	if c.Context.Err() == nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// newValidator returns what --validate looks with.
func newValidator(c *cli.Context, host *hostfs.Root, log *slog.Logger) (*validate.Validator, error) {
	if c.String("output") != toLabels {
		return nil, fmt.Errorf("--validate reads the Node object, which --output=%s does not: use --output=%s",
			c.String("output"), toLabels)
	}
	config, err := apiConfig(c.String("kubeconfig"))
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &validate.Validator{
		Host: host, EngineRoot: c.String("engine-root"), Client: client, Node: c.String("node-name"),
		File: c.String("ready-file"), Log: log,
	}, nil
}

type write = func(ctx context.Context, labels map[string]string, reports string) (changed bool, err error)

// output returns the function that writes the labels where --output says.
func output(c *cli.Context, log *slog.Logger) (write, error) {
	switch c.String("output") {
	case toNFD:
		return labeler.File(c.String("nfd-file")).Write, nil
	case toLabels: // below
	default:
		return nil, fmt.Errorf("--output %q: want %s or %s", c.String("output"), toLabels, toNFD)
	}
	if c.String("node-name") == "" {
		return nil, errors.New("no node to label: set --node-name or NODE_NAME")
	}
	config, err := apiConfig(c.String("kubeconfig"))
	if err != nil {
		return nil, err
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return (&labeler.Node{Client: client, Name: c.String("node-name"), Log: log}).Write, nil
}

// apiConfig returns how to reach the API server of kubeconfig, or of the pod's cluster if that
// is empty.
func apiConfig(kubeconfig string) (*rest.Config, error) {
	config, err := rest.InClusterConfig()
	if kubeconfig != "" {
		config, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	config.Timeout = 10 * time.Second
	return config, nil
}
