// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/containerd"
	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/ps"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// leaseKeeper opens the leases of the node, which must be a host.
func (t toolkit) leaseKeeper(c *cli.Context, n gpu.Node) (assign.Keeper, error) {
	return t.keeperOf(c, n, false)
}

// keeperOf is keeper; with stopped it also lists Podman's containers that do not run.
func (t toolkit) keeperOf(c *cli.Context, n gpu.Node, stopped bool) (assign.Keeper, error) {
	most, err := t.settings.Waits()
	if err != nil {
		return assign.Keeper{}, err
	}
	k, err := assign.New(assign.Config{
		Node: n, Root: t.nodeSelector(c).Root, Ignore: optionOrSetting(c, "gpus-ignore", t.settings.Ignore), WaitMax: most,
		GRPC: func(proc *procfs.Proc, devices holders.Devices, s lease.State) []lease.Source {
			all := containerds(proc, devices, s)
			if socket := t.settings.Kubelet; socket.Text != config.KubeletOff {
				if socket.Origin == string(config.FromDefault) {
					socket.Text = podresources.Find("/", socket.Text)
				}
				all = append(all, podresources.NewSource(socket.Text, devices))
			}
			return all
		},
		Podman: runPodman, Stopped: stopped,
		Warn: func(line string) { t.warn(line) }, Looked: t.warnBlind,
		Note: func(line string) { fmt.Fprintf(t.Err, "metax-ctk: %s\n", terminal.Message(line)) },
	})
	if err != nil {
		return k, fmt.Errorf("open the leases: %w", err)
	}
	return k, nil
}

// runPodman runs podman; the error is usage.ErrAbsent where there is none.
func runPodman(ctx context.Context, args ...string) ([]byte, error) {
	path, err := exec.LookPath("podman")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", usage.ErrAbsent, err)
	}
	return child.Run(ctx, path, args...)
}

// containerds are those that are installed, that run something, that leases name, and that
// of CONTAINERD_ADDRESS; without any of them the usual one, which then counts as absent.
func containerds(proc *procfs.Proc, devices holders.Devices, s lease.State) []lease.Source {
	// Tasks that cannot be listed belong to a containerd whose socket cannot be read either.
	tasks, _ := proc.Tasks()
	usual := assign.Containerd("", os.Getenv)
	installed := containerd.Addresses("/")
	if os.Getenv("CONTAINERD_ADDRESS") != "" {
		installed = append(installed, usual)
	}
	addresses := assign.ContainerdAddresses(s, tasks, installed...)
	if len(addresses) == 0 {
		addresses = []string{usual}
	}
	var sources []lease.Source
	for _, address := range addresses {
		sources = append(sources, containerd.New(address, devices))
	}
	return sources
}

// holderReport returns who uses the GPUs of the node, as the named sources see it, or all of
// them without names. GPUs of a node that is not a host have no users.
func (t toolkit) holderReport(c *cli.Context, n gpu.Node, only ...string) (lease.Report, error) {
	if !t.nodeSelector(c).IsHost() {
		return lease.Report{}, nil
	}
	k, err := t.leaseKeeper(c, n)
	if err != nil {
		return lease.Report{}, err
	}
	report, err := ps.Look(c.Context, k.Keeper, only...)
	return withoutServed(report), err
}

// withoutServed returns the report without requests in the environment of containers where
// metax-runtime serves them.
func withoutServed(report lease.Report) lease.Report {
	text, _ := hostfs.ReadOwn(config.Path) // a command that needs the file has read it
	if shim, err := config.LoadRuntime(config.Path, text); err != nil || !shim.AcceptEnvironmentUnprivileged {
		return report
	}
	for _, look := range report.Looks {
		for i := range look.Containers {
			look.Containers[i].Ignored = ""
		}
	}
	return report
}

// findHolders are those of the report as they count for a request that names these GPUs,
// with warnings of what the report could not see.
func (t toolkit) findHolders(c *cli.Context, n gpu.Node, named ...gpu.BDF) ([]usage.Holder, error) {
	report, err := t.holderReport(c, n)
	if err != nil {
		return nil, fmt.Errorf("find out which GPUs are in use: %w", err)
	}
	t.warnLost(report.State.Lost)
	t.warnBlind(report.Looks)
	return report.HoldersOf(named), nil
}

// warnUnknown warns that the file of a node does not say which GPUs are in use; those of a
// simulated node are all free. It returns the toolkit to go on with, because the file may
// have been its standard input.
func (t toolkit) warnUnknown(c *cli.Context) toolkit {
	kind, in := t.nodeSelector(c).Kind()
	t.In = in
	if kind == node.Snapshot || kind == node.File {
		t.warn(fmt.Sprintf("the node is a %s: it does not say which GPUs are in use", kind))
	}
	return t
}

func (t toolkit) warnLost(why string) {
	if why != "" {
		t.warn(why + "; " + lease.Rebuilt)
	}
}

// warnBlind warns of users of GPUs that a failed source may hide.
func (t toolkit) warnBlind(looks []lease.Look) {
	for _, s := range ps.Sources(looks) {
		what, by := fmt.Sprintf("%s: %s", s, s.Message), "its containers"
		if s.Engine == usage.Processes {
			what, by = s.Message, "them"
			if strings.HasPrefix(what, "one ") {
				by = "it"
			}
		}
		if s.Status == ps.Failed || s.Status == ps.Partial {
			t.warn(fmt.Sprintf("%s; a GPU shown as free may be in use by %s", what, by))
		}
	}
}

// needsHost is the error of a command that needs a host, for another node.
func needsHost(command string, at node.Selector) error {
	if at.IsHost() {
		return nil
	}
	kind, _ := at.Kind()
	if kind == "" {
		kind = "simulated node"
		if _, err := sim.Node(at.Node); err != nil {
			return usageErrorf("%s needs a host; %q is not one", command, at.Node)
		}
	}
	return usageErrorf("%s needs a host; %s is a %s", command, at.Node, kind)
}

func sourceFlag() cli.Flag {
	return &cli.StringSliceFlag{
		Name: "source", Usage: "look only at `NAME`: " + strings.Join(ps.SourceNames, ", ") + "; repeatable",
		Action: func(_ *cli.Context, names []string) error {
			for _, name := range names {
				if !slices.Contains(ps.SourceNames, name) {
					return usageErrorf("unknown source %q: %s%s", name, strings.Join(ps.SourceNames, ", "),
						wording.Meant(name, ps.SourceNames...))
				}
			}
			return nil
		},
	}
}
