// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// driverState deploys the agent that loads the driver of a payload, unless only the nodes' own
// drivers are used.
func driverState(in Input) outcome {
	const kind = "DriverReady"
	d := in.Operator.Spec.Driver
	switch {
	case in.Operator.Spec.MinimalMode:
		return outcome{}
	case !loadsDriver(in):
		if n := len(in.Nodes.NoDriver); n > 0 {
			return conditionOutcome(kind, false, Incomplete,
				"%d of %d nodes with a GPU have no driver: %s. Install it there, or set driver.deployPolicy",
				n, in.Nodes.GPU, wording.Some(in.Nodes.NoDriver, mostNames))
		}
		return conditionOutcome(kind, true, Host, "%[1]d of %[1]d nodes with a GPU have a driver", in.Nodes.GPU)
	case d.FwUpgradePolicy != "" && d.FwUpgradePolicy != "Never":
		out := conditionOutcome(kind, false, NotBuilt, "this version writes no firmware: set driver.fwUpgradePolicy to Never")
		out.keep = protocol.Driver
		return out
	}
	out := whereGPUs(in, componentOutcome(in, kind, protocol.Driver, d.Component), protocol.Driver)
	out.missing = driverMissing(in.Nodes)
	return out
}

// driverOf is what of the driver's pod decides which driver a node has: the images of
// payloads, and whether that of the host is preferred.
func driverOf(pod corev1.PodSpec) (facts []string) {
	for _, c := range pod.InitContainers {
		if strings.HasPrefix(c.Name, "payload") {
			facts = append(facts, c.Image)
		}
	}
	for _, c := range pod.Containers {
		if slices.Contains(c.Args, "--prefer-host") {
			facts = append(facts, "--prefer-host")
		}
	}
	return facts
}

// loadsDriver reports whether drivers are loaded from a payload.
func loadsDriver(in Input) bool {
	d := in.Operator.Spec.Driver
	return !in.Operator.Spec.MinimalMode && d != nil && d.DeployPolicy != "Never" && (d.Deploy == nil || *d.Deploy)
}

// driverMissing are the nodes that have no driver, or not the requested one, with reasons.
func driverMissing(nodes Nodes) []string {
	list := nodes.notReady(report.Driver)
	reports := nodes.Reports[report.Driver]
	for name, r := range reports {
		if r.Ready && r.Reason != "" && r.Reason != Host {
			list = append(list, fmt.Sprintf("%s: %s (%s)", name, r.Message, r.Reason))
		}
	}
	for _, name := range nodes.NoDriver {
		if r, ok := reports[name]; !ok {
			list = append(list, name+": it has no driver yet")
		} else if r.Ready {
			list = append(list, name+": the driver is loaded, and the GPUs have no device nodes (kernel log: dmesg)")
		}
	}
	slices.Sort(list)
	return list
}

// withDriver lets the pods of a component be only where a driver is ready, if drivers are
// loaded from a payload: they leave before a driver is unloaded.
func withDriver(in Input, out outcome) outcome {
	if out.set != nil && loadsDriver(in) {
		pod := &out.set.Spec.Template.Spec
		if pod.NodeSelector == nil {
			pod.NodeSelector = map[string]string{}
		}
		pod.NodeSelector[protocol.LabelDriverReady] = "true"
	}
	return out
}
