// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// The reasons why a node is not ready, in the order in which they are looked at. They are
// values of a label.
const (
	NoDriver = "NoDriver" // the kernel module is not loaded, or no GPU has device nodes
	NoSpec   = "NoSpec"   // engines find no CDI spec with a GPU
	BadSpec  = "BadSpec"  // the CDI spec is not that of the node
	NoPlugin = "NoPlugin" // the kubelet knows no GPU
)

// Check is what one look came to.
type Check struct {
	Name    string // "driver", "spec" or "plugin"
	Reason  string // one of the reasons, "" if nothing is wrong
	Message string // the reason in words, with the next step
}

// Driver checks that the kernel module is loaded and that a GPU has device nodes.
func Driver(n gpu.Node) Check {
	c := Check{Name: "driver"}
	why := discover.NotLoaded(n)
	if why == "" && !n.HasDevices() {
		why = "no GPU has device nodes"
	}
	if why != "" {
		c.Reason, c.Message = NoDriver, why+"; on the node: metax-ctk doctor"
	}
	return c
}

// Spec checks that the CDI specs of the host have every GPU of the node that has device nodes,
// and nothing that is not there. Of hooks it looks at nothing, because a container does not
// see all programs of its host. The engine sees the host below engineRoot. A GPU in slices is
// not looked at: its devices come and go.
func Spec(n gpu.Node, host *hostfs.Root, engineRoot string) Check {
	c := Check{Name: "spec"}
	given := map[string]bool{} // paths of device nodes on the host
	files := map[string]bool{}
	for _, class := range []string{cdi.DefaultClass, cdi.SliceClass} {
		for _, d := range cdi.List(host, []string{cdi.DynamicDir}, cdi.Kind(cdi.DefaultVendor, class)).Devices {
			if len(d.Conflict) > 0 {
				return c.bad(fmt.Sprintf("%v define the device %s, so that no engine resolves it", d.Conflict, d.Name))
			}
			files[d.File] = true
		}
	}
	if len(files) == 0 {
		c.Reason, c.Message = NoSpec, "no CDI spec in "+cdi.DynamicDir+" has a GPU; metax-gpu-device writes it when it starts"
		return c
	}
	for file := range files {
		spec, err := cdi.Load(host, file)
		if err != nil {
			return c.bad(err.Error())
		}
		if problems := cdi.Check(cdi.WithoutHooks(spec), host, engineRoot); len(problems) > 0 {
			return c.bad(fmt.Sprintf("%s: %s", file, problems[0]))
		}
		for _, d := range spec.Devices {
			for _, node := range d.ContainerEdits.DeviceNodes {
				given[node.Path] = true
			}
		}
	}
	for _, g := range n.GPUs {
		if _, divided := g.Divided(); divided || g.SetAside() {
			continue
		}
		if i := slices.IndexFunc(g.Nodes, func(node string) bool { return !given[node] }); i >= 0 {
			return c.bad(fmt.Sprintf("no CDI device has %s of GPU %s", g.Nodes[i], g.BDF))
		}
	}
	return c
}

func (c Check) bad(message string) Check {
	c.Reason, c.Message = BadSpec, message+"; to write the spec anew, restart the pod metax-gpu-device of the node"
	return c
}

// Plugin checks that the kubelet knows GPUs, or slices of them: by the capacity of the Node,
// which does not change while they are in use or unhealthy.
func Plugin(capacity map[string]string) Check {
	c := Check{Name: "plugin"}
	for _, name := range []string{protocol.Resource, protocol.SliceResource, protocol.VFIOResource} {
		if n, err := resource.ParseQuantity(capacity[name]); err == nil && n.Sign() > 0 {
			return c
		}
	}
	c.Reason, c.Message = NoPlugin, "the Node has no "+protocol.Resource+"; look at the pod metax-gpu-device of the node"
	return c
}

// Labels are the labels of a node with these checks.
func Labels(checks []Check) map[string]string {
	labels := map[string]string{}
	reason := firstReason(checks)
	labels[protocol.LabelValidated] = strconv.FormatBool(reason == "")
	if reason != "" {
		labels[protocol.LabelReason] = reason
	}
	return labels
}

// firstReason is "" if all checks passed.
func firstReason(checks []Check) string {
	for _, c := range checks {
		if c.Reason != "" {
			return c.Reason
		}
	}
	return ""
}
