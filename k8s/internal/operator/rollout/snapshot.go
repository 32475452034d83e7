// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"time"

	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// Snapshot is what the API server says.
type Snapshot struct {
	// Deployed reports whether the operator deploys a driver. If not, nodes are put back into
	// service.
	Deployed bool
	// Revision is what of the driver's DaemonSet decides about the driver, "" while that is
	// being written.
	Revision string
	// Desired is how many nodes are to have a driver pod.
	Desired int
	// Version is that of the driver's payload, for messages.
	Version string
	// Validates reports whether nodes are validated.
	Validates bool
	Policy    Policy
	// Invalid is why there is no policy.
	Invalid error
	// Nodes are those with a driver pod or a record, sorted by name.
	Nodes []Node
	// Taken are the nodes of the last plan.
	Taken []Take
	Now   time.Time
}

// Node is a node with a driver of the operator's.
type Node struct {
	Name          string
	Version       string // of the object
	Unschedulable bool
	Ready         bool // as its kubelet says
	Validated     bool
	DriverReady   bool          // metax-gpu-label says that it is, and gpu-device gives GPUs to pods
	HostDriver    bool          // metax-gpu-label says that it is the host's own
	Report        report.Report // of the driver
	Record        Record
	Driver        *Driver // its pod; nil is none
	Pods          []Pod   // the others that have not ended
}

// Driver is a driver pod.
type Driver struct {
	Pod
	// Revision is what of its template decides about the driver. With another, the driver may
	// be another.
	Revision string
	// Old reports whether it was made from another template than a pod of now would be.
	Old     bool
	Running bool
}

// Pod is a pod on a node.
type Pod struct {
	Namespace, Name, UID string
	GPU                  bool // it requests GPUs
	Managed              bool // a controller creates it again elsewhere
	Daemon               bool // it belongs to the node, and comes back there
	Ending               bool
}

// podsUsingGPUs are the pods that use GPUs, as NAMESPACE/NAME.
func (n Node) podsUsingGPUs() (names []string) {
	for _, p := range n.Pods {
		if p.GPU {
			names = append(names, p.Namespace+"/"+p.Name)
		}
	}
	return names
}

// isUnheard reports whether the driver of a node works and its agent runs, and what it says
// does not arrive.
func (n Node) isUnheard() bool {
	return n.DriverReady && n.Driver != nil && n.Driver.Running && n.Report == (report.Report{})
}

// hasDriverRevision reports whether the node has a driver pod of a revision.
func (n Node) hasDriverRevision(revision string) bool {
	return n.Driver != nil && !n.Driver.Ending && n.Driver.Revision == revision
}

// hasOutdatedDriver reports whether the node has a driver pod of another revision.
func (n Node) hasOutdatedDriver(revision string) bool {
	return n.Driver != nil && !n.Driver.Ending && n.Driver.Revision != revision
}

// driverUnreadyReason is why the new driver of a node is not in use, "" if it is.
func (s Snapshot) driverUnreadyReason(n Node) string {
	r := n.Report
	switch {
	case !n.hasDriverRevision(s.Revision):
		return "there is no new driver pod"
	case r.Pod != n.Driver.UID:
		return "the new driver pod has not reported yet"
	case !r.Ready && r.Reason != "":
		return r.Reason + ": " + r.Message
	case !r.Ready:
		return "the driver is not ready"
	case r.Reason != "" && r.Reason != report.Host: // the old driver stays
		return r.Reason + ": " + r.Message
	case s.Validates && !n.Validated:
		return "the node cannot give its GPUs to containers (kubectl get node " + n.Name +
			" -L metax-tech.com/validation.reason)"
	}
	return ""
}
