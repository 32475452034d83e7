package containerd

import (
	"strings"

	"github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/typeurl/v2"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// The labels by which those who use containerd name their containers.
const (
	podNamespaceLabel = "io.kubernetes.pod.namespace"
	podLabel          = "io.kubernetes.pod.name"
	containerLabel    = "io.kubernetes.container.name"
	nerdctlLabel      = "nerdctl/name"
)

// facts returns what a record tells about its container. What was seen before is
// good if it is of the same container: an ID such as "trainer" can be used again.
func facts(record containers.Container, devices holders.Devices, seen usage.Facts) (usage.Facts, error) {
	if !seen.Created.IsZero() && seen.Created.Equal(record.CreatedAt) {
		return seen, nil
	}
	var f usage.Facts
	if record.Spec != nil && len(record.Spec.GetValue()) > 0 {
		var err error
		if f, err = devices.Bundle(record.Spec.GetValue(), mayBeShim(record.Runtime)); err != nil {
			return usage.Facts{}, err
		}
	}
	if lease := record.Labels[usage.LeaseLabel]; lease != "" {
		f.Lease = lease
	}
	f.Name, f.Image, f.Created = name(record.Labels), record.Image, record.CreatedAt
	return f, nil
}

// mayBeShim reports whether the container's low-level runtime may be the runtime
// shim: it is the program that containerd's own shim for runc is told to run, or
// runc if it is told none.
func mayBeShim(r containers.RuntimeInfo) bool {
	if !strings.HasPrefix(r.Name, "io.containerd.runc.") {
		return true
	}
	if r.Options == nil || len(r.Options.GetValue()) == 0 {
		return false
	}
	var o options.Options
	if err := typeurl.UnmarshalTo(r.Options, &o); err != nil {
		return true // of another kind, or newer
	}
	return o.BinaryName != "" && !holders.PlainRuntime(o.BinaryName)
}

// name is what people call the container, empty if only its ID is known: for
// Kubernetes "namespace/pod/container", without the last for the pod itself.
func name(labels map[string]string) string {
	if labels[podLabel] == "" {
		return labels[nerdctlLabel]
	}
	parts := []string{labels[podNamespaceLabel], labels[podLabel]}
	if c := labels[containerLabel]; c != "" {
		parts = append(parts, c)
	}
	return strings.Join(parts, "/")
}
