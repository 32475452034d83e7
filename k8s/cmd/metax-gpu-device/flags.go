// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/plugin"
	"github.com/metax-ctk/container-toolkit/k8s/internal/logging"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

// envVarsOf returns the environment twin of a flag.
func envVarsOf(flag string) []string {
	return []string{"METAX_GPU_DEVICE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))}
}

func stringFlag(name, value, usage string) *cli.StringFlag {
	return &cli.StringFlag{Name: name, Value: value, Usage: usage, EnvVars: envVarsOf(name)}
}

// runFlags are those of the plugin.
func runFlags() []cli.Flag {
	node := stringFlag("node-name", "", "name of this node")
	node.EnvVars = append(node.EnvVars, "NODE_NAME")
	return append([]cli.Flag{
		node,
		stringFlag("kubeconfig", "", "file that names the API server; empty for the one of this pod's cluster"),
		stringFlag("namespace", protocol.Namespace, "namespace of the ConfigMap "+protocol.ConfigMapName),
		stringFlag("root", "/host", "directory at which the files of the host are"),
		stringFlag("engine-root", "/", "directory of the host below which the container engine finds them"),
		stringFlag("health-socket", protocol.HealthSocket, "socket of the reader of GPU health"),
		stringFlag("kubelet-dir", "/var/lib/kubelet/device-plugins", "directory of the kubelet's device plugins"),
		stringFlag("podresources-socket", podresources.Socket, "socket on which the kubelet lists the devices of pods"),
		stringFlag("state-dir", "/run/metax-container-toolkit/k8s", "directory for the record of allocations"),
		&cli.BoolFlag{
			Name:    "mixed-nodes",
			Usage:   "share the GPUs with Docker and Podman: give a pod only GPUs that have no lease, and lease them",
			EnvVars: envVarsOf("mixed-nodes"),
		},
		stringFlag("leases-dir", "/run/metax-container-toolkit/leases", "directory of the leases of metax-docker"),
		stringFlag("slice-dir", protocol.SliceDir,
			"directory for files that tell exporters whose slices of GPUs are; empty for none"),
		stringFlag("koordlet-dir", "", "directory for a file with the GPUs for Koordinator's koordlet, such as "+
			foreign.KoordletDir+"; empty for none"),
		stringFlag("resource", protocol.Resource, "name of the resource"),
		&cli.IntFlag{
			Name: "healthy-interval", Value: 5,
			Usage:   "seconds between two looks at the health of GPUs; 0: a reader that does not answer changes nothing",
			EnvVars: envVarsOf("healthy-interval"),
		},
		&cli.IntFlag{
			Name: "good-looks", Value: health.DefaultRules.Good,
			Usage: "looks in a row until an unhealthy GPU is healthy again", EnvVars: envVarsOf("good-looks"),
		},
		&cli.IntFlag{
			Name: "bad-looks", Value: health.DefaultRules.Bad, Usage: "looks in a row until a GPU is unhealthy",
			EnvVars: envVarsOf("bad-looks"),
		},
		&cli.StringSliceFlag{
			Name: "ignore-codes", Usage: "codes of problems that do not make a GPU unhealthy",
			EnvVars: envVarsOf("ignore-codes"),
		},
		&cli.StringSliceFlag{
			Name: "exclude-gpus", Usage: "GPUs that are not given to pods: indices, UUIDs or PCI addresses",
			EnvVars: envVarsOf("exclude-gpus"),
		},
		&cli.BoolFlag{
			Name: "list-unhealthy", Value: true, Usage: "unhealthy GPUs count in the node's capacity",
			EnvVars: envVarsOf("list-unhealthy"),
		},
		stringFlag("device-list-strategy", string(allocate.Auto),
			"how containers get their devices: auto, cdi or device-specs"),
		stringFlag("policy", key.Spread.String(), "how GPUs are picked: "+alloc.PolicyWords),
		&cli.BoolFlag{
			Name:    "slices-without-lock",
			Usage:   "without a scheduler's lock, slices go to the only pod that waits for some",
			EnvVars: envVarsOf("slices-without-lock"),
		},
		stringFlag("maca", string(plugin.MACAAuto),
			"which containers get the host's MXMACA: off, auto (those whose pod requests it), fallback (those whose image has none, by CDI) or always"),
		&cli.BoolFlag{
			Name: "pod-policies", Value: true, Usage: "pods may request a policy and GPUs by annotation",
			EnvVars: envVarsOf("pod-policies"),
		},
		&cli.BoolFlag{
			Name: "tell-pods", Value: true,
			Usage:   "write to each pod which GPUs it was given, which needs the right to patch pods/status",
			EnvVars: envVarsOf("tell-pods"),
		},
		&cli.BoolFlag{Name: "kunlunxin-devices", Usage: "tell containers and pods the indices of their GPUs as " +
			foreign.KunlunxinDevices + ", as Kunlunxin's plugin does", EnvVars: envVarsOf("kunlunxin-devices")},
		stringFlag("metrics-address", ":8000", "address for metrics and probes; empty for none"),
	}, logging.Flags(protocol.Device)...)
}

// options are what the flags say.
type options struct {
	settings  plugin.Settings
	rules     health.Rules
	inventory inventory.Options
	strategy  allocate.Strategy
}

// readOptions checks the flags that have a form of their own.
func readOptions(c *cli.Context) (o options, err error) {
	o.settings = plugin.Settings{
		PodPolicies: c.Bool("pod-policies"), EngineRoot: c.String("engine-root"),
		Kunlunxin: c.Bool("kunlunxin-devices"),
	}
	var errs [3]error
	o.settings.Policy, errs[0] = alloc.ParsePolicy(c.String("policy"))
	o.settings.MACA, errs[1] = plugin.ParseMACA(c.String("maca"))
	o.strategy, errs[2] = allocate.ParseStrategy(c.String("device-list-strategy"))
	if err := errors.Join(errs[:]...); err != nil {
		return options{}, err
	}
	o.rules = health.Rules{
		Good: c.Int("good-looks"), Bad: c.Int("bad-looks"), Failed: health.DefaultRules.Failed,
		Ignore: c.StringSlice("ignore-codes"),
	}
	o.inventory = inventory.Options{Exclude: c.StringSlice("exclude-gpus"), HideUnhealthy: !c.Bool("list-unhealthy")}
	switch {
	case o.rules.Good < 1 || o.rules.Bad < 1:
		return options{}, fmt.Errorf("--good-looks and --bad-looks are at least 1")
	case c.Int("healthy-interval") < 0:
		return options{}, fmt.Errorf("--healthy-interval is a number of seconds, or 0")
	case c.String("node-name") == "":
		return options{}, fmt.Errorf("--node-name is missing: name this node")
	case len(validation.IsQualifiedName(c.String("resource"))) > 0:
		return options{},
			fmt.Errorf("--resource %q is not the name of a resource, such as %s", c.String("resource"), protocol.Resource)
	}
	return o, nil
}
