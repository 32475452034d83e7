// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/urfave/cli/v2"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/foreignuse"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/plugin"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/publish"
	"github.com/metax-ctk/container-toolkit/k8s/internal/logging"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/reader"
	"github.com/metax-ctk/container-toolkit/k8s/internal/slicefile"
	"github.com/metax-ctk/container-toolkit/k8s/internal/status"
)

func runCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "serves the GPUs of this node to the kubelet (the default)", Flags: runFlags(),
		Action: func(c *cli.Context) error {
			o, err := readOptions(c)
			if err != nil {
				return err
			}
			log, file, err := logging.New(c, protocol.Device, c.App.Writer)
			if err != nil {
				return err
			}
			defer file.Close()
			return run(c.Context, c, o, log)
		},
	}
}

// run wires the plugin up and serves until ctx ends.
func run(ctx context.Context, c *cli.Context, o options, log *slog.Logger) error {
	root, err := hostfs.New(c.String("root"))
	if err != nil {
		return err
	}
	boot, err := procfs.New("/proc", -1).BootID()
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	kubelet := podresources.New(c.String("podresources-socket"))
	served := newResources(c, o, root, kubelet, log)
	metrics := plugin.NewMetrics(registry, served.registered)
	allocator := &plugin.Allocator{
		State: &plugin.NodeState{
			Settings: o.settings, Mixed: c.Bool("mixed-nodes"), Log: log,
			Store: allocations.Store{Path: filepath.Join(c.String("state-dir"), "allocations.json"), Boot: boot},
			Ask:   make(chan struct{}, 1),
		},
		Root: root, Metrics: metrics,
	}
	if !root.Exists("/dev") {
		allocator.Root = nil
		log.Warn("device nodes are not looked at before a container starts: there is no dev in the host's root", "root",
			root.Dir())
	}
	allocator.State.Load()
	served.gpus.Backend, served.slices.Backend = allocator, allocator
	node := &plugin.Node{
		Rules: o.rules, Options: o.inventory, Resources: []*plugin.Resource{served.gpus, served.slices, served.virtual},
		Allocator: allocator, Log: log, Metrics: metrics,
	}
	if o.settings.MACA != plugin.MACAOff {
		node.Software = software(root, log)
	}
	if allocator.Leases, err = plugin.OpenLeases(c.String("leases-dir"), boot); err != nil {
		return err
	}
	agent := plugin.Agent{
		Node: node, NodeName: c.String("node-name"), Strategy: o.strategy,
		Reader: reader.NewClient(c.String("health-socket")), IgnoreSilence: c.Int("healthy-interval") == 0,
		Kubelet: kubelet,
		Client:  client(c.String("kubeconfig"), log), Namespace: c.String("namespace"), TellPods: c.Bool("tell-pods"),
	}
	if agent.Client != nil {
		allocator.Slices = &plugin.Slices{
			State: allocator.State, Metrics: metrics,
			Locker: plugin.Locker{Client: agent.Client, Node: agent.NodeName},
			Change: agent.Reader.Slices, Files: slicefile.Dir(c.String("slice-dir")), WithoutLock: c.Bool("slices-without-lock"),
			Patience: 3 * time.Second, Away: 10 * time.Second,
		}
	}
	if address := c.String("metrics-address"); address != "" {
		go func() {
			if err := status.Serve(ctx, address, registry, served.ready); err != nil {
				log.Error("there are no metrics", "reason", err)
			}
		}()
	}
	agent.Publish = newPublish(ctx, c, &agent, log)
	agent.Run(ctx)
	return nil
}

// resources are those that the plugin serves.
type resources struct{ gpus, slices, virtual *plugin.Resource }

func newResources(c *cli.Context, o options, root *hostfs.Root, kubelet podresources.Client,
	log *slog.Logger,
) resources {
	list := plugin.List{HideUnhealthy: o.inventory.HideUnhealthy}
	server := func(resource string) *plugin.Server {
		return &plugin.Server{
			Dir: c.String("kubelet-dir"), Resource: resource, Log: log,
			Known: plugin.Known(kubelet, resource),
		}
	}
	r := resources{
		gpus: &plugin.Resource{
			Server: server(c.String("resource")), List: list,
			Modes: []protocol.Mode{protocol.ModeNative, protocol.ModeShared, protocol.ModeVGPU},
		},
		slices: &plugin.Resource{
			Server: server(protocol.SliceResource), List: list,
			Modes: []protocol.Mode{protocol.ModeSGPU},
		},
		virtual: &plugin.Resource{
			Server: server(protocol.VFIOResource),
			VFIO:   &plugin.VFIO{Root: root, EngineRoot: c.String("engine-root")},
		},
	}
	r.virtual.Backend = r.virtual.VFIO
	return r
}

func (r resources) registered() bool { return r.gpus.Registered() || r.slices.Registered() }

func (r resources) ready() error {
	if !r.registered() {
		return errors.New("the kubelet does not follow the list of devices")
	}
	return nil
}

// newPublish starts what tells the API server and koordlet of the node, and returns the
// function that it is told by.
func newPublish(ctx context.Context, c *cli.Context, agent *plugin.Agent, log *slog.Logger) func(plugin.Status) {
	var publisher *publish.Publisher
	if agent.Client != nil && agent.NodeName != "" {
		publisher = publish.New(agent.Client, agent.NodeName, log)
		go publisher.Run(ctx)
	}
	koordlet := publish.Koordlet{Dir: c.String("koordlet-dir"), Log: log}
	var withdrawn []foreignuse.Use
	return func(s plugin.Status) {
		facts := factsOf(s)
		var notices []publish.Notice
		if agent.Allocator.State.Mixed {
			notices = noticesOf(foreignuse.Changes(s.Node, withdrawn, s.Outside))
			withdrawn = s.Outside
		}
		for _, problem := range s.Invalid {
			notices = append(notices, publish.Invalid(problem))
		}
		if publisher != nil {
			publisher.Set(facts, s.Changes, notices...)
		}
		if koordlet.Dir != "" {
			koordlet.Set(facts)
		}
	}
}

// client returns the client of the API server, nil if it is not known which.
func client(kubeconfig string, log *slog.Logger) corev1client.CoreV1Interface {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err == nil {
		var c *corev1client.CoreV1Client
		if c, err = corev1client.NewForConfig(config); err == nil {
			return c
		}
	}
	log.Warn("nothing is known of pods, and nothing is published", "reason", err)
	return nil
}

// software returns a function that finds the host's default MXMACA. It returns nil on a host
// without MXMACA.
func software(root *hostfs.Root, log *slog.Logger) func() *edits.Software {
	return func() *edits.Software {
		all, _, err := maca.All(root)
		if err != nil {
			log.Warn("the host's MXMACA can be given by CDI only", "reason", err)
			return nil
		}
		for _, s := range all {
			if s.Default {
				return &s
			}
		}
		return nil
	}
}
