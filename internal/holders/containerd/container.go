// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"strconv"
	"strings"

	"github.com/containerd/containerd/api/services/containers/v1"
	"github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/containerd/api/types/task"
	"github.com/containerd/typeurl/v2"

	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// The labels by which clients of containerd name their containers.
const (
	podNamespaceLabel = "io.kubernetes.pod.namespace"
	podLabel          = "io.kubernetes.pod.name"
	containerLabel    = "io.kubernetes.container.name"
	nerdctlLabel      = "nerdctl/name"
)

// The labels of containerd's restart monitor. The package that has them
// (core/runtime/restart) imports containerd's whole client, which would make a start of
// metax-ctk nearly a half longer (ADR 7).
const (
	restartLabel        = "containerd.io/restart.status"
	restartPolicyLabel  = "containerd.io/restart.policy"
	restartCountLabel   = "containerd.io/restart.count"
	restartStoppedLabel = "containerd.io/restart.explicitly-stopped"
)

// factsOf returns the facts of a record's container. Facts that are known count if they
// are of the same container: an ID such as "trainer" can be used again.
func factsOf(record *containers.Container, devices holders.Devices, seen usage.Facts) (usage.Facts, error) {
	if !seen.Created.IsZero() && seen.Created.Equal(record.GetCreatedAt().AsTime()) {
		return seen, nil
	}
	var f usage.Facts
	if spec := record.GetSpec().GetValue(); len(spec) > 0 {
		var err error
		if f, err = devices.Bundle(spec, mayBeShim(record.GetRuntime())); err != nil {
			return usage.Facts{}, err
		}
	}
	if lease := record.Labels[usage.LeaseLabel]; lease != "" {
		f.Lease = lease
	}
	f.Name, f.Image, f.Created = nameOf(record.Labels), record.Image, record.GetCreatedAt().AsTime()
	return f, nil
}

// mayBeShim reports whether the container's low-level runtime may be the runtime shim. The
// options of containerd's shim for runc name the runtime; it is runc if they name none.
func mayBeShim(r *containers.Container_Runtime) bool {
	if !strings.HasPrefix(r.GetName(), "io.containerd.runc.") {
		return true
	}
	if len(r.GetOptions().GetValue()) == 0 {
		return false
	}
	var o options.Options
	if err := typeurl.UnmarshalTo(r.GetOptions(), &o); err != nil {
		return true // of another kind, or newer
	}
	return o.BinaryName != "" && !holders.PlainRuntime(o.BinaryName)
}

// nameOf returns the container's name, empty if it has only an ID: for Kubernetes
// "namespace/pod/container", without the last for the pod itself.
func nameOf(labels map[string]string) string {
	if labels[podLabel] == "" {
		return labels[nerdctlLabel]
	}
	parts := []string{labels[podNamespaceLabel], labels[podLabel]}
	if c := labels[containerLabel]; c != "" {
		parts = append(parts, c)
	}
	return strings.Join(parts, "/")
}

// stateOf returns the state of a container by its first process, nil if it has none, and
// the pid while the process lives.
func stateOf(process *task.Process) (usage.ContainerState, int) {
	if process == nil {
		return usage.Exited, 0
	}
	pid := int(process.GetPid())
	switch process.GetStatus() {
	case task.Status_STOPPED:
		return usage.Exited, 0
	case task.Status_CREATED:
		return usage.Created, pid
	case task.Status_PAUSED, task.Status_PAUSING:
		return usage.Paused, pid
	}
	return usage.Running, pid
}

// willRestart reports whether containerd will start the container again after this exit
// code, by the rules of its restart monitor, which nerdctl uses.
func willRestart(labels map[string]string, exit uint32) bool {
	if labels[restartLabel] != "running" {
		return false
	}
	policy, tries, limited := strings.Cut(labels[restartPolicyLabel], ":")
	switch policy {
	case "", "always":
		return !limited
	case "unless-stopped":
		stopped, err := strconv.ParseBool(labels[restartStoppedLabel])
		return !limited && (err != nil || !stopped)
	case "on-failure":
		count, err := strconv.Atoi(labels[restartCountLabel])
		if err != nil && labels[restartCountLabel] != "" {
			return false
		}
		limit, err := strconv.Atoi(tries)
		if err != nil && limited {
			return false
		}
		return exit != 0 && (limit == 0 || count < limit)
	}
	return false
}
